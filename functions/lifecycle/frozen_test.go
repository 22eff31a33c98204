package lifecycle

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// control writes the freeze of the key into the ConfigMap, or removes it. It goes with the test.
func control(t *testing.T, key, value string) {
	t.Helper()
	t.Cleanup(func() { server.Delete(t, "/api/v1/namespaces/whittle-system/configmaps/"+inventory.ControlName) })
	if err := inventory.ChangeControl(t.Context(), server.Everything(t), map[string]string{key: value}); err != nil {
		t.Fatal(err)
	}
}

const drains = "who: alice\nreason: INC-12\ndrains: true"

// disrupted writes on the claim why disrupt ends it, and deletes it.
func disrupted(t *testing.T, name, reason string) {
	t.Helper()
	conditions := readClaim(t, name).Status.Conditions
	api.SetCondition(&conditions, metav1.Condition{
		Type: api.ConditionTypeDisruptionReason, Status: metav1.ConditionTrue, Reason: reason}, time.Now())
	server.Patch(t, api.NodeClaimsPath+"/"+name+"/status", map[string]any{
		"status": map[string]any{"conditions": conditions},
	})
	server.Delete(t, api.NodeClaimsPath+"/"+name)
}

// ticks sends ticks, each a second later.
func (l *life) ticks(t *testing.T, node string, number int) {
	t.Helper()
	for range number {
		if _, err := l.handle(t.Context(), wakes(t, l.tick())); err != nil {
			t.Fatal(err)
		}
		server.EndPods(t, node)
		l.clock.ahead += time.Second
		time.Sleep(20 * time.Millisecond)
	}
}

func TestAFreezeHaltsAVoluntaryDrainUntilTheThaw(t *testing.T) {
	l := newLife(t)
	l.join(t, "still")
	server.Pod(t, "guest", "node-still")
	for _, key := range []string{"freeze", "freeze.default"} {
		control(t, key, drains)
	}
	disrupted(t, "still", "Underutilized")
	l.ticks(t, "node-still", 15)
	if isGone(t, "guest") || !slices.Contains(l.ec2.running(), "i-still") {
		t.Fatal("the pod or its instance ended against the freeze")
	}
	drained := api.GetCondition(readClaim(t, "still").Status.Conditions, api.ConditionTypeDrained)
	const waits = "Draining waits: the cluster is frozen by alice until somebody thaws it (INC-12)"
	if drained == nil || drained.Message != waits {
		t.Errorf("the claim says %+v", drained)
	}
	if !server.Reasons(t, "still")["DisruptionBlocked"] {
		t.Errorf("events %v", server.Reasons(t, "still"))
	}
	control(t, "freeze", "")
	l.ticks(t, "node-still", 2)
	if isGone(t, "guest") {
		t.Fatal("the freeze of its pool does not hold")
	}
	control(t, "freeze.default", "until: 2020-01-01T00:00:00Z\ndrains: true")
	l.until(t, "node-still", func() bool { return readClaim(t, "still") == nil })
}

func TestAFreezeHaltsADrainThatBegan(t *testing.T) {
	l := newLife(t)
	l.join(t, "begun")
	server.Pod(t, "first", "node-begun")
	disrupted(t, "begun", "Drifted")
	l.ticks(t, "node-begun", 2)
	control(t, "freeze", drains)
	server.Pod(t, "second", "node-begun")
	l.ticks(t, "node-begun", 15)
	if isGone(t, "second") || !slices.Contains(l.ec2.running(), "i-begun") {
		t.Fatal("the pod or its instance ended against the freeze")
	}
	control(t, "freeze", "")
	l.until(t, "node-begun", func() bool { return readClaim(t, "begun") == nil })
}

func TestWhatAFreezeOfDrainsDoesNotHalt(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, name string){
		"person":    func(t *testing.T, name string) { server.Delete(t, api.NodeClaimsPath+"/"+name) },
		"unhealthy": func(t *testing.T, name string) { disrupted(t, name, "Unhealthy") },
		"interrupted": func(t *testing.T, name string) {
			server.Patch(t, functiontest.NodesPath+"/node-"+name, map[string]any{"metadata": map[string]any{
				"annotations": map[string]string{api.InterruptedAnnotationKey: "SpotInterrupted"}}})
			disrupted(t, name, "Underutilized")
		},
		"other": func(t *testing.T, name string) {
			control(t, "freeze", "who: alice")
			control(t, "freeze.other", drains)
			disrupted(t, name, "Underutilized")
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t)
			l.join(t, name)
			server.Pod(t, "guest-"+name, "node-"+name)
			control(t, "freeze", drains)
			end(t, name)
			l.until(t, "node-"+name, func() bool { return readClaim(t, name) == nil })
		})
	}
}

// forgetful has a ConfigMap that a test changes, and counts its readings.
type forgetful struct {
	inventory.Store
	text    string
	err     error
	reading int
}

func (f *forgetful) ConfigMap(context.Context, string) (*corev1.ConfigMap, error) {
	f.reading++
	return &corev1.ConfigMap{Data: map[string]string{"freeze": f.text}}, f.err
}

func TestAFreezeIsObeyedWithinASecond(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	store := &forgetful{text: "who: alice"}
	read := newFreezes(store, func() time.Time { return now })
	step := nodeclaim.Evict{Hold: nodeclaim.Hold{Voluntary: true, What: freeze.Drains, Claim: &api.NodeClaim{}}}
	for range 10 {
		if err := read.require(t.Context(), step); err != nil {
			t.Fatal(err)
		}
	}
	store.text = drains
	now = now.Add(time.Second)
	if err := read.require(t.Context(), step); !errors.Is(err, errFrozen) || store.reading != 2 {
		t.Errorf("%v after %d readings", err, store.reading)
	}
	store.err = errors.New("no answer")
	now = now.Add(time.Second)
	for range 2 { // a reading that failed is tried again
		if err := read.require(t.Context(), step); !errors.Is(err, errFrozen) {
			t.Errorf("unread: %v", err)
		}
	}
	if store.reading != 4 {
		t.Errorf("%d readings", store.reading)
	}
	if err := read.require(t.Context(), nodeclaim.Evict{}); err != nil || store.reading != 4 {
		t.Errorf("a step that no freeze holds: %v after %d readings", err, store.reading)
	}
}
