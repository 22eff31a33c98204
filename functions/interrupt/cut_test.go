package main

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/functions/lifecycle/clustertest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// TestKilledAtAnyCall has the function die before each changing call, and after it but
// before its answer is seen, for each kind of event. The message comes back unless its
// effect is there; it is handled again, and once more for nothing; and the end is the same.
func TestKilledAtAnyCall(t *testing.T) {
	kinds := map[string]struct {
		detail func(id string) events.Detail
		// effect tells whether all is there that the event asks for. mail has what was
		// sent so far.
		effect func(t *testing.T, name, instanceType string, mail ...*mailbox) bool
	}{
		"spot": {
			func(id string) events.Detail { return spot(id) },
			func(t *testing.T, name, instanceType string, mail ...*mailbox) bool {
				return isEnding(t, name) && isTainted(t, name) && isShort(t, instanceType) && wasSent("l", mail...)
			},
		},
		"rebalance": {
			func(id string) events.Detail { return &events.RebalanceRecommendation{InstanceID: id} },
			func(t *testing.T, name, _ string, _ ...*mailbox) bool {
				return !isEnding(t, name) && annotation(t, name, disruption.RebalanceRecommendedAnnotationKey) != ""
			},
		},
		"change": {
			func(id string) events.Detail { return change(id, events.HealthStatusUpcoming, 14*24*time.Hour) },
			func(t *testing.T, name, _ string, _ ...*mailbox) bool {
				return !isEnding(t, name) && annotation(t, name, disruption.DepartsAtAnnotationKey) != ""
			},
		},
		"near": {
			func(id string) events.Detail { return change(id, events.HealthStatusOpen, 10*time.Minute) },
			func(t *testing.T, name, _ string, mail ...*mailbox) bool {
				return isEnding(t, name) && isTainted(t, name) && annotation(t, name, api.NodeClaimTerminationTimestampAnnotationKey) != "" && wasSent("l", mail...)
			},
		},
		"terminated": {
			func(id string) events.Detail {
				return &events.StateChange{InstanceID: id, State: events.StateTerminated}
			},
			func(t *testing.T, name, _ string, mail ...*mailbox) bool {
				return isEnding(t, name) && isTainted(t, name) && wasSent("l", mail...)
			},
		},
	}
	var deaths atomic.Int32
	t.Cleanup(func() { t.Logf("killed %d times", deaths.Load()) })
	for kind, tested := range kinds {
		for mode, cutting := range map[string]func(int) *clustertest.Cut{"before": clustertest.After, "unseen": clustertest.AfterUnseen} {
			t.Run(kind+" "+mode, func(t *testing.T) {
				t.Parallel() // most of the time is waiting for Kubernetes' controllers
				for n := 0; ; n++ {
					name := fmt.Sprintf("%s%s%d", kind, mode, n)
					id, instanceType := ours(t, name), "m5."+name
					server.Patch(t, api.NodeClaimsPath+"/"+name, map[string]any{"metadata": map[string]any{"labels": map[string]string{corev1.LabelInstanceTypeStable: instanceType}}})
					cut := cutting(n)
					dying, early := newHandler(t, cut)
					living, late := newHandler(t, nil)
					come := failed(t, dying, batch(t, tested.detail(id)))
					if !tested.effect(t, name, instanceType, early) && len(come) == 0 {
						t.Errorf("killed at call %d, the message was taken for done without its effect", n)
					}
					for round := range 2 {
						if ids := failed(t, living, batch(t, tested.detail(id))); len(ids) != 0 {
							t.Errorf("killed at call %d, the message comes back in round %d: %v", n, round, ids)
						}
						if !tested.effect(t, name, instanceType, early, late) {
							t.Errorf("killed at call %d, the effect is not there after round %d", n, round)
						}
					}
					if !cut.Over() {
						if n < 2 {
							t.Errorf("the event took %d calls: nothing was tested", n)
						}
						return
					}
					deaths.Add(1)
				}
			})
		}
	}
}

// wasSent tells whether any of the mailboxes has a message for the queue.
func wasSent(url string, mail ...*mailbox) bool {
	for _, box := range mail {
		if len(box.sent[url]) > 0 {
			return true
		}
	}
	return false
}
