package planner_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/plantest"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// inFlight returns the snapshot with the plan's claims. They are as EC2 launched them, each with
// one of its offerings, or as they were created.
func inFlight(t *testing.T, s *plan.Snapshot, solved *plan.Plan, launched bool, random *rand.Rand) *plan.Snapshot {
	t.Helper()
	next := *s
	next.Nodes = append([]plan.Node(nil), s.Nodes...)
	for i := range solved.NodeClaims {
		planned := &solved.NodeClaims[i]
		claim := planned.NodeClaim.DeepCopy()
		claim.Name = fmt.Sprintf("%s%d", claim.GenerateName, random.IntN(1000000))
		if launched {
			choice := planned.Offerings[random.IntN(len(planned.Offerings))]
			node, typ := nodeOf(t, s, planned, choice)
			claim.Labels = node.Labels
			claim.Status.ProviderID = "aws:///" + choice.Zone + "/i-" + claim.Name
			claim.Status.Capacity, claim.Status.Allocatable = typ.Capacity, typ.Allocatable
		}
		next.Nodes = append(next.Nodes, plan.Node{NodeClaim: claim})
	}
	return &next
}

// TestPlanningAgainLaunchesNothing plans again while the nodes of the first plan are in flight. The
// pods still wait, and must not get a second node.
func TestPlanningAgainLaunchesNothing(t *testing.T) {
	check := func(t *testing.T, s *plan.Snapshot, random *rand.Rand) {
		t.Helper()
		first := planner.Solve(s)
		for _, launched := range []bool{false, true} {
			again := planner.Solve(inFlight(t, s, first, launched, random))
			if len(again.NodeClaims) > 0 {
				t.Errorf(
					"launched %t: %d further nodes after %d, for %d pods: %v",
					launched,
					len(again.NodeClaims),
					len(first.NodeClaims),
					len(again.NodeClaims[0].Pods),
					again.NodeClaims[0].NodeClaim.Spec.Requirements,
				)
			}
			if len(again.Unplaced) > len(first.Unplaced) {
				t.Errorf(
					"launched %t: %d unplaced, before %d: %v",
					launched,
					len(again.Unplaced),
					len(first.Unplaced),
					again.Unplaced[0],
				)
			}
		}
	}
	for seed := range plantest.Seeds(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 3))
			check(t, randomSnapshot(t, random), random)
		})
	}
	for _, test := range []struct {
		name    string
		count   int
		changes []func(*corev1.Pod)
	}{
		{"zones", 7, []func(*corev1.Pod){app("web"), spreadOver(corev1.LabelTopologyZone, 1, "web")}},
		{"hosts", 7, []func(*corev1.Pod){app("web"), spreadOver(corev1.LabelHostname, 2, "web")}},
		{"apart", 5, []func(*corev1.Pod){app("web"), awayFrom(corev1.LabelHostname, "web")}},
		{"zones apart", 5, []func(*corev1.Pod){app("web"), awayFrom(corev1.LabelTopologyZone, "web")}},
		{"together in a zone", 9, []func(*corev1.Pod){app("web"), near(corev1.LabelTopologyZone, "web")}},
		{"together on a host", 9, []func(*corev1.Pod){app("web"), near(corev1.LabelHostname, "web")}},
		{"capacity types", 6, []func(*corev1.Pod){app("web"), spreadOver(api.CapacityTypeLabelKey, 1, "web")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := realSnapshot(t, newPool("default"))
			for i := range test.count {
				s.Pods = append(s.Pods, newPod(fmt.Sprintf("p-%d", i), "700m", "1Gi", test.changes...))
			}
			s.Pods = append(s.Pods, manyPods(200, 12, 5)...)
			check(t, s, rand.New(rand.NewPCG(9, 9)))
		})
	}
}
