package catalog_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/planner"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// reservation is an ordinary one of m5.xlarge in us-east-1b.
func reservation(id string, change func(*api.CapacityReservation)) api.CapacityReservation {
	r := api.CapacityReservation{
		ID: id, InstanceType: "m5.xlarge", AvailabilityZone: "us-east-1b", InstanceMatchCriteria: "targeted",
		OwnerID:         "123456789012",
		ReservationType: api.CapacityReservationTypeDefault, State: api.CapacityReservationStateActive,
	}
	if change != nil {
		change(&r)
	}
	return r
}

func TestReservedOfferings(t *testing.T) {
	in := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: catalogtest.Now.Add(d)} }
	short := &catalog.Unavailable{}
	short.Mark(api.CapacityTypeReserved, "m5.xlarge", "us-east-1b", catalogtest.Now)
	for _, test := range []struct {
		name      string
		change    func(*api.CapacityReservation)
		left      map[string]int
		short     *catalog.Unavailable
		offered   bool
		available bool
	}{
		{name: "with instances left", left: map[string]int{"cr-1": 3}, offered: true, available: true},
		{name: "empty", left: map[string]int{"cr-1": 0}, offered: true},
		{name: "of which nothing is known", offered: true},
		{
			name:   "expiring",
			change: func(r *api.CapacityReservation) { r.State = api.CapacityReservationStateExpiring },
			left:   map[string]int{"cr-1": 3}, offered: true,
		},
		{
			name: "ended", change: func(r *api.CapacityReservation) { r.EndTime = in(0) },
			left: map[string]int{"cr-1": 3}, offered: true,
		},
		{
			name: "about to end", change: func(r *api.CapacityReservation) { r.EndTime = in(time.Minute) },
			left: map[string]int{"cr-1": 3}, offered: true, available: true,
		},
		{name: "a block that is drained", change: func(r *api.CapacityReservation) {
			r.ReservationType, r.EndTime = api.CapacityReservationTypeCapacityBlock, in(40*time.Minute)
		}, left: map[string]int{"cr-1": 3}, offered: true},
		{name: "a block", change: func(r *api.CapacityReservation) {
			r.ReservationType, r.EndTime, r.Interruptible = api.CapacityReservationTypeCapacityBlock, in(41*time.Minute), true
		}, left: map[string]int{"cr-1": 3}, offered: true, available: true},
		{name: "that EC2 could not give from", left: map[string]int{"cr-1": 3}, short: short, offered: true},
		{
			name:   "in a zone without a subnet",
			change: func(r *api.CapacityReservation) { r.AvailabilityZone = "us-east-1f" },
			left:   map[string]int{"cr-1": 3},
		},
		{
			name: "of another type", change: func(r *api.CapacityReservation) { r.InstanceType = "c5.large" },
			left: map[string]int{"cr-1": 3},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			class := catalogtest.NodeClass("default")
			reserved := reservation("cr-1", test.change)
			class.Status.CapacityReservations = []api.CapacityReservation{reserved}
			observed := catalog.Observed{Unavailable: test.short, Reservations: test.left}
			for _, typ := range catalog.Resolve(catalogtest.Catalog(t), class, observed, catalogtest.Now) {
				if typ.Name != "m5.xlarge" {
					continue
				}
				offered := false
				for _, o := range typ.Offerings {
					id, labelled := o.Requirements[api.LabelCapacityReservationID].Single()
					if o.CapacityType != api.CapacityTypeReserved {
						if r, has := o.Requirements[api.LabelCapacityReservationID]; test.offered && (!has || !r.AllowsAbsent()) {
							t.Errorf("%s in %s may have the label of a reservation", o.CapacityType, o.Zone)
						}
						continue
					}
					offered = true
					kind, _ := o.Requirements[api.LabelCapacityReservationType].Single()
					interruptible, _ := o.Requirements[api.LabelCapacityReservationInterruptible].Single()
					if o.ReservationID != "cr-1" || !labelled || id != "cr-1" || kind != reserved.ReservationType ||
						interruptible != fmt.Sprint(reserved.Interruptible) ||
						o.Zone != "us-east-1b" || o.ZoneID != "use1-az2" || o.Price != 0.192/1e7 ||
						o.ReservationCapacity != test.left["cr-1"] {
						t.Errorf("the offering is %+v", o)
					}
					if o.Available != test.available {
						t.Errorf("available: %v, want %v", o.Available, test.available)
					}
				}
				if offered != test.offered ||
					typ.Requirements[api.CapacityTypeLabelKey].Has(api.CapacityTypeReserved) != test.offered {
					t.Errorf("offered: %v, want %v; %s", offered, test.offered, typ.Requirements[api.CapacityTypeLabelKey])
				}
				return
			}
			t.Error("no m5.xlarge")
		})
	}
}

// planFor plans pods of 3 CPUs each for a pool that allows m5.xlarge alone, which holds one of
// them.
func planFor(
	t *testing.T, class *api.EC2NodeClass, observed catalog.Observed, pods int, change func(*corev1.Pod),
) *plan.Plan {
	t.Helper()
	pool := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "pool"}}
	pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
		Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: class.Name,
	}
	pool.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
		{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"m5.xlarge"}},
	}
	pool.Default()
	s := &plan.Snapshot{
		NodePools:   []api.NodePool{pool},
		NodeClasses: []api.EC2NodeClass{*class},
		InstanceTypes: map[string][]catalog.InstanceType{
			"default": catalog.Resolve(catalogtest.Catalog(t), class, observed, catalogtest.Now),
		},
	}
	for i := range pods {
		pod := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: fmt.Sprint("p", i), UID: types.UID(fmt.Sprint("uid", i)),
				Labels: map[string]string{"app": "a"},
			},
		}
		pod.Spec.Containers = []corev1.Container{
			{
				Name:      "c",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}},
			},
		}
		if change != nil {
			change(&pod)
		}
		s.Pods = append(s.Pods, pod)
	}
	return planner.Solve(s)
}

// labelOf is the one value that a planned claim demands of a label.
func labelOf(t *testing.T, claim *plan.PlannedNodeClaim, key string) string {
	t.Helper()
	requirements, err := scheduling.FromTerms(claim.NodeClaim.Spec.Requirements)
	if err != nil {
		t.Fatal(err)
	}
	value, _ := requirements[key].Single()
	return value
}

// TestPlansUseReservationsFirst: reserved instances are taken first and exactly, and pods may ask
// for them or decline them.
func TestPlansUseReservationsFirst(t *testing.T) {
	selector := func(key string, operator corev1.NodeSelectorOperator, values ...string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.Affinity = &corev1.Affinity{
				NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{
						{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}},
					},
				}},
			}
		}
	}
	block := func(r *api.CapacityReservation) { r.ReservationType = api.CapacityReservationTypeCapacityBlock }
	for _, test := range []struct {
		name     string
		reserved []api.CapacityReservation
		left     map[string]int
		pods     int
		change   func(*corev1.Pod)
		want     map[string]int // claims by reservation; "" is none
		unplaced int
	}{
		{
			"room for all", []api.CapacityReservation{reservation("cr-1", nil)}, map[string]int{"cr-1": 5}, 4, nil,
			map[string]int{"cr-1": 4}, 0,
		},
		{
			"room for some", []api.CapacityReservation{reservation("cr-1", nil)}, map[string]int{"cr-1": 2}, 5, nil,
			map[string]int{"cr-1": 2, "": 3}, 0,
		},
		{
			"none left", []api.CapacityReservation{reservation("cr-1", nil)}, map[string]int{"cr-1": 0}, 2, nil,
			map[string]int{"": 2}, 0,
		},
		{"two reservations", []api.CapacityReservation{
			reservation("cr-1", nil), reservation("cr-2", block),
		}, map[string]int{"cr-1": 1, "cr-2": 2}, 4, nil,
			map[string]int{"cr-1": 1, "cr-2": 2, "": 1}, 0},
		{"asked for by id", []api.CapacityReservation{
			reservation("cr-1", nil), reservation("cr-2", nil),
		}, map[string]int{"cr-1": 2, "cr-2": 2}, 3,
			selector(api.LabelCapacityReservationID, corev1.NodeSelectorOpIn, "cr-2"), map[string]int{"cr-2": 2}, 1},
		{"asked for by type", []api.CapacityReservation{
			reservation("cr-1", nil), reservation("cr-2", block),
		}, map[string]int{"cr-1": 2, "cr-2": 2}, 2,
			selector(api.LabelCapacityReservationType, corev1.NodeSelectorOpIn, "capacity-block"), map[string]int{"cr-2": 2}, 0},
		{"asked for by capacity type", []api.CapacityReservation{reservation("cr-1", nil)}, map[string]int{"cr-1": 1}, 2,
			selector(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, "reserved"), map[string]int{"cr-1": 1}, 1},
		{"declined by id", []api.CapacityReservation{reservation("cr-1", nil)}, map[string]int{"cr-1": 5}, 2,
			selector(api.LabelCapacityReservationID, corev1.NodeSelectorOpDoesNotExist), map[string]int{"": 2}, 0},
		{"one of two declined", []api.CapacityReservation{
			reservation("cr-1", nil), reservation("cr-2", nil),
		}, map[string]int{"cr-1": 5, "cr-2": 1}, 2,
			selector(api.LabelCapacityReservationID, corev1.NodeSelectorOpNotIn, "cr-1"), map[string]int{"cr-2": 1, "": 1}, 0},
		{"declined if it can be taken back", []api.CapacityReservation{
			reservation("cr-1", func(r *api.CapacityReservation) { r.Interruptible = true }),
		}, map[string]int{"cr-1": 5}, 2,
			selector(api.LabelCapacityReservationInterruptible, corev1.NodeSelectorOpNotIn, "true"), map[string]int{"": 2}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			class := catalogtest.NodeClass("default")
			class.Status.CapacityReservations = test.reserved
			planned := planFor(t, class, catalog.Observed{Reservations: test.left}, test.pods, test.change)
			got := map[string]int{}
			for i := range planned.NodeClaims {
				claim := &planned.NodeClaims[i]
				id := labelOf(t, claim, api.LabelCapacityReservationID)
				got[id]++
				if reserved := labelOf(t, claim, api.CapacityTypeLabelKey) == api.CapacityTypeReserved; reserved != (id != "") {
					t.Errorf("a claim of reservation %q demands %v", id, claim.NodeClaim.Spec.Requirements)
				}
				for _, term := range claim.NodeClaim.Spec.Requirements {
					if term.Operator == corev1.NodeSelectorOpNotIn && len(term.Values) == 0 {
						t.Errorf("the requirement %+v says nothing", term)
					}
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) || len(planned.Unplaced) != test.unplaced {
				t.Errorf("claims %v, %d unplaced, want %v and %d", got, len(planned.Unplaced), test.want, test.unplaced)
			}
		})
	}
}

// TestPlansSpreadOverPartitions: pods that want to be spread over a placement group's partitions
// get nodes in different ones.
func TestPlansSpreadOverPartitions(t *testing.T) {
	class := catalogtest.NodeClass("default")
	class.Spec.PlacementGroupSelector = &api.PlacementGroupSelector{ID: "pg-1"}
	class.Status.PlacementGroup = &api.PlacementGroup{
		ID: "pg-1", Strategy: api.PlacementGroupStrategyPartition, PartitionCount: 3,
	}
	planned := planFor(t, class, catalog.Observed{}, 6, func(pod *corev1.Pod) {
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: api.LabelPlacementGroupPartition, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
		}}
	})
	got := map[string]int{}
	for i := range planned.NodeClaims {
		got[labelOf(t, &planned.NodeClaims[i], api.LabelPlacementGroupPartition)]++
	}
	if want := map[string]int{"1": 2, "2": 2, "3": 2}; fmt.Sprint(got) != fmt.Sprint(want) || len(planned.Unplaced) > 0 {
		t.Errorf("nodes by partition %v, want %v; unplaced %v", got, want, planned.Unplaced)
	}
}
