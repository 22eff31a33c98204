package provision

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/metrics"
)

// TestADryRunPlansAndDoesNothing runs the function as its stack does with dryRun: against a class
// that nobody has resolved, and claims that nobody has launched.
func TestADryRunPlansAndDoesNothing(t *testing.T) {
	e := newEnvironment(t)
	e.pod("one", "1", nil)
	e.pod("two", "7", nil)
	h := e.handler(alive())
	h.dryRun, h.classes.DryRun, h.connection = true, false, fixed{e.client.DryRun()}
	var numbers bytes.Buffer
	h.metrics = metrics.NewRecorder(clusterName, &numbers, time.Now)
	log := captureLog(t)
	for range 2 {
		if response, err := h.handle(t.Context(), tick("1")); err != nil || len(response.BatchItemFailures) > 0 {
			t.Fatalf("%v, %v", response, err)
		}
	}
	if claims, instances := e.claims(), e.instances(); len(claims)+len(instances) > 0 {
		t.Errorf("claims %v, instances %v", claims, instances)
	}
	if len(e.sent.messages) > 0 {
		t.Errorf("lifecycle is woken for nothing: %+v", e.sent.messages)
	}
	if messages := e.events("one", "Nominated"); len(messages) > 0 {
		t.Errorf("the pod is nominated in a dry run: %q", messages)
	}
	classes, err := e.client.NodeClasses(t.Context())
	e.try(err)
	if len(classes) != 1 || api.ConditionTrue(classes[0].Status.Conditions, api.ConditionReady) {
		t.Errorf("the class is written: %+v", classes)
	}
	for _, part := range []string{"dry run: would create nodeclaim", `"NodePool":"default"`, "m5."} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log lacks %q:\n%s", part, log.String())
		}
	}
	for _, part := range []string{`"PodsPending":2`, `"PlanDollarsPerHour":`, `"PlanBoundDollarsPerHour":`} {
		if !strings.Contains(numbers.String(), part) {
			t.Errorf("the numbers lack %s:\n%s", part, numbers.String())
		}
	}
}

// TestLaunchesAreCounted holds what the dashboard shows of a launch.
func TestLaunchesAreCounted(t *testing.T) {
	e := newEnvironment(t)
	e.pod("one", "1", nil)
	h := e.handler(alive())
	var numbers bytes.Buffer
	h.metrics = metrics.NewRecorder(clusterName, &numbers, time.Now)
	if _, err := h.handle(t.Context(), tick("1")); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"PodsPending":1`, `"OldestPodPendingSeconds":`, `"Launches":1`, `"LaunchSeconds":`} {
		if !strings.Contains(numbers.String(), part) {
			t.Errorf("the numbers lack %s:\n%s", part, numbers.String())
		}
	}
	if strings.Contains(numbers.String(), "LaunchFailures") {
		t.Errorf("a failure is counted:\n%s", numbers.String())
	}
}

// captureLog collects what is logged during the test.
func captureLog(t *testing.T) *bytes.Buffer {
	t.Helper()
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return &log
}
