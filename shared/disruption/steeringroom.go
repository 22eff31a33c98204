package disruption

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// arrivedWithin is how long a pod stands for the next ones after it came to a node: from one pass that
	// steers to the next, and as long again.
	arrivedWithin = 2 * time.Minute
	// mostArrivals bounds the work of a pass in a storm of pods. The largest ones count.
	mostArrivals = 500
)

// arrivals are the pods that wait for a node, and those that came to one a moment ago, the largest first.
func (s *Cluster) arrivals(now time.Time) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range s.Waiting {
		if scheduling.IsProvisionable(pod) {
			pods = append(pods, pod)
		}
	}
	for _, pod := range s.Running {
		if Counts(*pod) && !scheduling.IsVirtual(pod) && now.Sub(cameAt(pod)) < arrivedWithin {
			pods = append(pods, pod)
		}
	}
	size := map[*corev1.Pod]int64{}
	for _, pod := range pods {
		size[pod] = amountsOf(pod)[corev1.ResourceCPU]
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(size[b], size[a]), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return pods[:min(len(pods), mostArrivals)]
}

// cameAt is the time at which the pod was bound to its node, or zero.
func cameAt(pod *corev1.Pod) time.Time {
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionTrue {
			return condition.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// room is what a node has left for pods, in the units of scheduling.Amount.
type room struct {
	node *Node
	left map[corev1.ResourceName]int64
}

func newRoom(node *Node) *room {
	r := &room{node: node, left: map[corev1.ResourceName]int64{}}
	seen := plan.Node{Node: node.Node, NodeClaim: node.Claim}
	for name, quantity := range seen.Allocatable() {
		r.left[name] = scheduling.Amount(name, &quantity)
	}
	for _, pod := range node.Pods {
		if !scheduling.IsTerminal(pod) {
			r.subtract(amountsOf(pod))
		}
	}
	return r
}

// take takes the pod's room, if the pod may run on the node and fits.
func (r *room) take(pod *corev1.Pod) bool {
	wanted := amountsOf(pod)
	for name, amount := range wanted {
		if amount > 0 && r.left[name] < amount {
			return false
		}
	}
	if !scheduling.ToleratesAll(r.node.Node.Spec.Taints, pod.Spec.Tolerations) {
		return false
	}
	if matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(r.node.Node); err != nil || !matches {
		return false
	}
	r.subtract(wanted)
	return true
}

func (r *room) subtract(amounts map[corev1.ResourceName]int64) {
	for name, amount := range amounts {
		r.left[name] -= amount
	}
}

// amountsOf are the pod's requests.
func amountsOf(pod *corev1.Pod) map[corev1.ResourceName]int64 {
	sum := map[corev1.ResourceName]int64{}
	scheduling.EachRequestedAmount(pod, func(name corev1.ResourceName, amount int64) {
		sum[name] = scheduling.AddAmounts(sum[name], amount)
	})
	return sum
}
