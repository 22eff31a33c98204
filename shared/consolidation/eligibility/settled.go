package eligibility

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// unsettled refuses nodes that changed too recently, or are about to change.
func (c *checks) unsettled(n *state.Node) state.Refusal {
	message := c.coming(n)
	if message == "" {
		message = c.waiting(n)
	}
	if message == "" {
		return state.Refusal{}
	}
	return state.Refusal{Because: state.Unsettled, Message: message}
}

// coming says that pods are on their way to the node.
func (c *checks) coming(n *state.Node) string {
	for uid := range strings.SplitSeq(n.Source.NodeClaim.Annotations[api.NominatedPodsAnnotationKey], ",") {
		if c.pending[uid] {
			return "pods that it was launched for are on their way"
		}
	}
	if n.Nominated > 0 {
		return "it holds a place for pending pods: " + state.Pods(n.Nominated)
	}
	return ""
}

// waiting says which time has to pass before the node may be deleted.
func (c *checks) waiting(n *state.Node) string {
	claim := n.Source.NodeClaim
	initialized := api.GetCondition(claim.Status.Conditions, api.ConditionTypeInitialized).LastTransitionTime.Time
	quiet := latest(initialized, claim.Status.LastPodEventTime.Time)
	if n.IsEmpty() {
		if since, err := time.Parse(time.RFC3339, claim.Annotations[disruption.EmptySinceAnnotationKey]); err == nil {
			quiet = latest(quiet, since)
		}
	} else {
		for _, pod := range n.Pods {
			quiet = latest(quiet, cameAt(pod.Object))
		}
	}
	after := n.Pool.API.QuietTime()
	if until := quiet.Add(after); c.now.Before(until) {
		return fmt.Sprintf("consolidateAfter %s runs until %s", after, text(until))
	}
	if n.IsEmpty() {
		return ""
	}
	if until := disruption.ReplaceAfter(claim); c.now.Before(until) {
		return "its last replacement failed, and the next one is not before " + text(until)
	}
	if until := initialized.Add(n.Pool.Settle); c.now.Before(until) {
		return fmt.Sprintf("it is new, and settles until %s", text(until))
	}
	if until, settling := c.settling(n); settling {
		return fmt.Sprintf("pods came to it recently, and it settles until %s", text(until))
	}
	return ""
}

// settling tells whether half of the node's pods or more came so recently that they may have been
// moved here. Pods of Jobs do not count, because new ones start all the time.
func (c *checks) settling(n *state.Node) (until time.Time, settling bool) {
	came, counted := 0, 0
	for _, pod := range n.Pods {
		if owner := metav1.GetControllerOf(pod.Object); owner != nil && owner.Kind == "Job" {
			continue
		}
		counted++
		if settled := cameAt(pod.Object).Add(n.Pool.Settle); c.now.Before(settled) {
			came++
			until = latest(until, settled)
		}
	}
	return until, came > 0 && 2*came >= counted
}

// cameAt is when the pod came to its node. It is zero if nothing says so.
func cameAt(pod *corev1.Pod) time.Time {
	at := time.Time{}
	if pod.Status.StartTime != nil {
		at = pod.Status.StartTime.Time
	}
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionTrue {
			at = latest(at, condition.LastTransitionTime.Time)
		}
	}
	return at
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func text(at time.Time) string { return at.UTC().Format(time.RFC3339) }
