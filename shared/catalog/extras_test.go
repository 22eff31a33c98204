package catalog_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

func TestWithExtras(t *testing.T) {
	types := []catalog.InstanceType{{Name: "m5.large", OnDemandPrice: 0.1, Offerings: []catalog.Offering{
		{CapacityType: api.CapacityTypeSpot, Zone: "a", Unpriced: true},
		{CapacityType: api.CapacityTypeSpot, Zone: "b"}, // unavailable, so that nobody asked for its price
		{CapacityType: api.CapacityTypeReserved, Zone: "a", Available: true},
		{CapacityType: api.CapacityTypeSpot, Zone: "c", Price: 0.03, Available: true},
		{CapacityType: api.CapacityTypeOnDemand, Zone: "a", Price: 0.1},
	}}}
	if got := catalog.WithExtras(types, 0); &got[0] != &types[0] {
		t.Error("types without extras were copied")
	}
	made := catalog.WithExtras(types, 0.01)
	for i, want := range []struct{ price, extras float64 }{
		{0, 0}, {0, 0}, {0.01, 0.01}, {0.03 + 0.01, 0.01}, {0.1 + 0.01, 0.01},
	} {
		if o := made[0].Offerings[i]; o.Price != want.price || o.Extras != want.extras {
			t.Errorf("offering %d costs %v with extras %v, want %v and %v", i, o.Price, o.Extras, want.price, want.extras)
		}
		if o := types[0].Offerings[i]; o.Extras != 0 {
			t.Errorf("offering %d of the given types was changed", i)
		}
	}
	// The instance saves what it saves, whatever else the node costs.
	for i := range types[0].Offerings {
		got, want := made[0].Savings(made[0].Offerings[i]), types[0].Savings(types[0].Offerings[i])
		if math.Abs(got.Fraction-want.Fraction) > 1e-9 {
			t.Errorf("offering %d saves %v, without extras %v", i, got, want)
		}
	}
	if !reflect.DeepEqual(made[0].Requirements, types[0].Requirements) || made[0].OnDemandPrice != 0.1 {
		t.Error("more than the offerings changed")
	}
}
