package planner_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/planner"
)

// TestPodsWithOnePlaceGetIt lets three pods, equal ones or those of a gang, go to a pool of three nodes alone.
// Two others may go to a dearer pool as well. A plan for all five exists.
func TestPodsWithOnePlaceGetIt(t *testing.T) {
	for _, ofGang := range []bool{false, true} {
		t.Run(fmt.Sprint("of a gang: ", ofGang), func(t *testing.T) {
			few := newPool("few", limited(api.ResourceNodes, "3"),
				require(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "m6i.2xlarge"))
			s := realSnapshot(t, few, newPool("dear",
				require(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "r6i.2xlarge")))
			for i := range 5 {
				pod := newPod(fmt.Sprint("pod-", i), "6", "20Gi")
				if i >= 2 {
					pod.Spec.NodeSelector = map[string]string{api.NodePoolLabelKey: "few"}
				}
				if i >= 2 && ofGang { // its pods differ
					pod.Labels = map[string]string{api.PodGroupLabelKey: "training"}
					pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse(fmt.Sprint(18+i, "Gi"))
				}
				s.Pods = append(s.Pods, pod)
			}
			p := planner.Solve(s)
			pools := map[string]int{}
			for i := range p.NodeClaims {
				pools[p.NodeClaims[i].NodeClaim.Labels[api.NodePoolLabelKey]] += len(p.NodeClaims[i].Pods)
			}
			if len(p.Unplaced) > 0 || pools["few"] != 3 || pools["dear"] != 2 {
				t.Errorf("pods of new nodes by pool: %v, without a place %+v", pools, p.Unplaced)
			}
		})
	}
}

// TestScarcityTakesNoNodeFromAnImportantPod: the pods that may go elsewhere have a higher priority, and one
// of them needs the pool with few nodes.
func TestScarcityTakesNoNodeFromAnImportantPod(t *testing.T) {
	high := int32(1000)
	few := newPool("few", limited(api.ResourceNodes, "1"),
		require(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "m6i.2xlarge"))
	s := realSnapshot(t, few)
	for i := range 2 {
		pod := newPod(fmt.Sprint("pod-", i), "6", "20Gi")
		if i == 0 {
			pod.Spec.Priority = &high
		} else {
			pod.Spec.NodeSelector = map[string]string{corev1.LabelInstanceTypeStable: "m6i.2xlarge"}
		}
		s.Pods = append(s.Pods, pod)
	}
	p := planner.Solve(s)
	if len(p.Unplaced) != 1 || p.Unplaced[0].Pod.Name != "pod-1" {
		t.Errorf("without a place %+v, want the pod of the lower priority", p.Unplaced)
	}
}
