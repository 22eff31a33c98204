package provision

import (
	"reflect"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/status"
)

func TestTheLastPlanIsShown(t *testing.T) {
	e := newEnvironment(t)
	e.pod("one", "1", nil)
	e.pod("two", "500m", nil)
	e.pod("giant", "4000", nil)
	began := time.Now().Truncate(time.Second)
	if _, err := e.handler(alive()).handle(t.Context(), tick("1")); err != nil {
		t.Fatal(err)
	}
	contents, err := status.Read(t.Context(), e.client)
	shown := contents.Plan
	if err != nil || shown == nil || shown.Time.Before(began) {
		t.Fatalf("after a launch the last plan is %+v, %v", shown, err)
	}
	if shown.Pods != 3 || shown.Unplaced != 1 || shown.NewNodes() != 1 || shown.Nodes[0].Pods != 2 ||
		shown.PricePerHour <= 0 ||
		shown.OfBound() < 0.999 {
		t.Errorf("the last plan is %+v", shown)
	}
	// A plan without new nodes is not shown: the events of the pods say why they wait.
	e.oneNode()
	if _, err := e.handler(alive()).handle(t.Context(), tick("2")); err != nil {
		t.Fatal(err)
	}
	if again, err := status.Read(t.Context(), e.client); err != nil || !reflect.DeepEqual(again.Plan, shown) {
		t.Errorf("a pass without a launch made it %+v, %v", again.Plan, err)
	}
}

func TestNodesThatAreAlikeAreShownTogether(t *testing.T) {
	planned := func(pool, instanceType string, price float64, pods int) plan.PlannedNodeClaim {
		claim := api.NodeClaim{}
		claim.Labels = map[string]string{api.NodePoolLabelKey: pool}
		return plan.PlannedNodeClaim{
			NodeClaim: claim, Pods: make([]plan.PodRef, pods), PricePerHour: price,
			Offerings: []plan.Choice{
				{InstanceType: instanceType, Zone: "us-east-1a", CapacityType: "spot", Price: price},
				{InstanceType: "other", Price: 2 * price},
			},
		}
	}
	decided := &plan.Plan{
		NodeClaims: []plan.PlannedNodeClaim{
			planned("b", "c7g.large", 0.25, 3),
			planned("a", "m7g.large", 1, 4),
			planned("b", "c7g.large", 0.25, 2),
			planned("a", "c7g.large", 0.5, 1),
		},
		Nominations:  make([]plan.Nomination, 2),
		PricePerHour: 2, LowerBoundPerHour: 1.5,
	}
	nodes := func(pool, instanceType string, count, pods int, price float64) status.Nodes {
		return status.Nodes{
			NodePool: pool, InstanceType: instanceType, CapacityType: "spot", Zone: "us-east-1a",
			Count: count, Pods: pods, PricePerHour: price,
		}
	}
	want := &status.Plan{
		Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Pods: 12, Existing: 2, PricePerHour: 2, LowerBoundPerHour: 1.5,
		Nodes: []status.Nodes{
			nodes("a", "m7g.large", 1, 4, 1),
			nodes("a", "c7g.large", 1, 1, 0.5),
			nodes("b", "c7g.large", 2, 5, 0.5),
		},
	}
	// The price is what is paid, and the risk of interruptions is beside it.
	decided.NodeClaims[1].PricePerHour, decided.NodeClaims[1].RiskPerHour = 1.25, 0.25
	decided.PricePerHour, decided.RiskPerHour = 2.25, 0.25
	want.RiskPerHour, want.Nodes[0].RiskPerHour = 0.25, 0.25
	began := time.Date(2026, 3, 1, 13, 0, 0, 999, time.FixedZone("", 3600))
	if got := summary(decided, 12, began); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
