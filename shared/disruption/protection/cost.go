package protection

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// deletionCostUnit and priorityUnit raise the cost by one. They are Karpenter's.
	deletionCostUnit = 1 << 27
	priorityUnit     = 1 << 25
	// extremeCost bounds a pod's cost in both directions.
	extremeCost = 10
)

// EvictionCost is the cost of evicting the pod, compared with others, from -10 to 10. It is 1 for a
// pod without priority and costs of its own. The owner's deletion cost counts unless deletion costs
// are managed. One that Whittle wrote never counts.
func EvictionCost(pod *corev1.Pod, managed bool) float64 {
	if scheduling.IsVirtual(pod) {
		return 0 // nobody notices
	}
	cost := 1.0
	// The owner's own cost wins even where it cannot be read. The API server accepts any text here,
	// and text that is not a number does not count.
	text, own := pod.Annotations[api.DisruptionCostAnnotationKey]
	if !own && !managed && !HasManagedCost(pod) {
		text = pod.Annotations[api.PodDeletionCostAnnotationKey]
	}
	if wish, err := strconv.ParseInt(text, 10, 32); err == nil {
		cost += float64(wish) / deletionCostUnit
	}
	if pod.Spec.Priority != nil {
		cost += float64(*pod.Spec.Priority) / priorityUnit
	}
	return max(-extremeCost, min(cost, extremeCost))
}

// HasManagedCost reports whether Whittle wrote the pod's deletion cost. A value that differs from
// Whittle's mark is another writer's.
func HasManagedCost(pod *corev1.Pod) bool {
	mark, marked := pod.Annotations[api.ManagedDeletionCostAnnotationKey]
	cost, has := pod.Annotations[api.PodDeletionCostAnnotationKey]
	return marked && has && mark == cost
}
