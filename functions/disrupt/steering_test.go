package disrupt

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// wishes sets the annotation of the pool. Nil removes it.
func wishes(t *testing.T, value any) {
	t.Helper()
	server.Patch(t, api.NodePoolsPath+"/default", map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{api.SteerPodsAnnotationKey: value},
	}})
}

// candidates are the nodes with the soft taint.
func candidates(t *testing.T, names ...string) []string {
	t.Helper()
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !disruption.IsCandidate(functiontest.Get[corev1.Node](t, server, functiontest.NodesPath+"/node-"+name))
	})
}

// steered is what costed has, in a pool that asks for the taint. The node "large" has a taint of its own.
func steered(t *testing.T) *harness {
	t.Helper()
	l := costed(t)
	l.podCosts = nil
	wishes(t, "true")
	server.Patch(t, functiontest.NodesPath+"/node-large", map[string]any{"spec": map[string]any{
		"taints": []corev1.Taint{{Key: "own", Effect: corev1.TaintEffectNoSchedule}},
	}})
	return l
}

// TestTheNodesThatGoNextGetASoftTaint holds that a pass of each minute writes it, and removes it where the pool does
// not ask any more.
func TestTheNodesThatGoNextGetASoftTaint(t *testing.T) {
	l := steered(t)
	all := []string{"small", "large", "ending", "mine"}
	l.ahead += 30 * time.Second
	l.mustTick(t)
	if got := candidates(t, all...); len(got) > 0 {
		t.Errorf("outside the window %q have the taint", got)
	}
	l.toReport()
	l.mustTick(t)
	if got := candidates(t, all...); !slices.Equal(got, []string{"large"}) {
		t.Errorf("%q have the taint, want large", got)
	}
	large := functiontest.Get[corev1.Node](t, server, functiontest.NodesPath+"/node-large")
	if len(large.Spec.Taints) != 2 || large.Spec.Taints[0].Key != "own" {
		t.Errorf("large has the taints %v", large.Spec.Taints)
	}
	l.toReport()
	l.mustTick(t)
	again := functiontest.Get[corev1.Node](t, server, functiontest.NodesPath+"/node-large")
	if !slices.Equal(again.Spec.Taints, large.Spec.Taints) {
		t.Errorf("a minute later: %v", again.Spec.Taints)
	}
	wishes(t, nil)
	l.toReport()
	l.mustTick(t)
	if got := candidates(t, all...); len(got) > 0 {
		t.Errorf("%q have the taint, and the pool does not ask for it", got)
	}
}

// refusing takes no patch of a node.
type refusing struct{ edge }

func (r refusing) PatchNode(_ context.Context, name string, _ map[string]any) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, name, nil)
}

// TestASoftTaintThatIsRefusedFailsNoPass holds that the next minute writes it.
func TestASoftTaintThatIsRefusedFailsNoPass(t *testing.T) {
	l := steered(t)
	honest := l.connect
	l.connect = func(ctx context.Context) (kubernetes, error) {
		client, err := honest(ctx)
		return refusing{client.(edge)}, err
	}
	l.mustTick(t)
	l.connect = honest
	l.toReport()
	l.mustTick(t)
	if got := candidates(t, "large", "small"); !slices.Equal(got, []string{"large"}) {
		t.Errorf("%q have the taint, want large", got)
	}
}

// TestASoftTaintStartsNoSearch holds that consolidation rests although nodes are steered.
func TestASoftTaintStartsNoSearch(t *testing.T) {
	with, without := corev1.Node{}, corev1.Node{}
	without.Spec.Taints = []corev1.Taint{{Key: "own"}}
	with.Spec.Taints = append(slices.Clone(without.Spec.Taints), api.CandidateTaint())
	of := func(node corev1.Node) uint64 { return fingerprint(&snapshot.Objects{Nodes: []corev1.Node{node}}) }
	if of(with) != of(without) {
		t.Error("the fleet counts as changed")
	}
}
