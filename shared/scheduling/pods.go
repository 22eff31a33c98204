package scheduling

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresource "k8s.io/component-helpers/resource"
)

// PodRequests is what a pod takes of a node: what Kubernetes' scheduler counts (containers, init containers, sidecars, overhead, pod-level resources,
// a resize in progress) and one of the resource "pods".
func PodRequests(pod *corev1.Pod) corev1.ResourceList {
	if pod.Spec.Resources != nil {
		// What is added to the pod's own requests is added in place, which for quantities beyond 64 bits would change the pod.
		alone := *pod
		alone.Spec.Resources = pod.Spec.Resources.DeepCopy()
		pod = &alone
	}
	requests := podresource.PodRequests(pod, podresource.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	})
	if requests == nil {
		requests = corev1.ResourceList{}
	}
	requests[corev1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	return requests
}

// DaemonPodRequests is what a pod made from a DaemonSet's template will take: as PodRequests, where a container names a limit and no request the API
// server will set the request to the limit.
func DaemonPodRequests(template *corev1.PodTemplateSpec) corev1.ResourceList {
	pod := &corev1.Pod{Spec: *template.Spec.DeepCopy()}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for name, limit := range containers[i].Resources.Limits {
				if _, ok := containers[i].Resources.Requests[name]; ok {
					continue
				}
				if containers[i].Resources.Requests == nil {
					containers[i].Resources.Requests = corev1.ResourceList{}
				}
				containers[i].Resources.Requests[name] = limit
			}
		}
	}
	return PodRequests(pod)
}

// IsProvisionable reports whether a pod waits for a node that could be made for it: the scheduler found none (PodScheduled is false with reason
// Unschedulable, which a pod with scheduling gates or of another scheduler does not have), and it is neither of a DaemonSet nor static. A pod without a uid is
// in no cluster yet: no scheduler has had a say.
func IsProvisionable(pod *corev1.Pod) bool {
	return waits(pod) && (pod.UID == "" || isUnschedulable(pod))
}

// IsUnseen reports whether a pod waits for the default scheduler's first look at it. Another scheduler may keep its pods waiting on purpose.
func IsUnseen(pod *corev1.Pod) bool {
	return waits(pod) && pod.UID != "" && pod.Spec.SchedulerName == corev1.DefaultSchedulerName && scheduled(pod) == nil
}

func waits(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.Status.NominatedNodeName == "" && len(pod.Spec.SchedulingGates) == 0 &&
		pod.DeletionTimestamp == nil && !IsTerminal(pod) && !IsOwnedByDaemonSet(pod) && !IsStatic(pod)
}

// IsReschedulable reports whether a pod of a node that goes away will come back and need a place elsewhere: it is active, or terminating and of a
// StatefulSet (whose successor has to wait for its end), and neither of a DaemonSet nor static.
func IsReschedulable(pod *corev1.Pod) bool {
	if IsTerminal(pod) || IsOwnedByDaemonSet(pod) || IsStatic(pod) {
		return false
	}
	return pod.DeletionTimestamp == nil || isOwnedBy(pod, "StatefulSet")
}

// IsTerminal reports whether a pod has run to its end and takes nothing of its node any more.
func IsTerminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// IsStatic reports whether a pod is the mirror of one that a kubelet runs from a file.
func IsStatic(pod *corev1.Pod) bool {
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror || isOwnedBy(pod, "Node")
}

// IsOwnedByDaemonSet reports whether a DaemonSet made the pod.
func IsOwnedByDaemonSet(pod *corev1.Pod) bool { return isOwnedBy(pod, "DaemonSet") }

func isOwnedBy(pod *corev1.Pod, kind string) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == kind
}

func isUnschedulable(pod *corev1.Pod) bool {
	condition := scheduled(pod)
	return condition != nil && condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable
}

// scheduled is the scheduler's word on the pod, nil while it has had none.
func scheduled(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodScheduled {
			return condition
		}
	}
	return nil
}
