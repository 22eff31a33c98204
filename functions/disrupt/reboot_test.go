package disrupt

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/reboot"
)

// breakGPU gives an initialized node an error of its GPU that a reboot may end.
func breakGPU(t *testing.T, name string) {
	t.Helper()
	initialized(t, name)
	server.Pod(t, "guest-"+name, "node-"+name)
	t.Cleanup(func() {
		server.Delete(t, functiontest.PodsPath+"/guest-"+name)
		server.EndPods(t, "node-"+name)
	})
	at := metav1.NewTime(time.Now().Add(-time.Hour))
	server.Patch(t, functiontest.NodesPath+"/node-"+name+"/status", map[string]any{"status": map[string]any{
		"conditions": []map[string]any{
			{"type": "Ready", "status": "True", "reason": "KubeletReady"},
			{"type": "AcceleratedHardwareReady", "status": "False", "reason": "NvidiaXID63Error",
				"lastHeartbeatTime": at, "lastTransitionTime": at},
		},
	}})
}

// TestAnErrorThatARebootMayEndIsNoReplacement holds that disrupt orders the reboot, with its drain, and
// wakes lifecycle. A pass that dies in between is repeated, and one that comes later changes nothing.
func TestAnErrorThatARebootMayEndIsNoReplacement(t *testing.T) {
	pool(t, "100%")
	offers(t)
	breakGPU(t, "stuck")
	t.Cleanup(func() { forget(t) })
	// The first write takes the Lease, which the next pass finds ended an hour later.
	for writes := 1; writes < 4; writes++ {
		l := newHarness(t, functiontest.After(writes))
		l.ahead, l.rebootForRepair = time.Duration(writes)*time.Hour, true
		_ = l.tick(t)
	}
	l := newHarness(t, nil)
	l.ahead, l.rebootForRepair = 4*time.Hour, true
	l.mustTick(t)
	claim := readClaim(t, "stuck")
	bound, limited, err := reboot.DrainBound(claim)
	if !reboot.Drains(claim) || bound != 5*time.Minute || !limited || err != nil {
		t.Fatalf("bound %s, %t, %v; conditions %+v", bound, limited, err, claim.Status.Conditions)
	}
	if isBeingReplaced(t, "stuck") || isTainted(t, "stuck") || isEnding(t, "stuck") {
		t.Error("the node is replaced")
	}
	version := claim.ResourceVersion
	l.mustTick(t)
	if readClaim(t, "stuck").ResourceVersion != version {
		t.Error("the order was written again")
	}
}

// TestRebootsAreOrderedOnlyWhereTheSettingIsOn also holds that lifecycle is woken, and that a node that was
// rebooted twice is replaced.
func TestRebootsAreOrderedOnlyWhereTheSettingIsOn(t *testing.T) {
	pool(t, "100%")
	offers(t)
	for name, test := range map[string]struct{ on, twice, reboots bool }{
		"on": {true, false, true}, "off": {false, false, false}, "often": {true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			breakGPU(t, name)
			t.Cleanup(func() { forget(t) })
			l := newHarness(t, nil)
			l.ahead, l.rebootForRepair = 11*time.Minute, test.on // the time counts from the node's creation
			if test.twice {
				begun := l.now().Add(-time.Hour).UTC().Format(time.RFC3339)
				server.Patch(t, api.NodeClaimsPath+"/"+name, map[string]any{"metadata": map[string]any{
					"annotations": map[string]any{api.RebootsAnnotationKey: begun + "," + begun},
				}})
			}
			l.mustTick(t)
			if got := reboot.InProgress(readClaim(t, name)); got != test.reboots || isBeingReplaced(t, name) == test.reboots {
				t.Errorf("rebooted %t, replaced %t", got, isBeingReplaced(t, name))
			}
			if woken := len(l.mail.sent["l"]) > 0; woken != test.reboots {
				t.Errorf("lifecycle is woken: %t", woken)
			}
		})
	}
}
