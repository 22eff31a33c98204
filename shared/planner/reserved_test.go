package planner_test

import (
	"fmt"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// TestReservationsAreCountedExactly checks that a plan uses all instances of a reservation, through
// any of its offerings. It launches further nodes on demand.
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
