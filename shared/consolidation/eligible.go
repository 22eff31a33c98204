package consolidation

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// judge decides whether a node may go, and why not.
type judge struct {
	now   time.Time
	guard *guard
	// expected are the names of claims that others wait for which are being replaced.
	expected map[string]bool
	// coming are the UIDs of the pods that wait or will, and the names of nodes that some of them have a place on.
	coming map[string]bool
}

func (f *fleet) newJudge() *judge {
	j := &judge{now: f.s.Now, guard: newGuard(f.s.Budgets, f.s.Now), expected: map[string]bool{}, coming: map[string]bool{}}
	for i := range f.s.Cluster.Nodes {
		claim := f.s.Cluster.Nodes[i].NodeClaim
		if claim == nil {
			continue
		}
		for name := range strings.SplitSeq(claim.Annotations[disruption.ReplacedByAnnotationKey], ",") {
			j.expected[name] = true
		}
	}
	for i := range f.s.Cluster.Pods {
		pod := &f.s.Cluster.Pods[i]
		if pod.UID != "" {
			j.coming[string(pod.UID)] = true
		}
	}
	return j
}

// look fills in whether the node is a candidate, or why it stays.
func (j *judge) look(n *node) {
	n.because, n.message = j.stays(n)
	n.candidate = n.because == ""
}

func (j *judge) stays(n *node) (Because, string) {
	claim, object := n.source.NodeClaim, n.source.Node
	switch {
	case n.leaving():
		return Unsettled, "it is leaving already"
	case object == nil || object.Labels[api.NodeInitializedLabelKey] != "true" || !api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeInitialized):
		return Unsettled, "it is not initialized yet"
	case !disruption.IsReady(object):
		return Unsettled, "it is not ready"
	case j.expected[claim.Name]:
		return Unsettled, "it replaces a node that is not gone yet"
	case n.pool == nil:
		return Policy, fmt.Sprintf("its NodePool %q does not exist", claim.Labels[api.NodePoolLabelKey])
	case n.pool.api.Spec.Replicas != nil:
		return Policy, "its NodePool has a fixed number of nodes (spec.replicas)"
	case n.pool.problem != "":
		return Policy, n.pool.problem
	}
	if by := disruption.NodeProtectedBy(object, j.now); by != "" {
		return Protected, "the node has the annotation " + by
	}
	if because, why := j.policy(n); because != "" {
		return because, why
	}
	if why := j.unsettled(n); why != "" {
		return Unsettled, why
	}
	if why := j.guard.why(n.source.Pods); why != "" {
		return Protected, why
	}
	return "", ""
}

// policy is what the pool says of nodes like this one.
func (j *judge) policy(n *node) (Because, string) {
	wants := n.pool.api.Spec.Disruption
	switch {
	case wants.ConsolidateAfter.IsNever():
		return Policy, "its NodePool says consolidateAfter: Never"
	case n.empty():
		return "", ""
	case wants.ConsolidationPolicy == api.ConsolidationPolicyWhenEmpty:
		return Policy, "its NodePool says consolidationPolicy: WhenEmpty, and it is not empty"
	case len(n.pods) == 0:
		return Unsettled, "its last pods are ending"
	case n.price <= 0:
		return Unpriced, fmt.Sprintf("what %s costs as %s in %s is not known", orUnknown(n.label(corev1.LabelInstanceTypeStable)),
			orUnknown(n.label(api.CapacityTypeLabelKey)), orUnknown(n.label(corev1.LabelTopologyZone)))
	}
	return "", ""
}

func orUnknown(value string) string {
	if value == "" {
		return "a node without that label"
	}
	return value
}

// unsettled says what about the node has changed too lately, or is about to.
func (j *judge) unsettled(n *node) string {
	claim := n.source.NodeClaim
	for uid := range strings.SplitSeq(claim.Annotations[api.NominatedPodsAnnotationKey], ",") {
		if j.coming[uid] {
			return "pods that it was launched for are on their way"
		}
	}
	if n.nominated > 0 {
		return fmt.Sprintf("%d waiting pods have their place on it", n.nominated)
	}
	initialized := api.GetCondition(claim.Status.Conditions, api.ConditionTypeInitialized).LastTransitionTime.Time
	quiet := latest(initialized, claim.Status.LastPodEventTime.Time)
	if n.empty() {
		if since, err := time.Parse(time.RFC3339, claim.Annotations[disruption.EmptySinceAnnotationKey]); err == nil {
			quiet = latest(quiet, since)
		}
	} else {
		for _, pod := range n.pods {
			quiet = latest(quiet, cameAt(pod.object))
		}
	}
	if after := n.pool.api.Spec.Disruption.ConsolidateAfter.Duration; after != nil && j.now.Before(quiet.Add(*after)) {
		return fmt.Sprintf("consolidateAfter %s runs until %s", *after, text(quiet.Add(*after)))
	}
	if n.empty() {
		return ""
	}
	if until := initialized.Add(n.pool.settle); j.now.Before(until) {
		return fmt.Sprintf("it is new, and settles until %s", text(until))
	}
	if until, settling := j.settling(n); settling {
		return fmt.Sprintf("pods have come to it of late, and it settles until %s", text(until))
	}
	return ""
}

// settling tells whether half of the node's pods or more have come so lately that they may have been moved here. New pods of a Job are not: they begin anew all the time.
func (j *judge) settling(n *node) (until time.Time, settling bool) {
	came, counted := 0, 0
	for _, pod := range n.pods {
		if owner := metav1.GetControllerOf(pod.object); owner != nil && owner.Kind == "Job" {
			continue
		}
		counted++
		if settled := cameAt(pod.object).Add(n.pool.settle); j.now.Before(settled) {
			came++
			until = latest(until, settled)
		}
	}
	return until, came > 0 && 2*came >= counted
}

// cameAt is when the pod came to its node; zero if nothing says so.
func cameAt(pod *corev1.Pod) time.Time {
	at := time.Time{}
	if pod.Status.StartTime != nil {
		at = pod.Status.StartTime.Time
	}
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionTrue {
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

// leaving tells whether the node's end has been ordered, or is being prepared.
func (n *node) leaving() bool {
	claim, object := n.source.NodeClaim, n.source.Node
	if claim != nil {
		_, replaced := claim.Annotations[disruption.ReplacedByAnnotationKey]
		if replaced || api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeDisruptionReason) {
			return true
		}
	}
	return scheduling.IsClosedToPods(claim, object)
}

// empty tells whether nothing runs on the node that would be missed.
func (n *node) empty() bool {
	for i := range n.source.Pods {
		if disruption.Counts(n.source.Pods[i]) {
			return false
		}
	}
	return n.nominated == 0
}

// reschedulable are the node's pods that come back elsewhere.
func reschedulable(pods []corev1.Pod) []*corev1.Pod {
	var found []*corev1.Pod
	for i := range pods {
		if scheduling.IsReschedulable(&pods[i]) {
			found = append(found, &pods[i])
		}
	}
	return found
}
