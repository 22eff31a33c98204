package api

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GetCondition returns the condition of a type, or nil. The result points into the list.
func GetCondition(conditions []metav1.Condition, conditionType string) *metav1.Condition {
	for i := range conditions {
		if conditions[i].Type == conditionType {
			return &conditions[i]
		}
	}
	return nil
}

// ConditionTrue reports whether the list has a condition of the type whose status is True.
func ConditionTrue(conditions []metav1.Condition, conditionType string) bool {
	c := GetCondition(conditions, conditionType)
	return c != nil && c.Status == metav1.ConditionTrue
}

// NotReadyBecause returns the conditions that keep an object from being ready, with their messages:
// those that are false, else those that are unknown. Ready itself names only their types. Its message
// counts where no other condition says more. Without any condition the result is empty.
func NotReadyBecause(conditions []metav1.Condition) string {
	var causes, unknown []string
	for _, condition := range conditions {
		text := strings.TrimSuffix(condition.Type+": "+cmp.Or(condition.Message, condition.Reason), ": ")
		switch {
		case condition.Type == ConditionReady || condition.Type == ConditionTypeNodeRegistrationHealthy: // Ready ignores it
		case condition.Status == metav1.ConditionFalse:
			causes = append(causes, text)
		case condition.Status == metav1.ConditionUnknown:
			unknown = append(unknown, text)
		}
	}
	if len(causes) == 0 {
		causes = unknown
	}
	if ready := GetCondition(conditions, ConditionReady); len(causes) == 0 && ready != nil {
		return ready.Message
	}
	return strings.Join(causes, "; ")
}

// SetCondition adds c to the list, or replaces the condition of its type. It reports whether
// anything changed. The time of the last transition becomes now when the status changes, and
// otherwise stays. A condition without a reason gets its type as the reason, as in Karpenter.
func SetCondition(conditions *[]metav1.Condition, c metav1.Condition, now time.Time) bool {
	if c.Reason == "" {
		c.Reason = c.Type
	}
	// The API server stores whole seconds. A finer time would look like a change.
	c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	old := GetCondition(*conditions, c.Type)
	if old == nil {
		*conditions = append(*conditions, c)
		return true
	}
	if old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	changed := *old != c
	*old = c
	return changed
}

// SetNodeNotFound sets the condition Registered of a NodeClaim to Unknown: its instance has no node
// yet. The launch writes it together with the condition Launched, which saves a request for each
// claim.
func SetNodeNotFound(conditions *[]metav1.Condition, generation int64, now time.Time) {
	SetCondition(conditions, metav1.Condition{
		Type: ConditionTypeRegistered, Status: metav1.ConditionUnknown,
		Reason: ReasonNodeNotFound, Message: MessageNodeNotFound, ObservedGeneration: generation,
	}, now)
}

// RemoveCondition removes the condition of a type from the list, and reports whether it was there.
func RemoveCondition(conditions *[]metav1.Condition, conditionType string) bool {
	before := len(*conditions)
	*conditions = slices.DeleteFunc(*conditions, func(c metav1.Condition) bool { return c.Type == conditionType })
	return len(*conditions) != before
}

// SetReady derives the condition Ready from the conditions that it depends on. Ready is True when
// all of them are, False when one is False, else Unknown. SetReady reports whether anything
// changed.
func SetReady(conditions *[]metav1.Condition, dependsOn []string, generation int64, now time.Time) bool {
	ready := metav1.Condition{
		Type: ConditionReady, Status: metav1.ConditionTrue, Reason: ConditionReady, ObservedGeneration: generation,
	}
	var failed, unknown []string
	for _, conditionType := range dependsOn {
		switch c := GetCondition(*conditions, conditionType); {
		case c == nil || c.Status == metav1.ConditionUnknown:
			unknown = append(unknown, conditionType+"=Unknown")
		case c.Status == metav1.ConditionFalse:
			failed = append(failed, conditionType+"=False")
		}
	}
	switch {
	case len(failed) > 0:
		ready.Status, ready.Reason = metav1.ConditionFalse, ReasonUnhealthyDependents
		ready.Message = strings.Join(failed, ", ")
	case len(unknown) > 0:
		ready.Status, ready.Reason = metav1.ConditionUnknown, ReasonReconcilingDependents
		ready.Message = strings.Join(unknown, ", ")
	}
	return SetCondition(conditions, ready, now)
}
