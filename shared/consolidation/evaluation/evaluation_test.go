package evaluation_test

import (
	"testing"

	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/consolidation/eligibility"
	"github.com/whittle-dev/whittle/shared/consolidation/evaluation"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
)

func newFleet(t *testing.T, loads ...consolidationtest.Load) *state.Fleet {
	t.Helper()
	s := consolidationtest.Cluster(t, loads...)
	f := state.New(s, consolidationtest.Now)
	eligibility.Decide(f, s, nil)
	return f
}

func load(name, instanceType string, cpu int64) consolidationtest.Load {
	return consolidationtest.Load{Name: name, InstanceType: instanceType, CPU: []int64{cpu}}
}

func TestStepsOfNodesThatShareNoLaunchAreIndependent(t *testing.T) {
	f := newFleet(t, load("a", "m5.4xlarge", 1700), load("b", "m5.4xlarge", 1700), load("full", "m5.large", 1800))
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
	f := newFleet(t, load("low", "m5.large", 100), load("roomy", "m5.4xlarge", 1000))
	evaluator := evaluation.New(f)
	step := evaluator.Whole(f.Nodes[:1], evaluation.Options{})
	if !step.Refusal.IsZero() || len(step.Launch) != 0 || step.To["default/low-0"].Node != f.Nodes[1] {
		t.Fatalf("step %+v, want the pod on the other node", step)
	}
	held, work := evaluator.Hold(step)
	if held == nil || held.To["default/low-0"].Node != f.Nodes[1] || work <= 0 {
		t.Errorf("the step does not hold: %+v, work %d", held, work)
	}
	closed := map[*state.Node]bool{f.Nodes[1]: true}
	step = evaluator.Whole(f.Nodes[:1], evaluation.Options{Closed: closed})
	if step.To["default/low-0"].Node != nil {
		t.Error("the pod moves to a closed node")
	}
}

func TestAStepThatSavesNothingIsRefused(t *testing.T) {
	f := newFleet(t, load("fits", "m5.large", 1800))
	step := evaluation.New(f).Whole(f.Nodes, evaluation.Options{})
	if step.Refusal.Because != state.Needed {
		t.Errorf("refusal %+v, want Needed", step.Refusal)
	}
}
