package builtin

import (
	"math"
	"testing"
)

func TestSpotPriceStaysWithinItsBounds(t *testing.T) {
	const rounding = 0.5e-6
	low, high := 1.0, 0.0
	for name, it := range all(t) {
		for _, zone := range it.Zones {
			price := SpotPrice(name, zone, it.OnDemandPrice)
			if price < it.OnDemandPrice*(1-maximumSpotDiscount)-rounding ||
				price > it.OnDemandPrice*(1-minimumSpotDiscount)+rounding {
				t.Errorf("%s in %s: %v for %v on demand", name, zone, price, it.OnDemandPrice)
			}
			discount := 1 - price/it.OnDemandPrice
			low, high = min(low, discount), max(high, discount)
		}
	}
	// Over thousands of offers the discounts fill the range.
	if low > 0.47 || high < 0.78 {
		t.Errorf("discounts lie between %.3f and %.3f only", low, high)
	}
}

func TestSpotPriceDependsOnTypeAndZoneAlone(t *testing.T) {
	zones := []string{"us-east-1a", "us-east-1b", "us-east-1c"}
	differ := 0
	types := all(t)
	for name, it := range types {
		prices := make(map[float64]bool)
		for _, zone := range zones {
			price := SpotPrice(name, zone, it.OnDemandPrice)
			if again := SpotPrice(name, zone, it.OnDemandPrice); again != price {
				t.Fatalf("%s in %s: %v and then %v", name, zone, price, again)
			}
			prices[price] = true
		}
		if len(prices) == len(zones) {
			differ++
		}
	}
	if differ < len(types)*95/100 {
		t.Errorf("only %d of %d types have another price in each zone", differ, len(types))
	}
	discounts := make(map[float64]bool)
	for name := range types {
		discounts[SpotPrice(name, zones[0], 1)] = true
	}
	if len(discounts) < len(types)*95/100 {
		t.Errorf("only %d discounts for %d types", len(discounts), len(types))
	}
}

// Recorded plans contain these prices, so that a change of the hash must show.
func TestSpotPriceIsTheSameOnEveryMachine(t *testing.T) {
	for _, test := range []struct {
		name, zone string
		want       float64
	}{
		{"m5.large", "us-east-1a", 0.049478},
		{"m5.large", "us-east-1b", 0.051521},
		{"c7g.xlarge", "us-east-1a", 0.030759},
	} {
		if got := SpotPrice(test.name, test.zone, 0.1); got != test.want {
			t.Errorf("SpotPrice(%q, %q, 0.1) = %v, want %v", test.name, test.zone, got, test.want)
		}
	}
}

func TestSpotPriceOfNoPriceIsZero(t *testing.T) {
	for _, onDemand := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := SpotPrice("m5.large", "us-east-1a", onDemand); got != 0 {
			t.Errorf("SpotPrice of %v on demand = %v, want 0", onDemand, got)
		}
	}
}
