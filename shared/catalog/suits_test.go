package catalog_test

import (
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// TestTypesThatCannotDoWhatTheClassDemands stay in the answer, without an offering that is
// available.
func TestTypesThatCannotDoWhatTheClassDemands(t *testing.T) {
	enabled, seconds := "enabled", int32(60)
	prefixes := func(n int32) func(*api.EC2NodeClass) {
		return func(class *api.EC2NodeClass) { class.Spec.IPPrefixCount = &n }
	}
	interfaces := func(places ...[2]int32) func(*api.EC2NodeClass) {
		return func(class *api.EC2NodeClass) {
			class.Spec.NetworkInterfaces = []api.NetworkInterface{{InterfaceType: api.InterfaceTypeInterface}}
			for _, place := range places {
				class.Spec.NetworkInterfaces = append(class.Spec.NetworkInterfaces,
					api.NetworkInterface{NetworkCardIndex: place[0], DeviceIndex: place[1], InterfaceType: api.InterfaceTypeEFAOnly})
			}
		}
	}
	group := func(strategy string) func(*api.EC2NodeClass) {
		return func(class *api.EC2NodeClass) {
			class.Spec.PlacementGroupSelector = &api.PlacementGroupSelector{ID: "pg-1"}
			if strategy != "" {
				class.Status.PlacementGroup = &api.PlacementGroup{ID: "pg-1", Strategy: strategy}
			}
		}
	}
	for _, test := range []struct {
		name   string
		change func(*api.EC2NodeClass)
		can    []string
		cannot []string
	}{
		{
			name: "nothing", can: []string{"m5.large", "t2.large", "m4.large", "p5.48xlarge", "c7g.metal"},
			cannot: []string{"a1.large"},
		},
		{name: "another family than AL2023", change: ofFamily(api.AMIFamilyAL2, nil), can: []string{"a1.large"}},
		{name: "connection tracking", change: func(class *api.EC2NodeClass) {
			class.Spec.ConnectionTracking = &api.ConnectionTracking{UDPTimeout: &seconds}
		},
			can: []string{"m5.large"}, cannot: []string{"m4.large", "c7g.metal"}},
		{name: "nested virtualization", change: func(
			class *api.EC2NodeClass,
		) {
			class.Spec.CPUOptions = &api.CPUOptions{NestedVirtualization: &enabled}
		},
			can: []string{"m8i.large"}, cannot: []string{"m5.large", "m7g.large"}},
		{name: "enclaves", change: func(class *api.EC2NodeClass) {
			class.Spec.EnclaveOptions = &api.EnclaveOptions{Enabled: true}
		},
			can: []string{"m5.xlarge", "p5.48xlarge"}, cannot: []string{"t3.nano", "m4.large"}},
		{name: "no enclaves", change: func(class *api.EC2NodeClass) {
			class.Spec.EnclaveOptions = &api.EnclaveOptions{}
		},
			can: []string{"m5.xlarge", "t3.nano"}},
		{name: "an interface", change: interfaces(), can: []string{"m5.large"}, cannot: []string{"t2.large"}},
		{
			name: "EFA on the first card", change: interfaces([2]int32{0, 1}),
			can: []string{"p5.48xlarge", "c5n.18xlarge"}, cannot: []string{"m5.large"},
		},
		{
			name: "EFA on the second card", change: interfaces([2]int32{1, 1}), can: []string{"p5.48xlarge"},
			cannot: []string{"c5n.18xlarge"},
		},
		{name: "more interfaces than a card has", change: interfaces([2]int32{1, 2}), cannot: []string{"p5.48xlarge"}},
		{
			name: "more EFA than the type has", change: interfaces([2]int32{0, 1}, [2]int32{0, 2}),
			cannot: []string{"c5n.18xlarge"},
		},
		{name: "no prefixes", change: prefixes(0), can: []string{"m4.large", "t3.nano"}},
		// An interface of t3.nano has two addresses, of m5.large ten.
		{
			name: "a prefix", change: prefixes(1), can: []string{"m5.large", "t3.nano", "c7g.metal"},
			cannot: []string{"m4.large"},
		},
		{name: "nine prefixes", change: prefixes(9), can: []string{"m5.large"}, cannot: []string{"t3.nano"}},
		{name: "ten prefixes", change: prefixes(10), can: []string{"m5.xlarge"}, cannot: []string{"m5.large"}},
		{name: "a cluster group", change: group("cluster"), can: []string{"m5.large"}, cannot: []string{"t3.large"}},
		{name: "a spread group", change: group("spread"), can: []string{"m5.large", "t3.large"}},
		{name: "a group that is not known yet", change: group(""), can: []string{"m5.large", "t3.large"}},
		{name: "a group that is selected no more", change: func(class *api.EC2NodeClass) {
			class.Status.PlacementGroup = &api.PlacementGroup{ID: "pg-1", Strategy: "cluster"}
		}, can: []string{"t3.large"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			class := catalogtest.NodeClass("default")
			if test.change != nil {
				test.change(class)
			}
			can := map[string]bool{}
			for _, typ := range catalog.Resolve(catalogtest.Catalog(t), class, catalog.Observed{}, catalogtest.Now) {
				_, can[typ.Name] = typ.CheapestOffering(nil)
			}
			for _, name := range test.can {
				if !can[name] {
					t.Errorf("%s cannot", name)
				}
			}
			for _, name := range test.cannot {
				if available, known := can[name]; available || !known {
					t.Errorf("%s can, or is not there at all", name)
				}
			}
		})
	}
}

func TestPlacementGroupLabels(t *testing.T) {
	class := catalogtest.NodeClass("default")
	class.Spec.PlacementGroupSelector = &api.PlacementGroupSelector{ID: "pg-1"}
	for _, test := range []struct {
		group      api.PlacementGroup
		partitions scheduling.Requirement
	}{
		{api.PlacementGroup{ID: "pg-1", Strategy: "spread"}, scheduling.DoesNotExist(api.LabelPlacementGroupPartition)},
		{
			api.PlacementGroup{ID: "pg-1", Strategy: "partition", PartitionCount: 3},
			scheduling.In(api.LabelPlacementGroupPartition, "1", "2", "3"),
		},
	} {
		class.Status.PlacementGroup = &test.group
		types := catalog.Resolve(catalogtest.Catalog(t), class, catalog.Observed{}, catalogtest.Now)
		for _, typ := range types {
			if id, _ := typ.Requirements[api.LabelPlacementGroupID].Single(); id != "pg-1" || typ.PlacementGroup.ID != id {
				t.Fatalf("%s: %s", typ.Name, typ.Requirements[api.LabelPlacementGroupID])
			}
			if got := typ.Requirements[api.LabelPlacementGroupPartition]; got.String() != test.partitions.String() {
				t.Fatalf("%s: %s, want %s", typ.Name, got, test.partitions)
			}
		}
		if len(types) == 0 {
			t.Error("no types")
		}
	}
	for _, typ := range catalog.Resolve(
		catalogtest.Catalog(t), catalogtest.NodeClass("default"), catalog.Observed{}, catalogtest.Now,
	) {
		if r := typ.Requirements[api.LabelPlacementGroupID]; !r.AllowsAbsent() || typ.PlacementGroup != nil {
			t.Fatalf("%s: %s", typ.Name, r)
		}
	}
}
