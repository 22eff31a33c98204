package disruption

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// podDeletionCostAnnotationKey is Kubernetes' own wish for which of a ReplicaSet's
	// pods go first.
	// https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/#pod-deletion-cost
	podDeletionCostAnnotationKey = "controller.kubernetes.io/pod-deletion-cost"
	// deletionCostUnit and priorityUnit are what raises the cost by one: Karpenter's.
	deletionCostUnit = 1 << 27
	priorityUnit     = 1 << 25
	// extremeCost bounds a pod's cost in both directions.
	extremeCost = 10
)

// EvictionCost is how much it costs to evict a pod, compared with others: 1 for one
// without priority and deletion cost, from -10 to 10.
func EvictionCost(pod *corev1.Pod) float64 {
	cost := 1.0
	// The API server lets anything be written here; what is no number counts for nothing.
	if wish, err := strconv.ParseInt(pod.Annotations[podDeletionCostAnnotationKey], 10, 32); err == nil {
		cost += float64(wish) / deletionCostUnit
	}
	if pod.Spec.Priority != nil {
		cost += float64(*pod.Spec.Priority) / priorityUnit
	}
	return max(-extremeCost, min(cost, extremeCost))
}

// cost is how much it costs to take a node away: what it costs to evict its pods, the
// less the sooner it expires anyway.
func (n *Node) cost(now time.Time) float64 {
	sum := 0.0
	for _, pod := range n.Pods {
		if scheduling.IsReschedulable(pod) {
			sum += EvictionCost(pod)
		}
	}
	return sum * n.lifeLeft(now)
}

// lifeLeft is the part of the node's life that is left, from 1 for a new one, or one
// that never expires, to 0.
func (n *Node) lifeLeft(now time.Time) float64 {
	life := n.Claim.Spec.ExpireAfter.Duration
	if life == nil || *life <= 0 {
		return 1
	}
	left := n.Claim.CreationTimestamp.Add(*life).Sub(now).Seconds() / life.Seconds()
	return max(0, min(left, 1))
}
