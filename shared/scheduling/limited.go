package scheduling

import (
	"maps"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The API server takes quantities such as 1e1000000. Each comparison or sum of one makes a number of a
// million digits, which takes a good part of a second, so that a few pods stop a plan. None is
// meaningful beyond astronomic.
const astronomic = 1e100

// isAstronomic reports whether a quantity is beyond any amount of anything, on either side of zero. It
// takes no time on others.
func isAstronomic(quantity *resource.Quantity) bool {
	if _, small := quantity.AsInt64(); small {
		return false
	}
	return math.Abs(quantity.AsApproximateFloat64()) > astronomic
}

// limited is the list with astronomic for what is beyond. It is the list itself where nothing is.
func limited(list corev1.ResourceList) corev1.ResourceList {
	made, copied := list, false
	for name, quantity := range list {
		if !isAstronomic(&quantity) {
			continue
		}
		if !copied {
			made, copied = maps.Clone(list), true
		}
		text := "1e100"
		if quantity.Sign() < 0 {
			text = "-1e100"
		}
		made[name] = resource.MustParse(text)
	}
	return made
}

// limitedPod is the pod with amounts that can be added and compared. It is the pod itself where all can.
func limitedPod(pod *corev1.Pod) *corev1.Pod {
	lists := func(yield func(*corev1.ResourceList)) {
		each := func(r *corev1.ResourceRequirements) {
			if r != nil {
				yield(&r.Requests)
				yield(&r.Limits)
			}
		}
		yield(&pod.Spec.Overhead)
		each(pod.Spec.Resources)
		for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range containers {
				each(&containers[i].Resources)
			}
		}
		yield(&pod.Status.AllocatedResources)
		each(pod.Status.Resources)
		for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
			for i := range statuses {
				yield(&statuses[i].AllocatedResources)
				each(statuses[i].Resources)
			}
		}
	}
	beyond := false
	lists(func(list *corev1.ResourceList) {
		for _, quantity := range *list {
			beyond = beyond || isAstronomic(&quantity)
		}
	})
	if !beyond {
		return pod
	}
	pod = pod.DeepCopy()
	lists(func(list *corev1.ResourceList) { *list = limited(*list) })
	return pod
}
