package topology_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
	"github.com/whittle-dev/whittle/shared/planner/topology"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// TestCounts follows the counts of a selector from running pods to demands and back.
func TestCounts(t *testing.T) {
	s := stagetest.Snapshot(types(), app("web", 4, stagetest.Spread(zone, 1, "web"))...)
	running := app("web", 1)
	running[0].Name, running[0].UID = "running", "uid-running"
	s.Nodes = []plan.Node{stagetest.Node("n", "a", 4, running...)}
	stages := stagetest.Read(s)
	selector := stages.Work.Groups[0].Topology.Spread[0].PodSelector
	counts := stages.Domain.CountsOf(selector, zone)
	expect := func(when string, want map[string]int) {
		t.Helper()
		got := maps.Clone(counts)
		maps.DeleteFunc(got, func(_ string, n int) bool { return n == 0 })
		if !maps.Equal(got, want) {
			t.Errorf("%s the counts are %v, want %v", when, got, want)
		}
	}
	expect("before Divide", map[string]int{"a": 1})
	stages.Domain.Divide(stages.Work.Groups)
	expect("after Divide", map[string]int{"a": 2, "b": 2, "c": 1})
	if stages.Domain.HasDemand(selector) != true || !topology.AnyPositive(counts) {
		t.Error("no demand of the selected pods is counted")
	}
	for _, d := range stages.State.Demands {
		if d.Domains[zone] == "b" {
			stages.Domain.Record(d, 1)
		}
	}
	expect("with one pod less in b", map[string]int{"a": 2, "b": 1, "c": 1})
	stages.Domain.RecordPlaces()
	expect("without a place for any pod", map[string]int{"a": 1})
	stages.Domain.ForgetPlaces()
	for _, d := range stages.State.Demands {
		if d.Domains[zone] == "c" && stages.State.PlanNodeFor(d) == nil {
			t.Fatal("the pod in c gets no node")
		}
		stages.Domain.RecordPlaced(d)
	}
	expect("with a place in c", map[string]int{"a": 1, "c": 1})
	for _, d := range stages.State.Demands {
		stages.Domain.Remove(d)
	}
	expect("without demands", map[string]int{"a": 1})
}

// TestCountsOnNodesOfTheSpread measures a spread that counts nodes for amd64 only. Pods of the
// other group may land on such nodes or not. They count in full until nodes are packed, and then
// where they are.
func TestCountsOnNodesOfTheSpread(t *testing.T) {
	amd64 := func(p *corev1.Pod) {
		p.Name, p.UID = "spread-"+p.Name, "spread-"+p.UID
		p.Spec.NodeSelector = map[string]string{corev1.LabelArchStable: "amd64"}
	}
	list := pods(app("web", 4, stagetest.Spread(zone, 1, "web"), amd64), app("web", 2, stagetest.InZone("a")))
	cheapest := stagetest.Type("arm", 4, 16, 0.1, "a")
	cheapest.Requirements[corev1.LabelArchStable] = scheduling.In(corev1.LabelArchStable, "arm64")
	stages := stagetest.Read(stagetest.Snapshot(append(types(), cheapest), list...))
	stages.Domain.Divide(stages.Work.Groups)
	expect := func(when string, want int) {
		t.Helper()
		for _, g := range stages.Work.Groups {
			if len(g.Topology.Spread) == 0 {
				continue
			}
			part := topology.Part{Units: placement.Single(g.Pods), Alternatives: g.Alternatives}
			skew := stages.Domain.SkewOf(g, part, &g.Topology.Spread[0])
			if got := skew.Counts["a"]; got != want {
				t.Errorf("%s zone a has %d pods, want %d", when, got, want)
			}
		}
	}
	record := func() {
		stages.State.PlannedChanged()
		stages.Domain.RecordPlaces()
		stages.Domain.ForgetPlaces()
	}
	expect("after Divide", 2)
	d := stages.State.Demands[slices.IndexFunc(stages.State.Demands, func(d *placement.Demand) bool {
		return d.Domains[zone] == "a"
	})]
	if stages.State.PlanNodeFor(d) == nil {
		t.Fatal("the pod in a gets no node")
	}
	record()
	expect("with one pod on a node for arm64", 0)
	medium := slices.IndexFunc(stages.Offers.Offerings, func(o offering.Offering) bool {
		return o.Price == 0.2 && o.Source.Zone == "a"
	})
	n := stages.State.NewNode(medium)
	stages.State.Place(n, d, 1)
	d.Waiting--
	stages.State.Planned = append(stages.State.Planned, n)
	for range 2 {
		record()
		expect("with one pod on a node for amd64", 1)
	}
}

// TestCountsAgreeWithPods changes what counts of demands in random clusters, and compares the
// counts of all selectors with counts of single pods.
func TestCountsAgreeWithPods(t *testing.T) {
	compared := 0
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 8))
		stages := stagetest.Read(plantest.Random(seed))
		stages.Domain.Divide(stages.Work.Groups)
		for range 3 {
			for _, g := range stages.Work.Groups {
				for i := range g.Topology.Affinity {
					term := &g.Topology.Affinity[i]
					got := maps.Clone(stages.Domain.CountsOf(term.PodSelector, term.Key))
					maps.DeleteFunc(got, func(_ string, n int) bool { return n == 0 })
					if want := countPods(stages, term.PodSelector, term.Key); !maps.Equal(got, want) {
						t.Fatalf("seed %d: %s by %s is %v, want %v", seed, term.PodSelector.Key(), term.Key, got, want)
					}
					compared += len(got)
				}
			}
			for _, d := range stages.State.Demands {
				stages.Domain.Record(d, random.IntN(len(d.Units)*d.PodsPerUnit()+1))
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d domains were compared", compared)
	}
}

// countPods counts the selected pods by domain: those that run, and those of demands.
func countPods(stages *stagetest.Stages, selector *workload.PodSelector, key string) map[string]int {
	counts := map[string]int{}
	for i := range stages.Work.Snapshot.Nodes {
		node := &stages.Work.Snapshot.Nodes[i]
		value, ok := node.Domain(key)
		for j := range node.Pods {
			if pod := &node.Pods[j]; ok && stages.Work.CountsInDomain(pod) && selector.Matches(pod) {
				counts[value]++
			}
		}
	}
	for _, d := range stages.State.Demands {
		if value := d.Domains[key]; value != "" && d.Counted > 0 && selector.Matches(d.Group.Pod()) {
			counts[value] += d.Counted
		}
	}
	return counts
}
