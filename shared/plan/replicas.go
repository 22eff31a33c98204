package plan

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// MinimumReplicas is how many pods a workload has of which plans keep at most half on one node. The
// loss of one of two pods is the loss of a half in any case.
const MinimumReplicas = 3

// MostTogether is how many of a workload's replicas may share one node, or one spot pool.
func MostTogether(replicas int) int { return replicas / 2 }

// WorkloadOf is the controller of which the pod is a replica. It is empty for pods whose loss
// another replica does not make up for: those without a controller, of a DaemonSet or of a Job, and
// virtual pods.
func WorkloadOf(pod *corev1.Pod) types.UID {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind == "DaemonSet" || owner.Kind == "Node" || strings.HasSuffix(owner.Kind, "Job") ||
		scheduling.IsVirtual(pod) {
		return ""
	}
	return owner.UID
}
