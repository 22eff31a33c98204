package evaluation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/consolidation/eligibility"
	"github.com/whittle-dev/whittle/shared/consolidation/evaluation"
	"github.com/whittle-dev/whittle/shared/consolidation/fleet"
	"github.com/whittle-dev/whittle/shared/plan"
)

// load is a node of the type with one pod of so many thousandths of a core.
type load struct {
	name, instanceType string
	cpu                int64
}

func newFleet(t *testing.T, loads ...load) *fleet.Fleet {
	t.Helper()
	types := catalog.Resolve(
		catalogtest.Snapshot(t), catalogtest.NodeClass("default"), catalog.Observed{}, catalogtest.Now,
	)
	wanted := []string{"m5.large", "m5.xlarge", "m5.4xlarge"}
	types = slices.DeleteFunc(types, func(t catalog.InstanceType) bool { return !slices.Contains(wanted, t.Name) })
	s := &plan.Snapshot{
		NodePools:     []api.NodePool{consolidationtest.Pool("default", api.CapacityTypeOnDemand)},
		NodeClasses:   []api.EC2NodeClass{*catalogtest.NodeClass("default")},
		InstanceTypes: map[string][]catalog.InstanceType{"default": types},
	}
	for _, l := range loads {
		typ := &types[slices.IndexFunc(types, func(t catalog.InstanceType) bool { return t.Name == l.instanceType })]
		onDemand := func(o catalog.Offering) bool { return o.CapacityType == api.CapacityTypeOnDemand }
		offering := &typ.Offerings[slices.IndexFunc(typ.Offerings, onDemand)]
		node := consolidationtest.Node(l.name, "default", typ, offering, consolidationtest.Now.Add(-24*time.Hour))
		pod := consolidationtest.Pod(l.name+"-pod", l.cpu, 1<<30, "web")
		pod.Spec.NodeName = l.name
		node.Pods = append(node.Pods, pod)
		s.Nodes = append(s.Nodes, node)
	}
	f := fleet.New(s, consolidationtest.Now)
	eligibility.Decide(f, s, nil)
	return f
}

func TestStepsOfNodesThatShareNoLaunchAreIndependent(t *testing.T) {
	f := newFleet(t, load{"a", "m5.4xlarge", 1700}, load{"b", "m5.4xlarge", 1700}, load{"full", "m5.large", 1800})
	steps := evaluation.New(f).Evaluate(f.Nodes[:2], f.Nodes[2:], evaluation.Options{Launch: true})
	deleted, launched := 0, 0
	for _, step := range steps {
		if !step.Refusal.IsZero() || step.Saved <= 0 {
			t.Errorf("refused: %+v", step.Refusal)
		}
		deleted, launched = deleted+len(step.Delete), launched+len(step.Launch)
		if len(step.To) != step.PodsMoved() {
			t.Errorf("%d places for %d pods", len(step.To), step.PodsMoved())
		}
	}
	if deleted != 2 || launched < len(steps) {
		t.Errorf("%d steps delete %d nodes and launch %d", len(steps), deleted, launched)
	}
}

func TestWholeLaunchesNothingWhereRoomExists(t *testing.T) {
	f := newFleet(t, load{"low", "m5.large", 100}, load{"roomy", "m5.4xlarge", 1000})
	evaluator := evaluation.New(f)
	step := evaluator.Whole(f.Nodes[:1], evaluation.Options{})
	if !step.Refusal.IsZero() || len(step.Launch) != 0 || step.To["default/low-pod"].Node != f.Nodes[1] {
		t.Fatalf("step %+v, want the pod on the other node", step)
	}
	held, work := evaluator.Hold(step)
	if held == nil || held.To["default/low-pod"].Node != f.Nodes[1] || work <= 0 {
		t.Errorf("the step does not hold: %+v, work %d", held, work)
	}
	closed := map[*fleet.Node]bool{f.Nodes[1]: true}
	step = evaluator.Whole(f.Nodes[:1], evaluation.Options{Closed: closed})
	if step.To["default/low-pod"].Node != nil {
		t.Error("the pod moves to a closed node")
	}
}

func TestAStepThatSavesNothingIsRefused(t *testing.T) {
	f := newFleet(t, load{"fits", "m5.large", 1800})
	step := evaluation.New(f).Whole(f.Nodes, evaluation.Options{})
	if step.Refusal.Because != fleet.Needed {
		t.Errorf("refusal %+v, want Needed", step.Refusal)
	}
}
