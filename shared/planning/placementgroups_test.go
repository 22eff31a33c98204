package planning_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
	"github.com/whittle-dev/whittle/shared/planning"
)

const groupID = "pg-1"

// grouped is a snapshot whose pool launches into a placement group, in two zones.
func grouped(strategy string, pods ...corev1.Pod) *plan.Snapshot {
	four := stagetest.Type("four", 4, 16, 0.2, "us-east-1a", "us-east-1b")
	four.PlacementGroup = &api.PlacementGroup{ID: groupID, Name: "train", Strategy: strategy}
	return stagetest.Snapshot([]catalog.InstanceType{four}, pods...)
}

// member is a node of the group without room.
func member(name, zone string) plan.Node {
	node := stagetest.Node(name, zone, 0)
	node.Node.Labels[api.LabelPlacementGroupID] = groupID
	return node
}

// byZone counts the plan's nodes by the zones in which each may be.
func byZone(decided *plan.Plan) map[string]int {
	counts := map[string]int{}
	for i := range decided.NodeClaims {
		var zones []string
		for _, choice := range decided.NodeClaims[i].Offerings {
			zones = append(zones, strings.TrimPrefix(choice.Zone, "us-east-1"))
		}
		counts[strings.Join(zones, "")]++
	}
	return counts
}

func TestPlacementGroupsHaveBounds(t *testing.T) {
	inA := stagetest.Pods(1, "a", "3", "1Gi", stagetest.InZone("us-east-1a"))
	inB := stagetest.Pods(2, "b", "3", "1Gi", stagetest.InZone("us-east-1b"))
	anywhere := func(count int) []corev1.Pod { return stagetest.Pods(count, "any", "3", "1Gi") }
	const cluster, spread = api.PlacementGroupStrategyCluster, api.PlacementGroupStrategySpread
	for _, test := range []struct {
		name     string
		strategy string
		pods     []corev1.Pod
		nodes    []plan.Node
		want     string // nodes by zones
		says     string // of each pod without a place
		unplaced int
	}{
		{"a cluster group has one zone, where most pods have a place", cluster, append(inA, inB...), nil,
			"map[b:2]", `the cluster placement group "train" has one zone, us-east-1b: pin that zone`, 1},
		{"free pods of a cluster group come to one zone", cluster, anywhere(3), nil, "map[a:3]", "", 0},
		{"one node of a cluster group may be in any zone", cluster, anywhere(1), nil, "map[ab:1]", "", 0},
		{"the nodes of a cluster group fix its zone", cluster, append(inA, inB...), []plan.Node{member("n", "us-east-1a")},
			"map[a:1]", "one zone, us-east-1a", 2},
		{"a spread group has seven nodes in a zone", spread, stagetest.Pods(9, "a", "3", "1Gi", stagetest.InZone("us-east-1a")),
			nil, "map[a:7]", `the spread placement group "train" has 7 instances in a zone`, 2},
		{"free pods of a spread group come to all zones", spread, anywhere(16), nil, "map[a:7 b:7]", "spread", 2},
		{"few nodes of a spread group may be in any zone", spread, anywhere(7), nil, "map[ab:7]", "", 0},
		{"the nodes of a spread group count", spread, anywhere(6),
			[]plan.Node{member("n", "us-east-1a"), member("m", "us-east-1a"), member("o", "us-east-1b")},
			"map[a:5 b:1]", "", 0},
		{"claims make way for others", spread, append(anywhere(5), stagetest.Pods(7, "a", "3", "1Gi",
			stagetest.InZone("us-east-1a"))...), nil, "map[a:7 b:5]", "", 0},
		{"a partition group has no such bound", api.PlacementGroupStrategyPartition, append(inA, anywhere(16)...), nil,
			"map[a:1 ab:16]", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := grouped(test.strategy, test.pods...)
			s.Nodes = test.nodes
			before := fmt.Sprintf("%+v", s.InstanceTypes)
			decided := planning.Solve(s)
			if got := fmt.Sprint(byZone(decided)); got != test.want || len(decided.Unplaced) != test.unplaced {
				t.Errorf("nodes %s and %d pods without a place, want %s and %d", got, len(decided.Unplaced), test.want,
					test.unplaced)
			}
			price := 0.0
			for i := range decided.NodeClaims {
				price += decided.NodeClaims[i].PricePerHour
			}
			if decided.PricePerHour-price > 1e-9 || decided.LowerBoundPerHour > decided.PricePerHour+1e-9 {
				t.Errorf("price %g and bound %g of claims for %g", decided.PricePerHour, decided.LowerBoundPerHour, price)
			}
			for _, left := range decided.Unplaced {
				if text := fmt.Sprint(left.Reasons); !strings.Contains(text, test.says) {
					t.Errorf("%s: %s, want %q", left.Pod, text, test.says)
				}
			}
			if fmt.Sprintf("%+v", s.InstanceTypes) != before {
				t.Error("the snapshot has changed")
			}
		})
	}
}
