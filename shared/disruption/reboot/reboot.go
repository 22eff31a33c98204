// Package reboot is what a NodeClaim says of the reboots of its node. It is a leaf of package
// disruption. Disrupt orders a reboot by the condition Rebooting, and lifecycle carries it out. The
// claim holds the whole state, in the form that Karpenter uses, so that any pass, or Karpenter, can
// go on with it.
package reboot

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

const (
	// MinimumDrain is the least time between the order and the reboot. The scheduler may be about to
	// bind a pod for which it chose the node before.
	MinimumDrain = 5 * time.Second
	// remembered is how long a reboot counts, and attempts how many may count before an unhealthy
	// node is replaced instead: Karpenter's.
	remembered = 24 * time.Hour
	attempts   = 2
)

// InProgress reports whether the claim's node is being rebooted, or is about to be.
func InProgress(claim *api.NodeClaim) bool {
	return api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeRebooting)
}

// Drains reports whether the node's pods are evicted before its reboot, so that they decide something.
func Drains(claim *api.NodeClaim) bool {
	_, asked := claim.Annotations[api.RebootPreBootIDAnnotationKey]
	return InProgress(claim) && !asked && !IsIssued(claim)
}

// IsIssued reports whether EC2 has accepted the reboot that is in progress.
func IsIssued(claim *api.NodeClaim) bool {
	condition := api.GetCondition(claim.Status.Conditions, api.ConditionTypeRebooting)
	return InProgress(claim) && condition.Reason == api.ReasonRebootIssued
}

// RequestedAt is when the reboot that is in progress was ordered, zero without one.
func RequestedAt(claim *api.NodeClaim) time.Time {
	if !InProgress(claim) {
		return time.Time{}
	}
	return api.GetCondition(claim.Status.Conditions, api.ConditionTypeRebooting).LastTransitionTime.Time
}

// EndedAt is when the node's last reboot ended, zero without one.
func EndedAt(claim *api.NodeClaim) time.Time {
	condition := api.GetCondition(claim.Status.Conditions, api.ConditionTypeRebooting)
	if condition == nil || condition.Status != metav1.ConditionFalse {
		return time.Time{}
	}
	return condition.LastTransitionTime.Time
}

// DrainBound is how long the drain before the reboot may take. It is not limited where the claim names
// no bound. The error names the annotation that cannot be read.
func DrainBound(claim *api.NodeClaim) (bound time.Duration, limited bool, err error) {
	text, limited := claim.Annotations[api.RebootTerminationGracePeriodAnnotationKey]
	if !limited {
		return 0, false, nil
	}
	bound, err = time.ParseDuration(text)
	if err == nil && bound < 0 {
		err = fmt.Errorf("%s is less than no time", bound)
	}
	if err != nil {
		return 0, true, fmt.Errorf("nodeclaim %q: annotation %s: write a duration such as 5m: %w",
			claim.Name, api.RebootTerminationGracePeriodAnnotationKey, err)
	}
	return bound, true, nil
}

// Begun are the times at which EC2 was asked for the node's last reboots, the oldest first. Whatever
// cannot be read is left out.
func Begun(claim *api.NodeClaim) []time.Time {
	var begun []time.Time
	for text := range strings.SplitSeq(claim.Annotations[api.RebootsAnnotationKey], ",") {
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			begun = append(begun, at)
		}
	}
	slices.SortFunc(begun, time.Time.Compare)
	return begun
}

// Remember is the value of the annotation with the times of the last reboots, with one that begins
// now.
func Remember(claim *api.NodeClaim, now time.Time) string {
	begun := append(Begun(claim), now)
	var texts []string
	for _, at := range begun[max(0, len(begun)-attempts):] {
		texts = append(texts, at.UTC().Format(time.RFC3339))
	}
	return strings.Join(texts, ",")
}

// Exhausted reports whether the node was rebooted so often in the last day that another reboot would
// hardly help.
func Exhausted(claim *api.NodeClaim, now time.Time) bool {
	recent := slices.DeleteFunc(Begun(claim), func(at time.Time) bool { return now.Sub(at) >= remembered })
	return len(recent) >= attempts
}

// Request is the patch of a claim's metadata that prepares an order. The condition Order follows it.
// Writing it conflicts if the claim has changed since it was read.
func Request(claim *api.NodeClaim, bound time.Duration) map[string]any {
	return map[string]any{"metadata": map[string]any{
		"resourceVersion": claim.ResourceVersion,
		"annotations": map[string]any{
			api.RebootTerminationGracePeriodAnnotationKey: bound.String(),
			// An id that an earlier reboot left would pass for a reboot that was issued.
			api.RebootPreBootIDAnnotationKey: nil,
		},
	}}
}

// Order is the condition that orders the reboot. Because names what makes the node unhealthy.
func Order(because string) metav1.Condition {
	return metav1.Condition{
		Type: api.ConditionTypeRebooting, Status: metav1.ConditionTrue, Reason: api.ReasonRebootRequested,
		Message: "rebooting for " + because,
	}
}
