package binding

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Place is a node as it was read, with all that takes its room.
type Place struct {
	Node *corev1.Node
	// Pods are those on the node, of DaemonSets too.
	Pods []*corev1.Pod
	// DaemonSets are all of the cluster. Those that belong on the node keep their room.
	DaemonSets []appsv1.DaemonSet
	// Volumes are the PersistentVolumes of claims that are bound, by namespace/claim.
	Volumes map[string]string
	// Neighbours are what constraints of spread and affinity count. Without them, pods with a required one stay
	// with the scheduler.
	Neighbours *Neighbours
}

// Left is a pod that stays with the scheduler.
type Left struct {
	Pod    *corev1.Pod
	Reason string
}

// Choose returns which of the pods may be bound to the place, in their order. It tells why others may not.
func Choose(place Place, pods []*corev1.Pod) (chosen []*corev1.Pod, left []Left) {
	r := newRoom(place)
	for _, pod := range pods {
		reason := Unfit(pod)
		if reason == "" {
			reason = place.refuses(pod)
		}
		if reason == "" {
			reason = place.Neighbours.refuses(pod, place.Node)
		}
		if reason == "" {
			reason = r.take(pod)
		}
		if reason != "" {
			left = append(left, Left{Pod: pod, Reason: reason})
			continue
		}
		chosen = append(chosen, pod)
	}
	return chosen, left
}

// Unfit tells why the pod is never bound but by its scheduler. It is empty for a pod that may be.
func Unfit(pod *corev1.Pod) string {
	spec := &pod.Spec
	switch {
	case !scheduling.IsProvisionable(pod) && !scheduling.IsUnseen(pod):
		return "it does not wait for a node, or its scheduler has plans for it"
	case pod.UID == "" || pod.ResourceVersion == "":
		return "it is not in the cluster"
	case spec.SchedulerName != "" && spec.SchedulerName != corev1.DefaultSchedulerName:
		return "another scheduler places it: " + spec.SchedulerName
	case spec.SchedulingGroup != nil:
		return "its scheduler places its group as a whole"
	case len(spec.ResourceClaims) > 0:
		return "its resource claims are allocated by the scheduler"
	case slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.CSI != nil }):
		return "the scheduler counts its inline volumes"
	}
	return ""
}

// refuses tells why the node cannot take the pod, whatever else is there.
func (p Place) refuses(pod *corev1.Pod) string {
	node := p.Node
	if node.DeletionTimestamp != nil || node.Spec.Unschedulable {
		return "the node takes no pods"
	}
	if refused := Refused(p.Pods); refused != nil {
		return fmt.Sprintf("the kubelet refused pod %s/%s: %s", refused.Namespace, refused.Name, refused.Status.Reason)
	}
	if isAlone(pod) && !disruption.IsReady(node) {
		return "nobody makes it again if the kubelet refuses it, and the node is not Ready"
	}
	for i := range node.Spec.Taints {
		if taint := &node.Spec.Taints[i]; hinders(taint, pod.Spec.Tolerations) {
			return "it does not tolerate the taint " + taint.ToString()
		}
	}
	if matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !matches {
		return "its node selector or affinity does not match the node"
	}
	for _, claim := range ClaimNames(pod) {
		if p.Volumes[pod.Namespace+"/"+claim] == "" {
			return "its volume is not bound: " + claim
		}
	}
	return ""
}

// hinders reports whether the taint keeps a pod with the tolerations from being bound. A kubelet refuses a pod
// that does not tolerate a NoExecute taint. Taints that go while a node starts keep the scheduler's pods away, and
// that is the moment in which Whittle binds.
func hinders(taint *corev1.Taint, tolerations []corev1.Toleration) bool {
	if taint.Effect == corev1.TaintEffectNoSchedule {
		switch taint.Key {
		case api.UnregisteredTaintKey, corev1.TaintNodeNotReady:
			return false
		}
	}
	return !scheduling.ToleratesAll([]corev1.Taint{*taint}, tolerations)
}

// TakesPods reports whether the node has come far enough for the pods. The cloud controller manager has given it
// its addresses. It is Ready for a pod that nobody makes again. The scheduler waits for both, too.
func TakesPods(node *corev1.Node, pods []*corev1.Pod) bool {
	uninitialized := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == api.ExternalCloudProviderTaintKey
	})
	return !uninitialized && (disruption.IsReady(node) || !slices.ContainsFunc(pods, isAlone))
}

// isAlone reports whether nobody makes the pod again once it has ended.
func isAlone(pod *corev1.Pod) bool { return metav1.GetControllerOf(pod) == nil }

// ClaimNames are the names of the PersistentVolumeClaims that the pod uses.
func ClaimNames(pod *corev1.Pod) []string {
	var names []string
	for i := range pod.Spec.Volumes {
		switch volume := &pod.Spec.Volumes[i]; {
		case volume.PersistentVolumeClaim != nil:
			names = append(names, volume.PersistentVolumeClaim.ClaimName)
		case volume.Ephemeral != nil:
			names = append(names, pod.Name+"-"+volume.Name)
		}
	}
	return names
}

// Refused returns a pod that the node's kubelet did not admit, or nil.
func Refused(pods []*corev1.Pod) *corev1.Pod {
	for _, pod := range pods {
		if IsRefused(pod) {
			return pod
		}
	}
	return nil
}

// IsRefused reports whether a kubelet did not admit the pod. The reasons are those of
// k8s.io/kubernetes/pkg/kubelet/lifecycle and its neighbours.
func IsRefused(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodFailed || pod.Spec.NodeName == "" {
		return false
	}
	switch reason := pod.Status.Reason; reason {
	case "TaintToleration", "NodeAffinity", "NodePorts", "NodeName", "UnexpectedAdmissionError", "TopologyAffinityError",
		"PodOSSelectorNodeLabelDoesNotMatch", "PodOSNotSupported", "PodLevelResourcesNotSupported":
		return true
	default:
		return strings.HasPrefix(reason, "OutOf") // of cpu, memory, pods or another resource
	}
}
