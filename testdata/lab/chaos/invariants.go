package chaos

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// undisturbed is the label of the pods that nothing may evict.
const undisturbed = "undisturbed"

// evicted lists the protected pods that were seen running before and have gone or are going. It
// remembers those that run.
func evicted(pods []*corev1.Pod, running map[string]string) []string {
	var wrong []string
	present := map[string]bool{}
	for _, pod := range pods {
		if pod.Labels["app"] != undisturbed {
			continue
		}
		uid := string(pod.UID)
		present[uid] = pod.DeletionTimestamp == nil
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			running[uid] = pod.Name + " on node " + pod.Spec.NodeName
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(running)) {
		if !present[uid] {
			wrong = append(wrong, fmt.Sprintf("pod %s must not be disrupted, and was evicted", running[uid]))
			delete(running, uid)
		}
	}
	return wrong
}
