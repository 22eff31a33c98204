package firstfit_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/consolidation/firstfit"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
	"github.com/whittle-dev/whittle/shared/plan"
)

// node has so many cores for at most ten pods, and pods of so many cores.
func node(name string, cores int64, pods ...int64) plan.Node {
	made := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	made.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(cores, resource.DecimalSI),
		corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods:   resource.MustParse("10"),
	}
	n := plan.Node{Node: made}
	for i, cpu := range pods {
		pod := consolidationtest.Pod(fmt.Sprintf("%s-%d", name, i), cpu*1000, 1<<20, "web")
		pod.Spec.NodeName = name
		n.Pods = append(n.Pods, pod)
	}
	return n
}

func TestEmptyPlacesAllPodsOfANodeOrNone(t *testing.T) {
	cluster := &plan.Snapshot{Nodes: []plan.Node{node("a", 4, 3), node("b", 8, 6), node("c", 4, 1, 1), node("d", 4, 2, 1)}}
	f := state.New(cluster, consolidationtest.Now)
	p := firstfit.New(f, f.Nodes, false)
	if to, fits := p.Empty(2); !fits || !slices.Equal(to, []int{0, 1}) {
		t.Errorf("the pods of c go to %v (%t), want a and b", to, fits)
	}
	// Only one core is left on b, and c is closed.
	if to, fits := p.Empty(3); fits {
		t.Errorf("the pods of d go to %v, and there is no room", to)
	}
	// The failed try took no room.
	one := f.Nodes[3].Pods[1]
	if at, fits := p.Place(one); !fits || at != 1 {
		t.Errorf("a pod of one core goes to %d (%t), want b", at, fits)
	}
}

func TestTaintedAndClosedNodesTakeNoPods(t *testing.T) {
	tainted := node("b", 8)
	tainted.Node.Spec.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
	f := state.New(&plan.Snapshot{Nodes: []plan.Node{node("a", 4, 1), tainted, node("c", 4)}}, consolidationtest.Now)
	p := firstfit.New(f, f.Nodes, false)
	if to, fits := p.Empty(0); !fits || !slices.Equal(to, []int{2}) {
		t.Errorf("the pod goes to %v (%t), want c", to, fits)
	}
	p = firstfit.New(f, f.Nodes, false)
	p.Close(2)
	if to, fits := p.Empty(0); fits {
		t.Errorf("the pod goes to %v, which is tainted or closed", to)
	}
}
