package protection

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

const (
	// podDeletionCostAnnotationKey orders the pods of a ReplicaSet for deletion.
	// https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/#pod-deletion-cost
	podDeletionCostAnnotationKey = "controller.kubernetes.io/pod-deletion-cost"
	// deletionCostUnit and priorityUnit raise the cost by one. They are Karpenter's.
	deletionCostUnit = 1 << 27
	priorityUnit     = 1 << 25
	// extremeCost bounds a pod's cost in both directions.
	extremeCost = 10
)

// EvictionCost is the cost of evicting the pod, compared with others, from -10 to 10. It is 1 for a
// pod without priority and deletion cost.
func EvictionCost(pod *corev1.Pod) float64 {
	cost := 1.0
	// The API server accepts any text here. Text that is not a number does not count.
	if wish, err := strconv.ParseInt(pod.Annotations[podDeletionCostAnnotationKey], 10, 32); err == nil {
		cost += float64(wish) / deletionCostUnit
	}
	if pod.Spec.Priority != nil {
		cost += float64(*pod.Spec.Priority) / priorityUnit
	}
	return max(-extremeCost, min(cost, extremeCost))
}
