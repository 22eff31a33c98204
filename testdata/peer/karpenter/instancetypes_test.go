package karpenter

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	karpenterscheduling "sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
)

// allTypes are all real instance types, exotic ones included, some with capacity reservations.
func allTypes(t *testing.T) []catalog.InstanceType {
	types := catalog.Resolve(
		catalogtest.Catalog(t),
		catalogtest.NodeClass("default"),
		catalog.Observed{},
		catalogtest.Now,
	)
	for i := range types {
		if i%100 == 0 {
			types[i].Offerings = append(types[i].Offerings, catalog.Offering{
				CapacityType: api.CapacityTypeReserved, Zone: "us-east-1a", ZoneID: "use1-az1", ReservationID: "cr-1",
				ReservationCapacity: 3, Price: 1e-6, Available: true,
			})
		}
	}
	return types
}

func TestInstanceTypesKeepResources(t *testing.T) {
	types := allTypes(t)
	converted := InstanceTypes(types)
	if len(converted) != len(types) || len(types) == 0 {
		t.Fatalf("%d types became %d", len(types), len(converted))
	}
	same := func(a, b corev1.ResourceList) bool {
		return maps.EqualFunc(a, b, func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })
	}
	for i, k := range converted {
		if k.Name != types[i].Name {
			t.Errorf("%s became %s", types[i].Name, k.Name)
		}
		if !same(k.Capacity, types[i].Capacity) {
			t.Errorf("%s: capacity %v became %v", k.Name, types[i].Capacity, k.Capacity)
		}
		if !same(k.Allocatable(), types[i].Allocatable) {
			t.Errorf("%s: allocatable %v became %v", k.Name, types[i].Allocatable, k.Allocatable())
		}
	}
}

func TestInstanceTypesKeepRequirements(t *testing.T) {
	types := allTypes(t)
	for i, k := range InstanceTypes(types) {
		if len(k.Requirements) != len(types[i].Requirements) {
			t.Errorf("%s: %d requirements became %d", k.Name, len(types[i].Requirements), len(k.Requirements))
		}
		for key, ours := range types[i].Requirements {
			theirs := k.Requirements.Get(key)
			values, _ := ours.Values()
			have := theirs.Values()
			slices.Sort(have)
			if !k.Requirements.Has(key) || !slices.Equal(have, values) {
				t.Errorf("%s: %s became %s", k.Name, ours, theirs)
			}
			if absent := theirs.Operator() == corev1.NodeSelectorOpDoesNotExist; absent != ours.AllowsAbsent() {
				t.Errorf("%s: %s became %s", k.Name, ours, theirs)
			}
		}
	}
}

func TestInstanceTypesKeepOfferings(t *testing.T) {
	type offer struct {
		capacityType, zone, zoneID, reservation string
		capacity                                int
		price                                   float64
		available                               bool
	}
	types := allTypes(t)
	for i, k := range InstanceTypes(types) {
		want := map[offer]int{}
		for _, o := range types[i].Offerings {
			want[offer{o.CapacityType, o.Zone, o.ZoneID, o.ReservationID, o.ReservationCapacity, o.Price, o.Available}]++
		}
		got := map[offer]int{}
		for _, o := range k.Offerings {
			reservation := ""
			if o.Requirements.Get(api.LabelCapacityReservationID).Operator() == corev1.NodeSelectorOpIn {
				reservation = o.ReservationID()
			}
			got[offer{o.CapacityType(), o.Zone(), o.Requirements.Get(api.LabelTopologyZoneID).Any(), reservation,
				o.ReservationCapacity, o.Price, o.Available}]++
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: offerings %v became %v", k.Name, want, got)
		}
	}
}

// TestLabelsAreKnown asks for labels that only the provider for AWS has: Karpenter must not take a
// new node to lack them.
func TestLabelsAreKnown(t *testing.T) {
	for _, key := range api.WellKnownLabels() {
		wanted := karpenterscheduling.NewRequirements(karpenterscheduling.NewRequirement(key, corev1.NodeSelectorOpIn, "x"))
		if err := karpenterscheduling.NewRequirements().Compatible(wanted,
			karpenterscheduling.AllowUndefinedWellKnownLabels); err != nil {
			t.Error(err)
		}
	}
}
