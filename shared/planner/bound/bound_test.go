package bound_test

import (
	"math"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/bound"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
)

// divided reads a snapshot, and makes demands of its pods.
func divided(s *plan.Snapshot) *placement.State {
	stages := stagetest.Read(s)
	stages.Domain.Divide(stages.Work.Groups)
	return stages.State
}

// unitsOf counts the units of each demand.
func unitsOf(state *placement.State) []int {
	counts := make([]int, len(state.Demands))
	for i, d := range state.Demands {
		counts[i] = len(d.Units)
	}
	return counts
}

// TestKnownBounds compares the bound with results by hand, in US dollars an hour.
func TestKnownBounds(t *testing.T) {
	medium := stagetest.Type("medium", 4, 16, 0.2, "a")
	reserved := stagetest.Type("medium", 4, 16, 0.2, "a")
	reserved.Offerings = append([]catalog.Offering{{
		CapacityType: api.CapacityTypeReserved, Zone: "a", ReservationID: "cr-1", ReservationCapacity: 1,
		Price: 0.01, Available: true,
	}}, reserved.Offerings...)
	tests := []struct {
		name  string
		types []catalog.InstanceType
		pods  []corev1.Pod
		want  float64
	}{
		{
			// 10 cores are 2.5 nodes of 4 cores. The bound may buy parts of nodes.
			name: "parts of nodes", types: []catalog.InstanceType{medium}, pods: stagetest.Pods(10, "a", "1", "1Gi"), want: 0.5,
		},
		{
			// A fleet has one node, however little a pod needs.
			name: "one node", types: []catalog.InstanceType{medium}, pods: stagetest.Pods(1, "a", "100m", "1Gi"), want: 0.2,
		},
		{
			// No two pods of 3 cores share 4 cores, though 15 cores are 3.75 nodes only.
			name: "large pods", types: []catalog.InstanceType{medium}, pods: stagetest.Pods(5, "a", "3", "1Gi"), want: 1,
		},
		{
			// 10 pods fit on a node by their number.
			name: "number of pods", types: []catalog.InstanceType{medium}, pods: stagetest.Pods(25, "a", "10m", "1Mi"), want: 0.5,
		},
		{
			// One node of each type is full: 8+4 cores and 8+32 GiB. With $0.225/7 a core and $0.0375/7 a
			// GiB, each is worth its price of $0.30.
			name: "two types",
			types: []catalog.InstanceType{
				stagetest.Type("compute", 8, 8, 0.3, "a"), stagetest.Type("memory", 4, 32, 0.3, "a"),
			},
			pods: append(stagetest.Pods(8, "a", "1", "1Gi"), stagetest.Pods(8, "b", "500m", "4Gi")...),
			want: 0.6,
		},
		{
			// Each pod needs a node of its own, and the cheapest type will do.
			name:  "anti-affinity over hosts",
			types: []catalog.InstanceType{stagetest.Type("small", 2, 8, 0.1, "a"), medium},
			pods: stagetest.Pods(5, "a", "100m", "1Gi",
				stagetest.App("web"), stagetest.Away(corev1.LabelHostname, "web")),
			want: 0.5,
		},
		{
			// At most two pods share a host, so five need three.
			name:  "spread over hosts",
			types: []catalog.InstanceType{stagetest.Type("small", 2, 8, 0.1, "a"), medium},
			pods: stagetest.Pods(5, "a", "100m", "1Gi",
				stagetest.App("web"), stagetest.Spread(corev1.LabelHostname, 2, "web")),
			want: 0.3,
		},
		{
			// Another plan could choose another zone, so the bound does not charge for the dear one.
			name:  "spread over zones",
			types: []catalog.InstanceType{medium, stagetest.Type("dear", 4, 16, 0.8, "b")},
			pods:  stagetest.Pods(2, "a", "3", "1Gi", stagetest.App("web"), stagetest.Spread(corev1.LabelTopologyZone, 1, "web")),
			want:  0.4,
		},
		{
			// The reservation has one node left.
			name: "reservation", types: []catalog.InstanceType{reserved}, pods: stagetest.Pods(3, "a", "3", "1Gi"), want: 0.41,
		},
		{name: "no pods", types: []catalog.InstanceType{medium}, want: 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			state := divided(stagetest.Snapshot(test.types, test.pods...))
			if got := bound.LowerBound(state, unitsOf(state), nil, 0); math.Abs(got-test.want) > 1e-6 {
				t.Errorf("the bound is $%.9f/h, want $%.9f/h", got, test.want)
			}
		})
	}
}

// placeAtRandom places units on random planned nodes with room, or on new nodes. It returns how
// many units of each demand have a place, and the price of all nodes.
func placeAtRandom(state *placement.State, random *rand.Rand) ([]int, float64) {
	placed := make([]int, len(state.Demands))
	for i, d := range state.Demands {
		for d.Waiting > 0 {
			if n := len(state.Planned); n > 0 && random.IntN(4) > 0 {
				at := state.Planned[random.IntN(n)]
				if state.RoomOrGrow(at, d, 1) > 0 {
					state.PlaceOrGrow(at, d, 1)
					placed[i]++
					continue
				}
			}
			if state.PlanNodeFor(d) == nil {
				break
			}
			placed[i]++
		}
	}
	price := 0.0
	for _, n := range state.Planned {
		price += state.Offers.Offerings[n.Offering].Price
	}
	return placed, price
}

// TestNoFleetUndercutsTheBound places the pods of random clusters at random, in several ways each.
// It compares the price of the nodes with the bound for the pods that they hold.
func TestNoFleetUndercutsTheBound(t *testing.T) {
	fleets, best := 0, 0.0
	for seed := range uint64(150) {
		s := plantest.Random(seed)
		for attempt := range uint64(3) {
			state := divided(s)
			placed, price := placeAtRandom(state, rand.New(rand.NewPCG(seed, attempt)))
			if price == 0 {
				continue
			}
			// The bound of whole nodes would stop at a price that is met, and hide a fault.
			got := bound.LowerBound(state, placed, nil, 2*price)
			// Sums of the same prices may round differently.
			if got > price*(1+1e-12) {
				t.Errorf("seed %d: the bound is $%.9f/h, and a fleet costs $%.9f/h", seed, got, price)
			}
			if got <= 0 {
				t.Errorf("seed %d: the bound is $%.9f/h for a fleet of $%.9f/h", seed, got, price)
			}
			fleets++
			best = max(best, got/price)
		}
	}
	if fleets < 300 || best < 0.9 {
		t.Errorf("%d fleets, of which the best bound is %.2f of the price: the test is too easy", fleets, best)
	}
}

// TestBoundWithAnEarlierDual checks that an earlier dual changes the bound by no more than its
// precision, whether it has the same units or others.
func TestBoundWithAnEarlierDual(t *testing.T) {
	types := []catalog.InstanceType{
		stagetest.Type("compute", 8, 8, 0.3, "a"), stagetest.Type("memory", 4, 32, 0.3, "a"),
	}
	list := append(stagetest.Pods(8, "a", "1", "512Mi"), stagetest.Pods(8, "b", "500m", "4Gi")...)
	state := divided(stagetest.Snapshot(types, list...))
	// 12 cores and 36 GiB are 15/14 nodes of the first type, and 12/14 of the second.
	const want = 0.3 * 27 / 14
	// For one pod of the second kind, memory has no price.
	for _, counts := range [][]int{{8, 8}, {8, 1}} {
		dual := bound.Solve(state.Offers, unitsFor(state, counts))
		if got := bound.LowerBound(state, unitsOf(state), dual, 0); math.Abs(got-want) > 0.002*want {
			t.Errorf("with a dual for %v units the bound is $%.6f/h, want $%.6f/h", counts, got, want)
		}
	}
}

// unitsFor are so many units of each demand, as bounding sees them.
func unitsFor(state *placement.State, counts []int) []bound.Units {
	var units []bound.Units
	for i, d := range state.Demands {
		if counts[i] > 0 {
			units = append(units, bound.Units{
				ID: d.NeedID(), Need: d.Need, Count: counts[i], Offerings: d.Feasibility.AnyAlternative, Slots: d.Slots,
			})
		}
	}
	return units
}
