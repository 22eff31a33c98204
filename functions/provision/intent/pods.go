package intent

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/pending"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// PendingPods are the pods that a new node may help.
type PendingPods struct {
	Count int
	// Asleep is how many of them wait for pools that sleep alone. They are nobody's fault.
	Asleep int
	// Oldest is the longest time that one of the others has waited, without the sleep of its pools. Youngest
	// is the age of the youngest of all. Both are zero without any.
	Oldest, Youngest time.Duration
}

// unservedAfter is the waiting time after which pods count as unserved, as the alarm pods-unserved
// has it.
const unservedAfter = 10 * time.Minute

// Unserved is how many times the oldest pod has waited for as long as counts as unserved.
func (p PendingPods) Unserved() int64 { return int64(p.Oldest / unservedAfter) }

// Pending counts the pods that a new node may help. Nominated pods count, because only their nodes
// tell whether the nomination is Whittle's (snapshot.ForgetOwnNominations). Without pools nothing sleeps.
func Pending(unbound []corev1.Pod, pools []api.NodePool, now time.Time) PendingPods {
	var found PendingPods
	waits := pending.New(pools, now)
	for i := range unbound {
		pod := unbound[i]
		pod.Status.NominatedNodeName = ""
		if !scheduling.IsProvisionable(&pod) {
			continue
		}
		age := now.Sub(pod.CreationTimestamp.Time)
		if found.Count == 0 || age < found.Youngest {
			found.Youngest = age
		}
		found.Count++
		if waited, asleep := waits.Of(&pod); asleep {
			found.Asleep++
		} else {
			found.Oldest = max(found.Oldest, waited)
		}
	}
	return found
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
