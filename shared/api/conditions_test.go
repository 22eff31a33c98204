package api

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSetCondition(t *testing.T) {
	first := time.Date(2026, 1, 1, 0, 0, 0, 999, time.UTC)
	later := first.Add(time.Minute)
	launched := func(status metav1.ConditionStatus, message string) metav1.Condition {
		return metav1.Condition{Type: ConditionTypeLaunched, Status: status, Reason: "Because", Message: message}
	}
	tests := []struct {
		name       string
		then       metav1.Condition
		changed    bool
		transition time.Time
	}{
		{"the same again", launched(metav1.ConditionTrue, "a"), false, first},
		{"another message", launched(metav1.ConditionTrue, "b"), true, first},
		{"another status", launched(metav1.ConditionFalse, "a"), true, later},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var conditions []metav1.Condition
			if !SetCondition(&conditions, launched(metav1.ConditionTrue, "a"), first) {
				t.Error("the first condition changed nothing")
			}
			if changed := SetCondition(&conditions, test.then, later); changed != test.changed {
				t.Errorf("changed: %v, want %v", changed, test.changed)
			}
			c := GetCondition(conditions, ConditionTypeLaunched)
			if len(conditions) != 1 || c == nil || c.Status != test.then.Status || c.Message != test.then.Message {
				t.Fatalf("got %+v", conditions)
			}
			if want := test.transition.Truncate(time.Second); !c.LastTransitionTime.Time.Equal(want) {
				t.Errorf("the transition was at %v, want %v", c.LastTransitionTime, want)
			}
		})
	}
}

func TestConditionWithoutReasonGetsItsType(t *testing.T) {
	var conditions []metav1.Condition
	SetCondition(&conditions, metav1.Condition{Type: ConditionTypeDrifted, Status: metav1.ConditionTrue}, time.Now())
	if got := conditions[0].Reason; got != ConditionTypeDrifted {
		t.Errorf("the reason is %q", got)
	}
}

func TestConditionTrue(t *testing.T) {
	conditions := []metav1.Condition{
		{Type: "A", Status: metav1.ConditionTrue}, {Type: "B", Status: metav1.ConditionFalse},
		{Type: "C", Status: metav1.ConditionUnknown},
	}
	for conditionType, want := range map[string]bool{"A": true, "B": false, "C": false, "D": false} {
		if got := ConditionTrue(conditions, conditionType); got != want {
			t.Errorf("%s is true: %v, want %v", conditionType, got, want)
		}
	}
	if !RemoveCondition(&conditions, "A") || RemoveCondition(&conditions, "A") || len(conditions) != 2 {
		t.Errorf("after the removal there are %+v", conditions)
	}
}

func TestSetReady(t *testing.T) {
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	tests := []struct {
		name            string
		a, b            metav1.ConditionStatus // empty: not there
		want            metav1.ConditionStatus
		reason, message string
	}{
		{"all true", yes, yes, yes, "Ready", ""},
		{"one false", yes, no, no, ReasonUnhealthyDependents, "B=False"},
		{"one unknown", yes, unknown, unknown, ReasonReconcilingDependents, "B=Unknown"},
		{"one missing", yes, "", unknown, ReasonReconcilingDependents, "B=Unknown"},
		{"false wins over unknown", unknown, no, no, ReasonUnhealthyDependents, "B=False"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var conditions []metav1.Condition
			for conditionType, status := range map[string]metav1.ConditionStatus{"A": test.a, "B": test.b} {
				if status != "" {
					SetCondition(&conditions, metav1.Condition{Type: conditionType, Status: status}, time.Now())
				}
			}
			if !SetReady(&conditions, []string{"A", "B"}, 7, time.Now()) {
				t.Error("it changed nothing")
			}
			got := GetCondition(conditions, ConditionReady)
			if got.Status != test.want || got.Reason != test.reason || got.Message != test.message ||
				got.ObservedGeneration != 7 {
				t.Errorf("got %+v", got)
			}
		})
	}
}
