package consolidation_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/planner"
)

// Somebody with root on one of five full nodes has its kubelet report a thousand processors. The pods of
// the others, and with them their Secrets, must not move there.
func TestANodeThatClaimsToBeLargeGetsNoPods(t *testing.T) {
	s := cluster(someTypes(t, 8), api.CapacityTypeOnDemand)
	for _, name := range []string{"a", "b", "c", "d", "liar"} {
		n := addNode(t, s, name, "m5.xlarge", api.CapacityTypeOnDemand, 1200, 1200, 1200)
		if name != "liar" {
			continue
		}
		for _, list := range []corev1.ResourceList{n.Node.Status.Allocatable, n.Node.Status.Capacity} {
			list[corev1.ResourceCPU], list[corev1.ResourceMemory] = resource.MustParse("1000"), resource.MustParse("4000Gi")
			list[corev1.ResourcePods] = resource.MustParse("5000")
		}
	}
	p := solve(s)
	for _, move := range slices.Concat(p.Moves, p.Waiting) {
		for _, place := range move.Places {
			if place.NodeName == "liar" {
				t.Errorf("%s moves to the liar", place.Pod)
			}
		}
	}
}

func TestANodeDoesNotDecideAboutTheLimitsOfItsPool(t *testing.T) {
	for _, says := range []string{"4", "1000000", "0"} {
		s := cluster(someTypes(t, 8), api.CapacityTypeOnDemand)
		s.NodePools[0].Spec.Limits = api.Limits{corev1.ResourceCPU: resource.MustParse("10")}
		n := addNode(t, s, "liar", "m5.xlarge", api.CapacityTypeOnDemand, 1200, 1200, 1200)
		n.Node.Status.Capacity[corev1.ResourceCPU] = resource.MustParse(says)
		for _, name := range []string{"p1", "p2", "p3", "p4", "p5"} {
			s.Pods = append(s.Pods, consolidationtest.Pod(name, 1500, 1<<30, "web"))
		}
		p := planner.Solve(s)
		cpu := resource.Quantity{}
		for i := range p.NodeClaims {
			for _, typ := range s.InstanceTypes["default"] {
				if typ.Name == p.NodeClaims[i].InstanceTypes[0] {
					cpu.Add(*typ.Capacity.Cpu())
				}
			}
		}
		if cpu.IsZero() || cpu.CmpInt64(6) > 0 {
			t.Errorf("a node of 4 processors that says %s lets its pool launch %s of the 6 that are left", says, cpu.String())
		}
	}
}
