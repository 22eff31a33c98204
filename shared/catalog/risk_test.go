package catalog_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

func riskyType() catalog.InstanceType {
	return catalog.InstanceType{Name: "m5.large", OnDemandPrice: 0.096, Offerings: []catalog.Offering{
		{CapacityType: api.CapacityTypeSpot, Zone: "us-east-1a", Price: 0.0400, Available: true},
		{CapacityType: api.CapacityTypeSpot, Zone: "us-east-1b", Price: 0.0401, Available: true},
		{CapacityType: api.CapacityTypeOnDemand, Zone: "us-east-1a", Price: 0.096, Available: true},
		{CapacityType: api.CapacityTypeSpot, Zone: "us-east-1c", Price: 0.5, Unpriced: true},
	}}
}

func TestRiskIsPartOfThePriceOfSpotOfferings(t *testing.T) {
	types := catalog.WithExtras([]catalog.InstanceType{riskyType(), {Name: "c5.large"}}, 0.01)
	rates := map[string]float64{"m5.large:us-east-1a": 0.04, "m5.large:us-east-1c": 0.04}
	half := 0.5
	for name, test := range map[string]struct {
		cost *float64
		want float64
	}{
		"a quarter of an hour of the instance": {nil, 0.04 * 0.25 * 0.04},
		"a fixed cost":                         {&half, 0.04 * 0.5},
	} {
		before := slices.Clone(types[0].Offerings)
		made := catalog.WithRisk(types, catalog.Risk{Rates: rates, Cost: test.cost})
		if !reflect.DeepEqual(types[0].Offerings, before) {
			t.Fatalf("%s: the given types are changed", name)
		}
		first, second := made[0].Offerings[0], made[0].Offerings[1]
		if first.Zone != "us-east-1b" || first.Risk != 0 || second.Zone != "us-east-1a" {
			t.Errorf("%s: the cheapest are %+v and %+v", name, first, second)
		}
		if math.Abs(second.Risk-test.want) > 1e-12 || math.Abs(second.Price-0.05-test.want) > 1e-12 ||
			math.Abs(second.InstancePrice()-0.04) > 1e-12 || second.Extras != 0.01 {
			t.Errorf("%s: the offering is %+v, want a risk of %v", name, second, test.want)
		}
		// Savings are money.
		if saved := made[0].Savings(second).PerHour; math.Abs(saved-0.056) > 1e-12 {
			t.Errorf("%s: it saves %v", name, saved)
		}
		for _, o := range made[0].Offerings[2:] {
			if o.Risk != 0 {
				t.Errorf("%s: %+v has a risk", name, o)
			}
		}
	}
}

func TestWithoutRatesOrCostNothingIsCopied(t *testing.T) {
	types := []catalog.InstanceType{riskyType()}
	nothing := 0.0
	for name, risk := range map[string]catalog.Risk{
		"no rates":        {},
		"other pools":     {Rates: map[string]float64{"c5.large:us-east-1a": 0.5}},
		"a cost of zero":  {Rates: map[string]float64{"m5.large:us-east-1a": 0.5}, Cost: &nothing},
		"an unpriced one": {Rates: map[string]float64{"m5.large:us-east-1c": 0.5}},
	} {
		if made := catalog.WithRisk(types, risk); &made[0] != &types[0] {
			t.Errorf("%s: the types are copied", name)
		}
	}
}
