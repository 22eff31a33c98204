package correction_test

import (
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/correction"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
)

const zone, host = corev1.LabelTopologyZone, corev1.LabelHostname

// divided reads a snapshot of pods and nodes, and makes demands. New nodes have 4 cores, and are
// sold in the zones a, b and c.
func divided(pods []corev1.Pod, nodes ...plan.Node) (*stagetest.Stages, *correction.Corrector) {
	types := []catalog.InstanceType{stagetest.Type("medium", 4, 16, 0.2, "a", "b", "c")}
	s := stagetest.Snapshot(types, pods...)
	s.Nodes = nodes
	stages := stagetest.Read(s)
	stages.Domain.Divide(stages.Work.Groups)
	return stages, correction.New(stages.State, stages.Domain)
}

// app returns pods of an app that ask for 3 cores each.
func app(name string, count int, changes ...func(*corev1.Pod)) []corev1.Pod {
	var list []corev1.Pod
	for i := range count {
		changes := append([]func(*corev1.Pod){stagetest.App(name)}, changes...)
		list = append(list, stagetest.Pod(fmt.Sprintf("%s-%02d", name, i), "3", "1Gi", changes...))
	}
	return list
}

// place plans a node for each unit of the demands that the condition holds for.
func place(t *testing.T, stages *stagetest.Stages, condition func(*placement.Demand) bool) {
	t.Helper()
	for _, d := range stages.State.Demands {
		for d.Waiting > 0 && condition(d) {
			if stages.State.PlanNodeFor(d) == nil {
				t.Fatalf("pod %q has no place", d.Group.Pod().Name)
			}
		}
	}
}

// placedPods counts the pods with a place by app and zone, as "web:a".
func placedPods(stages *stagetest.Stages) map[string]int {
	counts := map[string]int{}
	count := func(fills []placement.Fill, inZone string) {
		for _, f := range fills {
			d := stages.State.Demands[f.Demand]
			counts[d.Group.Pod().Labels["app"]+":"+inZone] += f.Count * d.PodsPerUnit()
		}
	}
	for _, n := range stages.State.Planned {
		count(n.Fills, stages.State.PlannedValue(n, zone))
	}
	for _, e := range stages.State.Existing {
		value, _ := e.Domain(zone)
		count(e.Fills, value)
	}
	return counts
}

// waitingPods counts the pods without a place, of demands and of leftovers.
func waitingPods(stages *stagetest.Stages) int {
	count := 0
	for _, d := range stages.State.Demands {
		count += d.Waiting * d.PodsPerUnit()
	}
	for _, l := range stages.State.Leftovers {
		count += len(l.Pods)
	}
	return count
}

func expect(t *testing.T, stages *stagetest.Stages, want map[string]int, waiting int) {
	t.Helper()
	if got := placedPods(stages); !maps.Equal(got, want) {
		t.Errorf("the placed pods are %v, want %v", got, want)
	}
	if got := waitingPods(stages); got != waiting {
		t.Errorf("%d pods wait, want %d", got, waiting)
	}
}

// TestSpread places pods of a spread in two of three zones. The excess is retracted, and placed
// again beside the pods of the third zone.
func TestSpread(t *testing.T) {
	stages, corrector := divided(app("web", 6, stagetest.Spread(zone, 1, "web")))
	place(t, stages, func(d *placement.Demand) bool { return d.Domains[zone] != "c" })
	expect(t, stages, map[string]int{"web:a": 2, "web:b": 2}, 2)
	if !corrector.RetractViolations() {
		t.Error("nothing was retracted, though the zones a and b exceed maxSkew")
	}
	expect(t, stages, map[string]int{"web:a": 1, "web:b": 1}, 4)
	if len(stages.State.Planned) != 2 {
		t.Errorf("%d nodes are planned, want 2: empty ones are dropped", len(stages.State.Planned))
	}
	corrector.PlaceSingly()
	expect(t, stages, map[string]int{"web:a": 2, "web:b": 2, "web:c": 2}, 0)
	if corrector.RetractViolations() {
		t.Error("a legal plan was retracted")
	}
	expect(t, stages, map[string]int{"web:a": 2, "web:b": 2, "web:c": 2}, 0)
}

// TestSpreadUnderLimit allows four nodes for six pods, and fills two zones first. The corrected plan
// still has four pods, in all three zones.
func TestSpreadUnderLimit(t *testing.T) {
	types := []catalog.InstanceType{stagetest.Type("medium", 4, 16, 0.2, "a", "b", "c")}
	s := stagetest.Snapshot(types, app("web", 6, stagetest.Spread(zone, 1, "web"))...)
	s.NodePools[0].Spec.Limits = api.Limits{corev1.ResourceCPU: resource.MustParse("16")}
	stages := stagetest.Read(s)
	stages.Domain.Divide(stages.Work.Groups)
	corrector := correction.New(stages.State, stages.Domain)
	place(t, stages, func(d *placement.Demand) bool { return d.Domains[zone] != "c" })
	corrector.RetractViolations()
	corrector.PlaceSingly()
	if corrector.RetractViolations() {
		t.Error("the corrected plan was retracted")
	}
	got := placedPods(stages)
	if len(got) != 3 || got["web:a"]+got["web:b"]+got["web:c"] != 4 || waitingPods(stages) != 2 {
		t.Errorf("the placed pods are %v and %d wait, want four in three zones", got, waitingPods(stages))
	}
}

// TestRetractFromExistingNodes checks that existing nodes get their resources back.
func TestRetractFromExistingNodes(t *testing.T) {
	stages, corrector := divided(app("web", 6, stagetest.Spread(zone, 1, "web")),
		stagetest.Node("n", "a", 8), stagetest.Node("m", "b", 8))
	before := stages.State.Existing[0].Free[0]
	for _, d := range stages.State.Demands {
		for _, e := range stages.State.Existing {
			if d.Domains[zone] != "c" {
				stages.State.FillNode(e, d, d.Waiting)
			}
		}
	}
	expect(t, stages, map[string]int{"web:a": 2, "web:b": 2}, 2)
	corrector.RetractViolations()
	expect(t, stages, map[string]int{"web:a": 1, "web:b": 1}, 4)
	e := stages.State.Existing[0]
	if want := before - stages.State.Demands[0].Need[0]; e.Free[0] != want {
		t.Errorf("the node has %d of %s free, want %d", e.Free[0], stages.Work.Axes.Names[0], want)
	}
	corrector.PlaceSingly()
	expect(t, stages, map[string]int{"web:a": 2, "web:b": 2, "web:c": 2}, 0)
}

// TestAffinity places pods without those that they have to be near. All are retracted, and placed
// once the others have a place.
func TestAffinity(t *testing.T) {
	for _, key := range []string{zone, host} {
		t.Run(key, func(t *testing.T) {
			near := func(p *corev1.Pod) {
				stagetest.Near(key, "cache")(p)
				p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("100m")
			}
			stages, corrector := divided(append(app("web", 3, near), app("cache", 1)...))
			place(t, stages, func(d *placement.Demand) bool { return d.Group.Pod().Labels["app"] == "web" })
			if !corrector.RetractViolations() {
				t.Error("nothing was retracted, though no cache has a place")
			}
			expect(t, stages, map[string]int{}, 4)
			corrector.PlaceSingly()
			if corrector.RetractViolations() {
				t.Error("the corrected plan was retracted")
			}
			expect(t, stages, map[string]int{"web:a": 3, "cache:a": 1}, 0)
			if key == host && len(stages.State.Planned) != 1 {
				t.Errorf("%d nodes are planned, want one for all", len(stages.State.Planned))
			}
		})
	}
}

// TestPlaceSinglyLevelsASpread places all pods of a spread singly. Each goes to the emptiest zone,
// though maxSkew would allow two in one.
func TestPlaceSinglyLevelsASpread(t *testing.T) {
	stages, corrector := divided(app("web", 3, stagetest.Spread(zone, 2, "web")))
	corrector.RetractViolations() // It also records that no pod has a place.
	corrector.PlaceSingly()
	expect(t, stages, map[string]int{"web:a": 1, "web:b": 1, "web:c": 1}, 0)
}

// TestPlaceSinglyKeepsMaxSkew leaves pods of a spread without a place. The only node of a zone is
// full, and no new node can be in that zone.
func TestPlaceSinglyKeepsMaxSkew(t *testing.T) {
	full := stagetest.Node("n", "full", 4, app("other", 1)...)
	stages, corrector := divided(app("web", 6, stagetest.Spread(zone, 1, "web")), full)
	place(t, stages, func(*placement.Demand) bool { return true })
	expect(t, stages, map[string]int{"web:a": 1, "web:b": 1, "web:c": 1}, 3)
	corrector.PlaceSingly()
	expect(t, stages, map[string]int{"web:a": 1, "web:b": 1, "web:c": 1}, 3)
}

// TestPlaceSinglyFollowsAffinity places pods near one that has a place already, beside another node
// with room.
func TestPlaceSinglyFollowsAffinity(t *testing.T) {
	for _, key := range []string{zone, host} {
		t.Run(key, func(t *testing.T) {
			near := func(p *corev1.Pod) {
				stagetest.Near(key, "cache")(p)
				p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("100m")
			}
			list := append(app("other", 1, stagetest.InZone("a")), app("cache", 1, stagetest.InZone("c"))...)
			stages, corrector := divided(append(list, app("web", 2, near)...))
			for _, first := range []string{"other", "cache"} {
				place(t, stages, func(d *placement.Demand) bool { return d.Group.Pod().Labels["app"] == first })
			}
			corrector.RetractViolations()
			corrector.PlaceSingly()
			expect(t, stages, map[string]int{"other:a": 1, "cache:c": 1, "web:c": 2}, 0)
		})
	}
}

// TestPlaceSinglySplitsUnits gives no node to a unit of pods that must share one. Its pods are
// placed one after the other then.
func TestPlaceSinglySplitsUnits(t *testing.T) {
	pods := app("web", 3, stagetest.Near(host, "web"))
	for i := range pods {
		pods[i].Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("1")
	}
	stages, corrector := divided(pods)
	d := stages.State.Demands[0]
	if d.PodsPerUnit() != 3 {
		t.Fatalf("a unit has %d pods, want 3", d.PodsPerUnit())
	}
	corrector.RetractViolations() // It also records that no pod has a place.
	corrector.PlaceSingly()
	expect(t, stages, map[string]int{"web:a": 3}, 0)
	if len(stages.State.Planned) != 1 {
		t.Errorf("%d nodes are planned, want one for all", len(stages.State.Planned))
	}
	if len(d.Units) != 0 {
		t.Errorf("the demand has %d units, and its pods have places of their own", len(d.Units))
	}
}

// TestPlaceSinglyPlacesPartOfAUnit has no node for three pods that must share one. Two of them fit
// on a node that is planned already.
func TestPlaceSinglyPlacesPartOfAUnit(t *testing.T) {
	cores := func(amount string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(amount)
		}
	}
	types := []catalog.InstanceType{stagetest.Type("medium", 4, 16, 0.2, "a")}
	list := append(app("db", 1, cores("2")), app("web", 3, cores("1"), stagetest.Near(host, "web"))...)
	s := stagetest.Snapshot(types, list...)
	s.NodePools[0].Spec.Limits = api.Limits{corev1.ResourceCPU: resource.MustParse("4")}
	stages := stagetest.Read(s)
	stages.Domain.Divide(stages.Work.Groups)
	place(t, stages, func(d *placement.Demand) bool { return d.Group.Pod().Labels["app"] == "db" })
	corrector := correction.New(stages.State, stages.Domain)
	corrector.RetractViolations()
	corrector.PlaceSingly()
	expect(t, stages, map[string]int{"db:a": 1, "web:a": 2}, 1)
}

// TestNothingToRetract checks that pods without constraints stay where they are.
func TestNothingToRetract(t *testing.T) {
	stages, corrector := divided(app("web", 2))
	place(t, stages, func(*placement.Demand) bool { return true })
	if corrector.RetractViolations() {
		t.Error("pods without constraints were retracted")
	}
	corrector.PlaceSingly()
	expect(t, stages, map[string]int{"web:a": 2}, 0)
}
