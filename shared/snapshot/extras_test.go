package snapshot_test

import (
	"math"
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// Pools of the same class and fee share a list of types, because the planner reads each list once.
func TestExtrasAreInThePricesOfEachPool(t *testing.T) {
	pool := func(name, fee string) api.NodePool {
		pool := poolOf(name, "default")
		if fee != "" {
			pool.Annotations = map[string]string{api.NodeFeeAnnotationKey: fee}
		}
		return pool
	}
	class := *catalogtest.NodeClass("default")
	yes := true
	class.Spec.AssociatePublicIPAddress = &yes
	objects := &snapshot.Objects{
		NodeClasses: []api.EC2NodeClass{class},
		NodePools:   []api.NodePool{pool("plain", ""), pool("watched", "0.02"), pool("too", "0.02"), pool("typo", "2 cents")},
	}
	facts := catalogtest.Catalog(t)
	facts.VolumePrices = catalog.VolumePrices{"VolumeUsage.gp3": 0.073}
	offer := snapshot.NewOffer(objects, facts, catalog.Observed{}, catalogtest.Now)
	made := offer.Assemble(objects, catalogtest.Now)
	if len(made.InstanceTypes["plain"]) == 0 {
		t.Fatalf("no types; unusable are %+v", offer.Unusable)
	}
	disk := 20 * 0.073 / 730
	for name, want := range map[string]float64{
		"plain": disk + 0.005, "watched": disk + 0.005 + 0.02, "too": disk + 0.005 + 0.02, "typo": disk + 0.005,
	} {
		for i, typ := range made.InstanceTypes[name] {
			for j, offering := range typ.Offerings {
				before := offer.Types[name][i].Offerings[j]
				if before.Price > 0 &&
					(math.Abs(offering.Extras-want) > 1e-12 || math.Abs(offering.Price-before.Price-want) > 1e-12) {
					t.Fatalf("pool %s: %s costs %v with extras of %v, want %v", name, typ.Name, offering.Price, offering.Extras, want)
				}
			}
		}
	}
	first := func(pool string) *catalog.InstanceType { return &made.InstanceTypes[pool][0] }
	if first("watched") != first("too") || first("plain") != first("typo") || first("plain") == first("watched") {
		t.Error("pools do not share the lists that are equal, and only those")
	}
}
