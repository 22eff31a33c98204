package provision

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/hours"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// sleeping writes the windows of the pool default.
func (e *environment) sleeping(windows string) {
	e.t.Helper()
	pool := nodePool("default", "default", nil)
	if windows != "" {
		pool.SetAnnotations(map[string]string{api.SleepAnnotationKey: windows, api.WakeAheadAnnotationKey: "0s"})
	}
	e.apply(pool)
}

// order writes the ConfigMap of the whole cluster until the test is over.
func (e *environment) order(changes map[string]string) {
	e.t.Helper()
	maps := e.core.CoreV1().ConfigMaps("whittle-system")
	_ = maps.Delete(e.t.Context(), inventory.ControlName, metav1.DeleteOptions{})
	_, err := maps.Create(e.t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: inventory.ControlName}, Data: changes}, metav1.CreateOptions{})
	e.try(err)
	e.t.Cleanup(func() {
		// The test's own context has ended by then.
		_ = maps.Delete(context.Background(), inventory.ControlName, metav1.DeleteOptions{})
	})
}

func TestASleepingPoolLaunchesNothing(t *testing.T) {
	e := newEnvironment(t)
	e.sleeping("Mon-Sun")
	e.pod("one", "1", nil)
	e.pass()
	if claims := e.claims(); len(claims) > 0 {
		t.Fatalf("a sleeping pool has %d claims", len(claims))
	}
	if told := strings.Join(e.events("one", "FailedScheduling"), "; "); !strings.Contains(told, "it sleeps") {
		t.Errorf("the pod is told %q", told)
	}
	if told := e.events("default", snapshot.ReasonAsleep); len(told) > 0 {
		t.Errorf("a sleep that somebody wanted is reported: %q", told)
	}
	e.sleeping("")
	e.pass()
	if claims := e.claims(); len(claims) != 1 {
		t.Errorf("the pool has %d claims when it is awake, want one", len(claims))
	}
}

func TestAPoolWhoseSleepCannotBeReadLaunches(t *testing.T) {
	e := newEnvironment(t)
	e.sleeping("Mon-Fri 20-07")
	e.pod("one", "1", nil)
	e.pass()
	if claims := e.claims(); len(claims) != 1 {
		t.Errorf("the pool has %d claims, want one", len(claims))
	}
	told := strings.Join(e.events("default", api.EventReasonInvalidHoursAnnotation), "; ")
	for _, want := range []string{"metadata.annotations[whittle.dev/sleep]", `"Mon-Fri 20-07"`, "the pool stays awake"} {
		if !strings.Contains(told, want) {
			t.Errorf("the pool is told %q, want %q in it", told, want)
		}
	}
}

func TestAPodOfASleepingPoolComesToAnotherPool(t *testing.T) {
	e := newEnvironment(t)
	e.sleeping("Mon-Sun")
	e.apply(nodePool("awake", "default", nil))
	e.pod("one", "1", nil)
	e.pass()
	if claims := e.claims(); len(claims) != 1 || claims[0].Labels[api.NodePoolLabelKey] != "awake" {
		t.Errorf("claims %+v", claims)
	}
}

func TestAStaticPoolThatSleepsHasNoReplicas(t *testing.T) {
	e := newEnvironment(t)
	pool := static(2, nil)
	pool.SetAnnotations(map[string]string{api.SleepAnnotationKey: "Mon-Sun"})
	e.replicas(pool)
	e.pass()
	if claims := e.claims(); len(claims) > 0 {
		t.Fatalf("a sleeping pool has %d claims", len(claims))
	}
	pool.SetAnnotations(map[string]string{})
	e.apply(pool)
	e.pass()
	if claims := e.claims(); len(claims) != 2 {
		t.Errorf("the pool has %d claims when it is awake, want two", len(claims))
	}
}

func TestTheClusterSleepsByItsOrder(t *testing.T) {
	e := newEnvironment(t)
	e.order(map[string]string{
		hours.OrderSleepUntil: time.Now().Add(time.Hour).UTC().Format(time.RFC3339), hours.OrderReason: "offsite"})
	e.pod("one", "1", nil)
	e.pass()
	if claims := e.claims(); len(claims) > 0 {
		t.Fatalf("a sleeping cluster has %d claims", len(claims))
	}
	told := strings.Join(e.events("one", "FailedScheduling"), "; ")
	if !strings.Contains(told, "the cluster sleeps until") || !strings.Contains(told, "offsite") {
		t.Errorf("the pod is told %q", told)
	}
	e.order(map[string]string{hours.OrderSleepUntil: "tomorrow"})
	e.pass()
	if claims := e.claims(); len(claims) != 1 {
		t.Errorf("with a broken order the cluster has %d claims, want one", len(claims))
	}
	if told := strings.Join(e.events("default", api.EventReasonInvalidClusterOrder), "; "); !strings.Contains(
		told, `data.sleepUntil: "tomorrow" is not a time`) {
		t.Errorf("the pool is told %q", told)
	}
}

// TestPodsOfASleepingPoolRingNoAlarm looks at a pod an hour after its creation, while its pool sleeps and
// while it is awake.
func TestPodsOfASleepingPoolRingNoAlarm(t *testing.T) {
	e := newEnvironment(t)
	e.pod("one", "1", nil)
	h := e.handler(alive())
	h.now = func() time.Time { return time.Now().Add(time.Hour) }
	for windows, want := range map[string]string{"Mon-Sun": `"PodsPending":0`, "": `"PodsPending":1`} {
		e.sleeping(windows)
		var numbers strings.Builder
		h.metrics = metrics.NewRecorder(clusterName, &numbers, time.Now)
		_, pending, err := h.measurePending(t.Context(), e.client)
		e.try(err)
		if oldest := pending.Oldest > 10*time.Minute; pending.Count != 1 || oldest != (windows == "") ||
			!strings.Contains(numbers.String(), want) {
			t.Errorf("with windows %q pending are %+v: %s", windows, pending, numbers.String())
		}
	}
}
