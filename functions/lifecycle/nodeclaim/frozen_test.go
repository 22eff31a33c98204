package nodeclaim

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/freeze"
)

func deletedAgo(d time.Duration) func(*api.NodeClaim) {
	return func(c *api.NodeClaim) { at := ago(d); c.DeletionTimestamp = &at }
}

func because(reason string) func(*api.NodeClaim) {
	return func(c *api.NodeClaim) {
		with(api.ConditionTypeDisruptionReason, metav1.ConditionTrue, time.Minute)(c)
		api.GetCondition(c.Status.Conditions, api.ConditionTypeDisruptionReason).Reason = reason
	}
}

func expiresAfter(d time.Duration) func(*api.NodeClaim) {
	return func(c *api.NodeClaim) { c.Spec.ExpireAfter.Duration = &d }
}

func TestWhatAFreezeMayHold(t *testing.T) {
	going := func(reason string, changes ...func(*api.NodeClaim)) *api.NodeClaim {
		return claim(append(changes, deletedAgo(time.Second), because(reason))...)
	}
	interrupted := []*corev1.Node{{}}
	interrupted[0].Annotations = map[string]string{api.InterruptedAnnotationKey: "x"}
	taken := func(c *api.NodeClaim) {
		c.Annotations[disruption.DepartsAtAnnotationKey] = now.Add(time.Minute).Format(time.RFC3339)
		c.Annotations[disruption.DepartsBecauseAnnotationKey] = "cr-1"
	}
	for name, test := range map[string]struct {
		view View
		want freeze.What
		none bool
	}{
		"a claim that stays":       {view: View{Claim: claim()}, none: true},
		"a person's deletion":      {view: View{Claim: claim(deletedAgo(time.Second))}, none: true},
		"an unhealthy node":        {view: View{Claim: going("Unhealthy")}, none: true},
		"a rebalance":              {view: View{Claim: going("Rebalance")}, none: true},
		"a drifted node":           {view: View{Claim: going("Drifted")}, want: freeze.Drains},
		"a node of a sleeper":      {view: View{Claim: going("Asleep")}, want: freeze.Drains},
		"an interrupted one":       {view: View{Claim: going("Drifted"), Nodes: interrupted}, none: true},
		"one that AWS takes":       {view: View{Claim: going("Drifted", taken)}, none: true},
		"an instance that is gone": {view: View{Claim: going("Drifted"), Absent: true}, none: true},
		"expired":                  {view: View{Claim: claim(expiresAfter(time.Second))}, want: freeze.Disruptions},
		"not expired":              {view: View{Claim: claim(expiresAfter(time.Hour))}, none: true},
		"ended for its age": {
			view: View{Claim: claim(expiresAfter(time.Second), deletedAgo(time.Second))}, want: freeze.Drains,
		},
	} {
		hold := test.view.Hold(now)
		if hold.Voluntary == test.none || hold.What != test.want {
			t.Errorf("%s: %+v", name, hold)
		}
	}
}

func TestAFreezeHaltsNoDeletionThatCameDuringIt(t *testing.T) {
	for since, want := range map[time.Duration]bool{
		0: true, 10 * time.Second: true, time.Minute: true, 2 * time.Minute: false,
	} {
		hold := Hold{Voluntary: true, What: freeze.Drains, Claim: claim(deletedAgo(time.Minute))}
		frozen := &freeze.Freezes{All: []freeze.Freeze{{Pool: "default", Since: now.Add(-since), Drains: true}}}
		if held := hold.Holds(frozen, now) != nil; held != want {
			t.Errorf("a freeze since %s ago holds the drain since a minute ago: %t", since, held)
		}
	}
}

func TestAFreezeKeepsAnExpiredClaim(t *testing.T) {
	view := View{Claim: claim(initialized, expiresAfter(time.Second)), Frozen: "the cluster is frozen"}
	if outcome := Next(view, now); outcome.Destroys() {
		t.Errorf("%+v", outcome.Steps)
	}
	view.Frozen = ""
	for _, step := range Next(view, now).Steps {
		if _, is := step.(DeleteClaim); is && HoldOf(step).What == freeze.Disruptions && HoldOf(step).Voluntary {
			return
		}
	}
	t.Error("no step deletes the claim under a hold")
}
