package planner_test

import (
	"fmt"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/packing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// TestReservationsAreCountedExactly checks that a plan takes as many nodes of a reservation as it
// has left, through whichever of its offerings, and buys the rest.
func TestReservationsAreCountedExactly(t *testing.T) {
	for _, capacity := range []int{0, 1, 2, 5} {
		t.Run(fmt.Sprint(capacity), func(t *testing.T) {
			s := &plan.Snapshot{
				NodePools:     []api.NodePool{newPool("default")},
				NodeClasses:   []api.EC2NodeClass{{}},
				InstanceTypes: map[string][]catalog.InstanceType{},
			}
			s.NodeClasses[0].Name = "default"
			for _, name := range []string{"t1", "t2"} {
				typ := smallType(name, 4, 16, 0.2, api.ArchitectureAmd64)
				typ.Offerings = append([]catalog.Offering{{
					CapacityType: api.CapacityTypeReserved, Zone: "a", ReservationID: "cr-1", ReservationCapacity: capacity,
					Price: 0.0000002, Available: capacity > 0, PriceOverlay: true,
				}}, typ.Offerings...)
				s.InstanceTypes["default"] = append(s.InstanceTypes["default"], typ)
			}
			for i := range 12 {
				s.Pods = append(s.Pods, newPod(fmt.Sprint("p", i), "1", "1Gi"))
			}
			plan := planner.Solve(s)
			if len(plan.NodeClaims) != 3 || len(plan.Unplaced) > 0 {
				t.Fatalf("%d claims, unplaced %v", len(plan.NodeClaims), plan.Unplaced)
			}
			if plan.LowerBoundPerHour > plan.PricePerHour {
				t.Errorf("bound %v above price %v", plan.LowerBoundPerHour, plan.PricePerHour)
			}
			reserved := 0
			for _, claim := range plan.NodeClaims {
				requirements, err := scheduling.FromTerms(claim.NodeClaim.Spec.Requirements)
				if err != nil {
					t.Fatal(err)
				}
				capacityType, _ := requirements[api.CapacityTypeLabelKey].Single()
				id, _ := requirements[api.LabelCapacityReservationID].Single()
				for _, choice := range claim.Offerings {
					if choice.CapacityType != capacityType || choice.ReservationID != id {
						t.Errorf("a claim for %s %q has the choice %+v", capacityType, id, choice)
					}
				}
				if capacityType == api.CapacityTypeReserved {
					reserved++
				}
				overlaid := claim.NodeClaim.Annotations[api.PriceOverlayAppliedAnnotationKey] == "true"
				if overlaid != (capacityType == api.CapacityTypeReserved) {
					t.Errorf("annotations %v of a claim for %s", claim.NodeClaim.Annotations, capacityType)
				}
			}
			if want := min(capacity, 3); reserved != want {
				t.Errorf("%d nodes of the reservation, want %d", reserved, want)
			}
		})
	}
}

// TestMinValuesByBestEffort checks that minValues which cannot be met are lowered to what there is,
// and that the claim says so.
func TestMinValuesByBestEffort(t *testing.T) {
	least := 3
	for _, test := range []struct {
		policy  plan.MinValuesPolicy
		claims  int
		relaxed string
	}{{plan.MinValuesStrict, 0, ""}, {plan.MinValuesBestEffort, 1, "true"}} {
		t.Run(string(test.policy), func(t *testing.T) {
			pool := newPool("default")
			pool.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
				{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpExists, MinValues: &least},
			}
			s := &plan.Snapshot{
				NodePools:       []api.NodePool{pool},
				NodeClasses:     []api.EC2NodeClass{{}},
				MinValuesPolicy: test.policy,
				InstanceTypes: map[string][]catalog.InstanceType{
					"default": {
						smallType("t1", 4, 16, 0.2, api.ArchitectureAmd64),
						smallType("t2", 4, 16, 0.3, api.ArchitectureAmd64),
					},
				},
			}
			s.NodeClasses[0].Name = "default"
			s.Pods = []corev1.Pod{newPod("p", "1", "1Gi")}
			plan := planner.Solve(s)
			if len(plan.NodeClaims) != test.claims {
				t.Fatalf("%d claims, want %d: %v", len(plan.NodeClaims), test.claims, plan.Unplaced)
			}
			if test.claims == 0 {
				return
			}
			claim := plan.NodeClaims[0].NodeClaim
			if got := claim.Annotations[api.NodeClaimMinValuesRelaxedAnnotationKey]; got != test.relaxed {
				t.Errorf("the annotation is %q, want %q", got, test.relaxed)
			}
			for _, term := range claim.Spec.Requirements {
				if term.Key == corev1.LabelInstanceTypeStable && (term.MinValues == nil || *term.MinValues != 2) {
					t.Errorf("the claim asks for %v values of the instance type, want 2", term.MinValues)
				}
			}
		})
	}
}

// TestRoundsOfPacking checks that a later round keeps what earlier ones have planned and fills it
// up first.
func TestRoundsOfPacking(t *testing.T) {
	s := &plan.Snapshot{
		NodePools:   []api.NodePool{newPool("default")},
		NodeClasses: []api.EC2NodeClass{{}},
		InstanceTypes: map[string][]catalog.InstanceType{
			"default": {smallType("t1", 4, 16, 0.2, api.ArchitectureAmd64), smallType("t2", 8, 32, 0.4, api.ArchitectureAmd64)},
		},
	}
	s.NodeClasses[0].Name = "default"
	for i := range 5 {
		s.Pods = append(s.Pods, newPod(fmt.Sprint("big", i), "3", "1Gi"), newPod(fmt.Sprint("small", i), "1", "1Gi"))
	}
	p := read(s)
	p.domain.Divide(p.work.Groups)
	big, small := p.state.Demands[0], p.state.Demands[1]
	big.Waiting, small.Waiting = 4, 0
	nodes, _ := packing.Pack(p.state, nil)
	if big.Waiting != 0 || len(nodes) == 0 {
		t.Fatalf("%d wait, %d nodes", big.Waiting, len(nodes))
	}
	before := len(nodes)
	if n := p.state.PlanNodeFor(big); n == nil || big.Waiting != -1 || p.state.Planned[before] != n {
		t.Fatalf("openFor gave %v, %d wait", n, big.Waiting)
	}
	if room := p.state.RoomOrGrow(nodes[0], small, 10); room < 1 {
		t.Errorf("room for %d", room)
	}
	small.Waiting = 3
	p.state.PlaceOrGrow(nodes[0], small, 1)
	if small.Waiting != 2 {
		t.Errorf("%d wait after one was put", small.Waiting)
	}
	again, _ := packing.Pack(p.state, p.state.Planned)
	if small.Waiting != 0 || len(again) != before+1 {
		t.Errorf("%d wait, %d nodes after %d", small.Waiting, len(again), before+1)
	}
	for i, n := range again {
		if n.Fills[0].Demand != big.Index || i < before && n != nodes[i] {
			t.Errorf("node %d is %+v", i, n)
		}
	}
}
