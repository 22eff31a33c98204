package scheduling

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// runningPods are n pods as a busy cluster has them: two containers, and statuses that say what
// they have got.
func runningPods(n int) []corev1.Pod {
	pods := make([]corev1.Pod, n)
	for i := range pods {
		for c := range 2 {
			requests := corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse(fmt.Sprintf("%dm", 100+i%7)),
				corev1.ResourceMemory: resource.MustParse(fmt.Sprintf("%dMi", 64+i%13)),
			}
			name := fmt.Sprint("c", c)
			pods[i].Spec.Containers = append(
				pods[i].Spec.Containers,
				corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: requests}},
			)
			pods[i].Status.ContainerStatuses = append(pods[i].Status.ContainerStatuses, corev1.ContainerStatus{
				Name: name, Resources: &corev1.ResourceRequirements{Requests: requests.DeepCopy()},
				AllocatedResources: requests.DeepCopy(),
			})
		}
	}
	return pods
}

func TestEachRequestedAmountAllocatesNothing(t *testing.T) {
	pods := runningPods(10)
	var sum int64
	if n := testing.AllocsPerRun(100, func() {
		for i := range pods {
			EachRequestedAmount(&pods[i], func(_ corev1.ResourceName, amount int64) { sum = AddAmounts(sum, amount) })
		}
	}); n != 0 {
		t.Errorf("%g allocations for ten ordinary pods", n)
	}
}

func BenchmarkEachRequestedAmount(b *testing.B) {
	pods := runningPods(1000)
	b.ReportAllocs()
	for b.Loop() {
		var cpu, memory int64
		for i := range pods {
			EachRequestedAmount(&pods[i], func(name corev1.ResourceName, amount int64) {
				switch name {
				case corev1.ResourceCPU:
					cpu += amount
				case corev1.ResourceMemory:
					memory += amount
				}
			})
		}
	}
}

func BenchmarkEachRequest(b *testing.B) {
	pods := runningPods(1000)
	b.ReportAllocs()
	for b.Loop() {
		var cpu, memory int64
		for i := range pods {
			EachRequest(&pods[i], func(name corev1.ResourceName, quantity *resource.Quantity) {
				switch name {
				case corev1.ResourceCPU:
					cpu += Amount(name, quantity)
				case corev1.ResourceMemory:
					memory += Amount(name, quantity)
				}
			})
		}
	}
}

func BenchmarkPodRequests(b *testing.B) {
	pods := runningPods(1000)
	b.ReportAllocs()
	for b.Loop() {
		for i := range pods {
			PodRequests(&pods[i])
		}
	}
}
