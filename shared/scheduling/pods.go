package scheduling

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresource "k8s.io/component-helpers/resource"

	"github.com/whittle-dev/whittle/shared/api"
)

// PodRequests returns the resources that a pod takes from its node, as kube-scheduler counts them:
// containers, init containers, sidecars, overhead, pod-level resources and a resize in progress,
// and one of the resource "pods". Cpu is in cores, the rest in whole units.
func PodRequests(pod *corev1.Pod) corev1.ResourceList {
	pod = limitedPod(pod)
	if pod.Spec.Resources != nil {
		// The library adds to the pod's own quantities in place, which would change the pod for
		// quantities beyond 64 bits.
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

// DaemonPodRequests returns the PodRequests of a pod made from a DaemonSet's template. Where a
// container has a limit and no request, the API server will set the request to the limit.
func DaemonPodRequests(template *corev1.PodTemplateSpec) corev1.ResourceList {
	pod := &corev1.Pod{Spec: *template.Spec.DeepCopy()}
	SetRequestsFromLimits(&pod.Spec)
	return PodRequests(pod)
}

// SetRequestsFromLimits gives containers with a limit and no request the limit as their request, as
// the API server does. A pod with limits of its own gets its containers' requests, and the limit
// where they have none. It changes the spec in place.
func SetRequestsFromLimits(spec *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			resources := &containers[i].Resources
			resources.Requests = Completed(resources.Requests, resources.Limits)
		}
	}
	of := spec.Resources
	if of == nil || len(of.Limits) == 0 {
		return
	}
	whole := limitedPod(&corev1.Pod{Spec: *spec})
	together := podresource.AggregateContainerRequests(whole, podresource.PodResourcesOptions{})
	maps.DeleteFunc(together, func(name corev1.ResourceName, _ resource.Quantity) bool {
		return name != corev1.ResourceCPU && name != corev1.ResourceMemory
	})
	of.Requests = Completed(Completed(of.Requests, together), of.Limits)
}

// Completed are the amounts, with others where there are none. The map may be the given one.
func Completed(amounts, others corev1.ResourceList) corev1.ResourceList {
	for name, quantity := range others {
		if _, ok := amounts[name]; ok {
			continue
		}
		if amounts == nil {
			amounts = corev1.ResourceList{}
		}
		amounts[name] = quantity
	}
	return amounts
}

// VirtualUIDPrefix begins the UID of a virtual pod, which exists in plans only. No API server gives
// such a UID.
const VirtualUIDPrefix = "virtual-"

// IsVirtual reports whether the pod exists in plans only: a CapacityBuffer keeps room for it.
func IsVirtual(pod *corev1.Pod) bool { return IsVirtualUID(string(pod.UID)) }

// IsVirtualUID reports whether the UID is that of a virtual pod.
func IsVirtualUID(uid string) bool { return strings.HasPrefix(uid, VirtualUIDPrefix) }

// IsProvisionable reports whether a new node could help a pod. The scheduler found no node for it
// (PodScheduled is False with the reason Unschedulable), and it belongs to no DaemonSet and is not
// static. A pod without a UID is in no cluster yet, and counts too. Pods with scheduling gates, or
// of another scheduler, do not have that condition.
func IsProvisionable(pod *corev1.Pod) bool {
	return waits(pod) && (pod.UID == "" || isUnschedulable(pod))
}

// IsUnseen reports whether the default scheduler has not tried the pod yet. Other schedulers may
// hold their pods back on purpose, so their pods never count.
func IsUnseen(pod *corev1.Pod) bool {
	return waits(pod) && pod.UID != "" && pod.Spec.SchedulerName == corev1.DefaultSchedulerName && scheduled(pod) == nil
}

func waits(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.Status.NominatedNodeName == "" && len(pod.Spec.SchedulingGates) == 0 &&
		pod.DeletionTimestamp == nil && !IsTerminal(pod) && !IsOwnedByDaemonSet(pod) && !IsStatic(pod)
}

// IsReschedulable reports whether a pod of a node that is leaving needs a place elsewhere. It is
// active, or it terminates and belongs to a StatefulSet, whose next pod waits for its end. It
// belongs to no DaemonSet and is not static.
func IsReschedulable(pod *corev1.Pod) bool {
	if IsTerminal(pod) || IsOwnedByDaemonSet(pod) || IsStatic(pod) {
		return false
	}
	return pod.DeletionTimestamp == nil || isOwnedBy(pod, "StatefulSet")
}

// IsEvicted reports whether a drain of the pod's node evicts the pod. It leaves the other pods to end with
// the node: pods that have finished, static pods, which the kubelet would start again, and pods that
// tolerate the mark of leaving nodes, which would come back. Their disruption budgets keep no node.
func IsEvicted(pod *corev1.Pod) bool {
	mark := api.DisruptedNoScheduleTaint()
	tolerates := func(toleration corev1.Toleration) bool { return ToleratesTaint(&toleration, &mark) }
	return !IsTerminal(pod) && !IsStatic(pod) && !slices.ContainsFunc(pod.Spec.Tolerations, tolerates)
}

// IsTerminal reports whether a pod has finished, and takes no resources of its node.
func IsTerminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// IsStatic reports whether a pod is the mirror of a static pod, which a kubelet runs from a file.
func IsStatic(pod *corev1.Pod) bool {
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror || isOwnedBy(pod, "Node")
}

// IsOwnedByDaemonSet reports whether the pod's controller is a DaemonSet.
func IsOwnedByDaemonSet(pod *corev1.Pod) bool { return isOwnedBy(pod, "DaemonSet") }

func isOwnedBy(pod *corev1.Pod, kind string) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == kind
}

func isUnschedulable(pod *corev1.Pod) bool {
	condition := scheduled(pod)
	return condition != nil && condition.Status == corev1.ConditionFalse &&
		condition.Reason == corev1.PodReasonUnschedulable
}

// scheduled returns the pod's condition PodScheduled, or nil before the scheduler has tried it.
func scheduled(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodScheduled {
			return condition
		}
	}
	return nil
}
