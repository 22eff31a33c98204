package catalog_test

import (
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
)

func TestPriceAges(t *testing.T) {
	now := catalogtest.Now
	for _, test := range []struct {
		snapshot catalog.Catalog
		want     string
	}{
		{catalog.Catalog{}, "on-demand prices were never read; spot prices were never read: on-demand prices stand " +
			"in for them"},
		{catalog.Catalog{
			SpotPriceTime: now.Add(-30 * time.Second),
			Prices:        catalog.Prices{OnDemandTime: now.Add(-90 * time.Minute)},
		},
			"on-demand prices of 90 minutes ago; spot prices of just now"},
		{catalog.Catalog{SpotPriceTime: now.Add(-50 * time.Hour), Prices: catalog.Prices{
			OnDemandTime: now.Add(-5 * time.Hour), Builtin: 3, BuiltinRegion: "us-east-1",
			BuiltinTime: time.Date(2026, 7, 6, 0, 0, 0, 0, time.UTC), Currency: "CNY",
		}}, "on-demand prices of 5 hours ago; 3 instance types at the built-in prices of us-east-1 as of 2026-07-06; " +
			"spot prices of 2 days ago; all in CNY"},
	} {
		if got := test.snapshot.PriceAges(now); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// TestSpotPricesStandIn holds what a spot offering costs before the first prices are read, and that
// later a zone without one is not to be had.
func TestSpotPricesStandIn(t *testing.T) {
	for _, test := range []struct {
		name      string
		read      time.Time
		spot      map[string]float64
		price     float64
		available bool
	}{
		{"never read", time.Time{}, nil, 0.096, true},
		{"read", catalogtest.Now, map[string]float64{"us-east-1a": 0.03}, 0.03, true},
		{"read, and the zone is missing", catalogtest.Now, map[string]float64{"us-east-1b": 0.03}, 0, false},
		{"read, and the type is missing", catalogtest.Now, nil, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := catalogtest.Catalog(t)
			s.SpotPriceTime = test.read
			for i := range s.InstanceTypes {
				s.InstanceTypes[i].SpotPrices = nil
				if s.InstanceTypes[i].InstanceType == "m5.large" {
					s.InstanceTypes[i].SpotPrices = test.spot
				}
			}
			for _, typ := range catalog.Resolve(s, catalogtest.NodeClass("default"), catalog.Observed{}, catalogtest.Now) {
				for _, o := range typ.Offerings {
					if typ.Name == "m5.large" && o.Zone == "us-east-1a" && o.CapacityType == api.CapacityTypeSpot &&
						(o.Price != test.price || o.Available != test.available) {
						t.Errorf("spot costs %v and is available: %v, want %v and %v", o.Price, o.Available, test.price, test.available)
					}
				}
			}
		})
	}
}

func TestSavings(t *testing.T) {
	typ := &catalog.InstanceType{OnDemandPrice: 0.5}
	for _, test := range []struct {
		offering catalog.Offering
		want     catalog.Savings
	}{
		{catalog.Offering{CapacityType: api.CapacityTypeSpot, Price: 0.125}, catalog.Savings{PerHour: 0.375, Fraction: 0.75}},
		{catalog.Offering{CapacityType: api.CapacityTypeOnDemand, Price: 0.5}, catalog.Savings{}},
		{
			catalog.Offering{CapacityType: api.CapacityTypeSpot, Price: 0.625},
			catalog.Savings{PerHour: -0.125, Fraction: -0.25},
		},
		{catalog.Offering{CapacityType: api.CapacityTypeReserved, Price: 0.5 / 1e7}, catalog.Savings{}},
		{catalog.Offering{CapacityType: api.CapacityTypeSpot}, catalog.Savings{}},
	} {
		if got := typ.Savings(test.offering); got != test.want {
			t.Errorf("%+v saves %+v, want %+v", test.offering, got, test.want)
		}
	}
	if got := catalog.SavingsAgainst(0, 0.05); got != (catalog.Savings{}) {
		t.Errorf("against no price it saves %+v", got)
	}
	resolved := resolved(t, "m5.large", nil)
	if resolved.OnDemandPrice != 0.096 {
		t.Errorf("m5.large costs %v on demand", resolved.OnDemandPrice)
	}
}
