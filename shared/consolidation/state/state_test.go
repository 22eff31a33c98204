package state_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
	"github.com/whittle-dev/whittle/shared/plan"
)

// cluster has nodes a, b and c of four cores, with one, two and three pods of a core.
func cluster() *plan.Snapshot {
	s := &plan.Snapshot{NodePools: []api.NodePool{consolidationtest.Pool("default", api.CapacityTypeOnDemand)}}
	for i, name := range []string{"a", "b", "c"} {
		labels := map[string]string{api.NodePoolLabelKey: "default"}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		node.Status.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
			corev1.ResourcePods: resource.MustParse("10"),
		}
		n := plan.Node{Node: node, NodeClaim: &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}}
		for j := range i + 1 {
			n.Pods = append(n.Pods, consolidationtest.Pod(fmt.Sprintf("%s-%d", name, j), 1000, 1<<20, "web"))
		}
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

// moveAll is the change that deletes the node and moves its pods to the other.
func moveAll(from, to *state.Node) *state.Change {
	c := &state.Change{Delete: []*state.Node{from}, To: map[string]state.Destination{}}
	for _, pod := range from.Pods {
		c.To[pod.Ref.String()] = state.Destination{Node: to}
	}
	return c
}

func TestApplyMovesPodsAndResetTakesThemBack(t *testing.T) {
	f := state.New(cluster(), consolidationtest.Now)
	a, b, c := f.Nodes[0], f.Nodes[1], f.Nodes[2]
	free := f.FreeOf(c)
	f.Apply(moveAll(a, c))
	if !a.Removed || len(a.Pods) != 0 || len(c.Pods) != 4 || len(f.Remaining(nil)) != 2 {
		t.Fatalf("a has %d pods, c has %d, %d nodes remain", len(a.Pods), len(c.Pods), len(f.Remaining(nil)))
	}
	if f.FreeOf(c).Fits(c.Pods[0].Requests) {
		t.Error("c has room although it is full")
	}
	// The pod that came from a is evicted once, wherever it goes.
	if c.Disturbance() != 3 || b.Disturbance() != 2 {
		t.Errorf("the disturbance of c is %g, of b %g", c.Disturbance(), b.Disturbance())
	}
	f.Reset()
	if a.Removed || len(a.Pods) != 1 || len(c.Pods) != 3 || len(f.Moves()) != 0 {
		t.Errorf("after the reset a has %d pods, c has %d, there are %d moves", len(a.Pods), len(c.Pods), len(f.Moves()))
	}
	if !f.FreeOf(c).AtLeast(free) {
		t.Error("c does not have its room back")
	}
}

func TestStepsThatTouchTheSamePodsAreOneMove(t *testing.T) {
	f := state.New(cluster(), consolidationtest.Now)
	a, b, c := f.Nodes[0], f.Nodes[1], f.Nodes[2]
	f.Apply(moveAll(a, b))
	second := moveAll(b, c)
	if deletes := second.Deletes(); deletes["default"] != 2 {
		t.Errorf("with the first step the move deletes %v nodes, want 2", deletes)
	}
	f.Apply(second)
	moves := f.Moves()
	if len(moves) != 1 || len(moves[0].Nodes) != 2 || len(moves[0].Pods) != 3 {
		t.Fatalf("moves %+v, want one of two nodes and three pods", moves)
	}
	for _, placement := range moves[0].Pods {
		if placement.Node != c {
			t.Errorf("pod %s is on %s, want c", placement.Pod.Ref, placement.Node.Name)
		}
	}
}

func TestAFleetReadsItsNodes(t *testing.T) {
	s := cluster()
	s.Nodes[1].NodeClaim.DeletionTimestamp = &metav1.Time{Time: consolidationtest.Now}
	s.NodePools[0].Annotations = map[string]string{"whittle.dev/consolidation-settle-time": "soon"}
	f := state.New(s, consolidationtest.Now)
	if !f.Nodes[1].Leaving || len(f.Remaining(nil)) != 2 {
		t.Error("a node with a deleted claim takes pods")
	}
	if pools := f.Pools(); len(pools) != 1 || pools[0].Problem == "" {
		t.Errorf("the pool's setting can be read: %+v", pools)
	}
	for _, n := range f.Nodes {
		if n.Candidate {
			t.Errorf("%s is a candidate before eligibility was decided", n.Name)
		}
	}
}

// TestAGangIsDisturbedAsAWhole checks that the pods of a gang that stay count once in the disturbance of
// the nodes and of the move, and not at all where all of them are evicted.
func TestAGangIsDisturbedAsAWhole(t *testing.T) {
	s := cluster()
	for i := range s.Nodes {
		s.Nodes[i].Pods[0].Labels = map[string]string{api.PodGroupLabelKey: "train"}
	}
	s.Nodes[2].Pods[1].Labels = map[string]string{api.PodGroupLabelKey: "other"}
	f := state.New(s, consolidationtest.Now)
	a, b, c := f.Nodes[0], f.Nodes[1], f.Nodes[2]
	for _, test := range []struct {
		nodes []*state.Node
		want  []float64
	}{
		{[]*state.Node{a}, []float64{3}},
		{[]*state.Node{b}, []float64{4}},
		{[]*state.Node{b, a}, []float64{3, 1}},
		{f.Nodes, []float64{1, 2, 3}},
	} {
		if got := state.Disturbances(test.nodes); fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%d nodes from %s disturb %v, want %v", len(test.nodes), test.nodes[0].Name, got, test.want)
		}
	}
	f.Apply(moveAll(a, c))
	if moves := f.Moves(); len(moves) != 1 || moves[0].Disturbance() != 3 {
		t.Errorf("moves %+v, want one that disturbs the three pods of the gang", moves)
	}
}
