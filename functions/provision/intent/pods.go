package intent

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// PendingPods are the pods that a new node may help.
type PendingPods struct {
	Count int
	// Oldest and Youngest are the ages of two of them. Both are zero without any.
	Oldest, Youngest time.Duration
}

// unservedAfter is the waiting time after which pods count as unserved, as the alarm pods-unserved
// has it.
const unservedAfter = 10 * time.Minute

// Unserved is how many times the oldest pod has waited for as long as counts as unserved.
func (p PendingPods) Unserved() int64 { return int64(p.Oldest / unservedAfter) }

// Pending counts the pods that a new node may help. Nominated pods count, because only their nodes
// tell whether the nomination is Whittle's (snapshot.ForgetOwnNominations).
func Pending(unbound []corev1.Pod, now time.Time) PendingPods {
	var pending PendingPods
	for i := range unbound {
		pod := unbound[i]
		pod.Status.NominatedNodeName = ""
		if !scheduling.IsProvisionable(&pod) {
			continue
		}
		age := now.Sub(pod.CreationTimestamp.Time)
		pending.Oldest = max(pending.Oldest, age)
		if pending.Count == 0 || age < pending.Youngest {
			pending.Youngest = age
		}
		pending.Count++
	}
	return pending
}

// justReady is how long a pod counts as awaited after its node has become ready: until the next tick.
const justReady = 10 * time.Second

// AllAwaited reports whether every pod that waits is one for which a node is on its way, or has just become
// ready, so that a plan would only repeat that. It is false where a claim has no instance yet, because that has
// to be launched.
func AllAwaited(unbound []corev1.Pod, claims []api.NodeClaim, now time.Time) bool {
	awaited := map[string]bool{}
	for i := range claims {
		claim := &claims[i]
		ready := api.GetCondition(claim.Status.Conditions, api.ConditionTypeInitialized)
		switch {
		case !claim.Spec.NodeClassRef.IsEC2NodeClass(), claim.DeletionTimestamp != nil,
			ready != nil && ready.Status == metav1.ConditionTrue && now.Sub(ready.LastTransitionTime.Time) >= justReady:
			continue
		case claim.Status.ProviderID == "":
			return false
		}
		for uid := range strings.SplitSeq(claim.Annotations[api.NominatedPodsAnnotationKey], ",") {
			awaited[uid] = true
		}
	}
	for i := range unbound {
		pod := unbound[i]
		pod.Status.NominatedNodeName = ""
		if (scheduling.IsProvisionable(&pod) || scheduling.IsUnseen(&pod)) && !awaited[string(pod.UID)] {
			return false
		}
	}
	return true
}
