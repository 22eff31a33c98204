package workload_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// TestNeedIsWhatEachPodRequests divides requests over containers, init containers and overhead in
// many ways. Pods that request the same in all are one group, and its Need is what Kubernetes
// counts for each of them.
func TestNeedIsWhatEachPodRequests(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	names := []corev1.ResourceName{
		corev1.ResourceCPU,
		corev1.ResourceMemory,
		corev1.ResourceEphemeralStorage,
		"example.com/card",
	}
	container := func() corev1.Container {
		requests := corev1.ResourceList{}
		for _, name := range names[:1+random.IntN(len(names))] {
			requests[name] = resource.MustParse(fmt.Sprint(random.IntN(4)))
			if name == corev1.ResourceCPU {
				requests[name] = resource.MustParse([]string{"0", "250m", "0.0005", "1500m", "2"}[random.IntN(5)])
			}
		}
		return corev1.Container{Resources: corev1.ResourceRequirements{Requests: requests}}
	}
	s := &plan.Snapshot{}
	for i := range 2000 {
		pod := stagetest.Pod(fmt.Sprint("pod-", i), "1", "1")
		pod.Spec.Containers = nil
		for range 1 + random.IntN(3) {
			pod.Spec.Containers = append(pod.Spec.Containers, container())
		}
		if random.IntN(5) == 0 {
			pod.Spec.InitContainers = []corev1.Container{container()}
		}
		if random.IntN(5) == 0 {
			pod.Spec.Overhead = container().Resources.Requests
		}
		s.Pods = append(s.Pods, pod)
	}
	w := workload.Read(s)
	seen := map[string]bool{}
	pods := 0
	for _, g := range w.Groups {
		if text := fmt.Sprint(g.Need); seen[text] {
			t.Errorf("two groups need %s", text)
		} else {
			seen[text] = true
		}
		for _, pod := range g.Pods {
			if want := w.Axes.Requests(scheduling.PodRequests(pod)); !slices.Equal(g.Need, want) {
				t.Fatalf("%s needs %v, want %v", pod.Name, g.Need, want)
			}
			pods++
		}
	}
	if pods != len(s.Pods) || len(w.Groups) == len(s.Pods) {
		t.Errorf("%d pods in %d groups, want %d pods in fewer", pods, len(w.Groups), len(s.Pods))
	}
	if !slices.IsSortedFunc(w.Groups, workload.CompareGroups) {
		t.Error("groups are not sorted")
	}
}
