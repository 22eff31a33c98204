package packing_test

import (
	"math"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/packing"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
)

// pack runs the stages up to packing, without existing nodes' places.
func pack(s *plan.Snapshot) (*placement.State, []*placement.PlannedNode) {
	stages := stagetest.Read(s)
	stages.Domain.Divide(stages.Work.Groups)
	nodes, _ := packing.Pack(stages.State, nil)
	return stages.State, nodes
}

// costOf is the price of the nodes in US dollars an hour.
func costOf(state *placement.State, nodes []*placement.PlannedNode) float64 {
	cost := 0.0
	for _, n := range nodes {
		cost += state.Offers.Offerings[n.Offering].Source.Price
	}
	return cost
}

// waiting counts the units without a place.
func waiting(state *placement.State) int {
	count := 0
	for _, d := range state.Demands {
		count += d.Waiting
	}
	return count
}

// TestKnownPlans compares plans with the cheapest ones found by hand.
func TestKnownPlans(t *testing.T) {
	medium := stagetest.Type("medium", 4, 16, 0.2, "a")
	large := stagetest.Type("large", 8, 32, 0.36, "a")
	reserved := stagetest.Type("medium", 4, 16, 0.2, "a")
	reserved.Offerings = append([]catalog.Offering{{
		CapacityType: api.CapacityTypeReserved, Zone: "a", ReservationID: "cr-1", ReservationCapacity: 1,
		Price: 0.01, Available: true,
	}}, reserved.Offerings...)
	limited := func(s *plan.Snapshot) {
		s.NodePools[0].Spec.Limits = api.Limits{corev1.ResourceCPU: kresource.MustParse("9")}
	}
	tests := []struct {
		name   string
		types  []catalog.InstanceType
		pods   []corev1.Pod
		change func(*plan.Snapshot)
		// cost is in US dollars an hour.
		cost        float64
		nodes, left int
	}{
		{name: "nothing waits", types: []catalog.InstanceType{medium}},
		{
			name: "one node of the type that is cheapest for all", types: []catalog.InstanceType{medium, large},
			pods: stagetest.Pods(8, "a", "1", "1Gi"), cost: 0.36, nodes: 1,
		},
		{
			name: "the rest on a smaller node", types: []catalog.InstanceType{medium, large},
			pods: stagetest.Pods(9, "a", "1", "1Gi"), cost: 0.56, nodes: 2,
		},
		{
			// Only a pattern of one large and one small pod fills nodes.
			name: "pairs", types: []catalog.InstanceType{medium},
			pods: append(stagetest.Pods(40, "a", "3", "1Gi"), stagetest.Pods(40, "b", "1", "1Gi")...), cost: 8, nodes: 40,
		},
		{
			name: "anti-affinity", types: []catalog.InstanceType{medium},
			pods: stagetest.Pods(5, "a", "100m", "1Gi", stagetest.App("a"), stagetest.Away(corev1.LabelHostname, "a")),
			cost: 1, nodes: 5,
		},
		{
			name: "a spread over hosts", types: []catalog.InstanceType{medium},
			pods: stagetest.Pods(6, "a", "100m", "1Gi", stagetest.App("a"), stagetest.Spread(corev1.LabelHostname, 2, "a")),
			cost: 0.6, nodes: 3,
		},
		{
			// The limit allows two nodes of 4 cores, and a large one would leave none.
			name: "a limit", types: []catalog.InstanceType{medium}, change: limited,
			pods: stagetest.Pods(12, "a", "1", "1Gi"), cost: 0.4, nodes: 2, left: 4,
		},
		{
			name: "a larger node within a limit", types: []catalog.InstanceType{medium, large}, change: limited,
			pods: append(stagetest.Pods(2, "a", "3", "1Gi"), stagetest.Pods(2, "b", "1", "1Gi")...), cost: 0.36, nodes: 1,
		},
		{
			name: "a reservation of one instance", types: []catalog.InstanceType{reserved},
			pods: stagetest.Pods(8, "a", "1", "1Gi"), cost: 0.21, nodes: 2,
		},
		{
			name: "no type can hold it", types: []catalog.InstanceType{medium},
			pods: append(stagetest.Pods(1, "a", "5", "1Gi"), stagetest.Pods(4, "b", "1", "1Gi")...), cost: 0.2, nodes: 1, left: 1,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := stagetest.Snapshot(test.types, test.pods...)
			if test.change != nil {
				test.change(s)
			}
			state, nodes := pack(s)
			if cost := costOf(state, nodes); math.Abs(cost-test.cost) > 1e-9 {
				t.Errorf("the nodes cost $%.3f/h, want $%.3f/h", cost, test.cost)
			}
			if len(nodes) != test.nodes || waiting(state) != test.left {
				t.Errorf("%d nodes and %d waiting units, want %d and %d", len(nodes), waiting(state), test.nodes, test.left)
			}
		})
	}
}

// TestHeavierPoolFirst checks that packing turns to a lighter pool only for what heavier ones cannot
// hold, whatever the prices.
func TestHeavierPoolFirst(t *testing.T) {
	s := stagetest.Snapshot(nil, append(stagetest.Pods(2, "small", "3", "1Gi"), stagetest.Pods(1, "large", "7", "1Gi")...)...)
	weight := int32(10)
	s.NodePools = append(s.NodePools, stagetest.Pool("heavy", func(p *api.NodePool) { p.Spec.Weight = &weight }))
	s.InstanceTypes = map[string][]catalog.InstanceType{
		"default": {stagetest.Type("large", 8, 32, 0.1, "a")},
		"heavy":   {stagetest.Type("medium", 4, 16, 0.2, "a")},
	}
	state, nodes := pack(s)
	counts := map[string]int{}
	for _, n := range nodes {
		counts[state.Offers.PoolTypeOf(n.Offering).Pool.Name()]++
	}
	if want := map[string]int{"heavy": 2, "default": 1}; !reflect.DeepEqual(counts, want) {
		t.Errorf("nodes by pool are %v, want %v", counts, want)
	}
}

// TestRandomClusters checks the invariants on random clusters: nodes have room for their fills, the
// ledger allows all nodes, no unit is lost, and a second run plans the same.
func TestRandomClusters(t *testing.T) {
	planned := 0
	for seed := range plantest.Seeds(300) {
		s := plantest.Random(seed)
		state, nodes := pack(s)
		planned += len(nodes)
		ledger := state.NewLedger(nil)
		placed := make([]int, len(state.Demands))
		for _, n := range nodes {
			if !ledger.Allows(n.Offering) {
				t.Fatalf("seed %d: limits or reservations do not allow a node of offering %d", seed, n.Offering)
			}
			ledger.Take(n.Offering, 1)
			checkNode(t, seed, state, n)
			for _, f := range n.Fills {
				placed[f.Demand] += f.Count
			}
		}
		for i, d := range state.Demands {
			if placed[i]+d.Waiting != len(d.Units) {
				t.Fatalf("seed %d: demand %d has %d units placed and %d waiting of %d", seed, i, placed[i], d.Waiting, len(d.Units))
			}
		}
		_, again := pack(plantest.Random(seed))
		if !reflect.DeepEqual(fillsOf(nodes), fillsOf(again)) {
			t.Fatalf("seed %d: a second run plans other nodes", seed)
		}
	}
	if planned == 0 {
		t.Error("no node was planned at all")
	}
}

// checkNode checks that the node can hold its fills.
func checkNode(t *testing.T, seed uint64, state *placement.State, n *placement.PlannedNode) {
	t.Helper()
	used := make(resource.Vector, len(state.Work.Axes.Names))
	for _, f := range n.Fills {
		d := state.Demands[f.Demand]
		used.Add(d.Need, int64(f.Count))
		if !d.Feasibility.Offerings.Has(n.Offering) {
			t.Fatalf("seed %d: offering %d is not feasible for demand %d", seed, n.Offering, f.Demand)
		}
		for _, other := range n.Fills {
			if d.Conflicts != nil && d.Conflicts.Has(other.Demand) && (other != f || f.Count > 1) {
				t.Fatalf("seed %d: demands %d and %d share a node", seed, f.Demand, other.Demand)
			}
		}
	}
	if free := state.Offers.PoolTypeOf(n.Offering).Free; !free.Fits(used) {
		t.Fatalf("seed %d: a node with %v free holds %v", seed, free, used)
	}
}

// fillsOf are the offerings and fills of the nodes.
func fillsOf(nodes []*placement.PlannedNode) [][]placement.Fill {
	var list [][]placement.Fill
	for _, n := range nodes {
		list = append(list, append([]placement.Fill{{Demand: -1, Count: n.Offering}}, n.Fills...))
	}
	return list
}
