package intent

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Pending counts the pods that a new node may help, and returns the age of the oldest of them.
func Pending(unbound []corev1.Pod, now time.Time) (count int, oldest time.Duration) {
	for i := range unbound {
		if scheduling.IsProvisionable(&unbound[i]) {
			count++
			oldest = max(oldest, now.Sub(unbound[i].CreationTimestamp.Time))
		}
	}
	return count, oldest
}
