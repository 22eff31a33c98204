package binding

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// room is what a node has left. Amounts are in the units of scheduling.Amount.
type room struct {
	left  map[corev1.ResourceName]int64
	ports map[port][]string // addresses by port
}

// port is a port of the host. Ports conflict where their addresses are equal, or one is any address.
type port struct {
	protocol corev1.Protocol
	number   int32
}

// newRoom is what the node reports, without its pods and those that DaemonSets will bring.
func newRoom(place Place) *room {
	r := &room{left: map[corev1.ResourceName]int64{}, ports: map[port][]string{}}
	for name, quantity := range place.Node.Status.Allocatable {
		r.left[name] = scheduling.Amount(name, &quantity)
	}
	for _, pod := range place.Pods {
		if !scheduling.IsTerminal(pod) {
			r.subtract(pod)
		}
	}
	for i := range place.DaemonSets {
		if set := &place.DaemonSets[i]; belongs(set, place.Node) && !hasPod(set, place.Pods) {
			pod := &corev1.Pod{ObjectMeta: set.Spec.Template.ObjectMeta, Spec: *set.Spec.Template.Spec.DeepCopy()}
			scheduling.SetRequestsFromLimits(&pod.Spec)
			r.subtract(pod)
		}
	}
	return r
}

// take takes the pod's room. Without enough it takes nothing, and tells what lacks.
func (r *room) take(pod *corev1.Pod) string {
	for name, wanted := range amounts(pod) {
		switch left, known := r.left[name]; {
		case wanted <= 0:
		case !known:
			return fmt.Sprintf("the node does not report %s yet", name)
		case left < wanted:
			return fmt.Sprintf("the node has too little %s left beside its other pods and its DaemonSets", name)
		}
	}
	if reason := r.conflict(pod); reason != "" {
		return reason
	}
	r.subtract(pod)
	return ""
}

func (r *room) subtract(pod *corev1.Pod) {
	for name, amount := range amounts(pod) {
		if left, known := r.left[name]; known {
			r.left[name] = left - amount
		}
	}
	eachPort(pod, func(p port, address string) { r.ports[p] = append(r.ports[p], address) })
}

// amounts are the pod's requests.
func amounts(pod *corev1.Pod) map[corev1.ResourceName]int64 {
	sum := map[corev1.ResourceName]int64{}
	scheduling.EachRequestedAmount(pod, func(name corev1.ResourceName, amount int64) {
		sum[name] = scheduling.AddAmounts(sum[name], amount)
	})
	return sum
}

// conflict tells which of the pod's host ports is in use.
func (r *room) conflict(pod *corev1.Pod) (reason string) {
	eachPort(pod, func(p port, address string) {
		for _, used := range r.ports[p] {
			if used == address || used == anyAddress || address == anyAddress {
				reason = fmt.Sprintf("host port %d is in use", p.number)
			}
		}
	})
	return reason
}

const anyAddress = "0.0.0.0"

// eachPort calls yield for each host port of the pod, as the scheduler reads them.
func eachPort(pod *corev1.Pod, yield func(port, string)) {
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for _, p := range containers[i].Ports {
				number := p.HostPort
				if pod.Spec.HostNetwork && number == 0 {
					number = p.ContainerPort
				}
				if number <= 0 {
					continue
				}
				protocol, address := p.Protocol, p.HostIP
				if protocol == "" {
					protocol = corev1.ProtocolTCP
				}
				if address == "" {
					address = anyAddress
				}
				yield(port{protocol, number}, address)
			}
		}
	}
}

// belongs reports whether the node will get a pod of the DaemonSet once it has started.
func belongs(set *appsv1.DaemonSet, node *corev1.Node) bool {
	spec := &set.Spec.Template.Spec
	if set.DeletionTimestamp != nil || spec.NodeName != "" && spec.NodeName != node.Name {
		return false
	}
	started := node.DeepCopy()
	if started.Labels == nil {
		started.Labels = map[string]string{}
	}
	started.Labels[api.NodeRegisteredLabelKey], started.Labels[api.NodeInitializedLabelKey] = "true", "true"
	matches, err := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: *spec}).Match(started)
	if err != nil || !matches {
		return false
	}
	tolerations := append(scheduling.DaemonSetTolerations(), spec.Tolerations...)
	for _, taint := range node.Spec.Taints {
		if !api.IsEphemeralTaint(taint) && !scheduling.ToleratesAll([]corev1.Taint{taint}, tolerations) {
			return false
		}
	}
	return true
}

// hasPod reports whether one of the pods is the DaemonSet's.
func hasPod(set *appsv1.DaemonSet, pods []*corev1.Pod) bool {
	for _, pod := range pods {
		if owner := metav1.GetControllerOf(pod); owner != nil && owner.UID == set.UID && !scheduling.IsTerminal(pod) {
			return true
		}
	}
	return false
}
