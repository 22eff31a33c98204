package reboot_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/reboot"
)

// monday is Monday, 2 March 2026, 12:00 UTC.
var monday = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// claim has the condition Rebooting since a minute, and the annotations.
func claim(status metav1.ConditionStatus, reason string, annotations map[string]string) *api.NodeClaim {
	made := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "7", Annotations: annotations}}
	made.Status.Conditions = []metav1.Condition{{
		Type: api.ConditionTypeRebooting, Status: status, Reason: reason,
		LastTransitionTime: metav1.NewTime(monday.Add(-time.Minute)),
	}}
	return made
}

func TestTheClaimTellsHowFarItsRebootIs(t *testing.T) {
	minuteAgo, none := monday.Add(-time.Minute), time.Time{}
	asked := map[string]string{api.RebootPreBootIDAnnotationKey: "boot-1"}
	for _, test := range []struct {
		name                         string
		claim                        *api.NodeClaim
		inProgress, drains, isIssued bool
		requested, ended             time.Time
	}{
		{name: "never rebooted", claim: &api.NodeClaim{}},
		{
			name: "ordered", claim: claim(metav1.ConditionTrue, api.ReasonRebootRequested, nil),
			inProgress: true, drains: true, requested: minuteAgo,
		},
		{
			name: "EC2 may have been asked", claim: claim(metav1.ConditionTrue, api.ReasonRebootRequested, asked),
			inProgress: true, requested: minuteAgo,
		},
		{
			name: "issued", claim: claim(metav1.ConditionTrue, api.ReasonRebootIssued, asked),
			inProgress: true, isIssued: true, requested: minuteAgo,
		},
		{name: "done", claim: claim(metav1.ConditionFalse, api.ReasonRebootSucceeded, nil), ended: minuteAgo},
		{name: "failed", claim: claim(metav1.ConditionFalse, api.ReasonRebootFailed, nil), ended: minuteAgo},
		{name: "unknown", claim: claim(metav1.ConditionUnknown, "Other", nil), ended: none},
	} {
		if got := reboot.InProgress(test.claim); got != test.inProgress {
			t.Errorf("%s: in progress %t", test.name, got)
		}
		if got := reboot.Drains(test.claim); got != test.drains {
			t.Errorf("%s: drains %t", test.name, got)
		}
		if got := reboot.IsIssued(test.claim); got != test.isIssued {
			t.Errorf("%s: issued %t", test.name, got)
		}
		if requested, ended := reboot.RequestedAt(test.claim), reboot.EndedAt(test.claim); !requested.Equal(test.requested) ||
			!ended.Equal(test.ended) {
			t.Errorf("%s: requested %s, ended %s", test.name, requested, ended)
		}
	}
}

func TestDrainBound(t *testing.T) {
	for text, want := range map[string]struct {
		bound time.Duration
		fails bool
	}{
		"5m0s": {5 * time.Minute, false}, "0s": {0, false}, "": {0, true}, "-1s": {0, true}, "soon": {0, true},
	} {
		bound, limited, err := reboot.DrainBound(claim(metav1.ConditionTrue, "",
			map[string]string{api.RebootTerminationGracePeriodAnnotationKey: text}))
		if bound != want.bound || !limited || (err != nil) != want.fails {
			t.Errorf("%q: %s, %t, %v", text, bound, limited, err)
		}
	}
	if _, limited, err := reboot.DrainBound(&api.NodeClaim{}); limited || err != nil {
		t.Errorf("without a bound: %t, %v", limited, err)
	}
}

func TestTwoRebootsADayAreEnough(t *testing.T) {
	made := &api.NodeClaim{}
	var answers []bool
	for _, at := range []time.Duration{0, time.Hour, 2 * time.Hour, 24*time.Hour - time.Second, 24 * time.Hour} {
		now := monday.Add(at)
		answers = append(answers, reboot.Exhausted(made, now))
		if at < 2*time.Hour {
			made.Annotations = map[string]string{api.RebootsAnnotationKey: reboot.Remember(made, now)}
		}
	}
	if !slices.Equal(answers, []bool{false, false, true, true, false}) {
		t.Errorf("exhausted %v", answers)
	}
	made.Annotations[api.RebootsAnnotationKey] = reboot.Remember(made, monday.Add(25*time.Hour))
	if begun := reboot.Begun(made); len(begun) != 2 || !begun[0].Equal(monday.Add(time.Hour)) {
		t.Errorf("remembers %v", begun)
	}
	made.Annotations[api.RebootsAnnotationKey] = "yesterday"
	if reboot.Exhausted(made, monday) || len(reboot.Begun(made)) != 0 {
		t.Error("what cannot be read counts")
	}
}

func TestAnOrderForgetsTheRebootBefore(t *testing.T) {
	patch := reboot.Request(claim(metav1.ConditionFalse, "", nil), 5*time.Minute)["metadata"].(map[string]any)
	annotations := patch["annotations"].(map[string]any)
	if id, written := annotations[api.RebootPreBootIDAnnotationKey]; id != nil || !written {
		t.Errorf("the boot id is %v, %t", id, written)
	}
	if annotations[api.RebootTerminationGracePeriodAnnotationKey] != "5m0s" || patch["resourceVersion"] != "7" {
		t.Errorf("patch %v", patch)
	}
	order := reboot.Order("GPU/XID63")
	if order.Reason != api.ReasonRebootRequested || order.Status != metav1.ConditionTrue ||
		order.Message != "rebooting for GPU/XID63" {
		t.Errorf("order %+v", order)
	}
}
