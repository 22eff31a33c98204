package protection

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
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
	// The owner's own cost wins even where it cannot be read. The API server accepts any text here,
	// and text that is not a number does not count.
	text, own := pod.Annotations[api.DisruptionCostAnnotationKey]
	if !own {
		text = pod.Annotations[podDeletionCostAnnotationKey]
	}
	if wish, err := strconv.ParseInt(text, 10, 32); err == nil {
		cost += float64(wish) / deletionCostUnit
	}
	if pod.Spec.Priority != nil {
		cost += float64(*pod.Spec.Priority) / priorityUnit
	}
	return max(-extremeCost, min(cost, extremeCost))
}
