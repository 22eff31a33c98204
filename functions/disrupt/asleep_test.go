package disrupt

import (
	"testing"
	"time"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/hours"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// occupy gives each node a pod, until the test is over.
func occupy(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		settle(t, name)
		server.Pod(t, "guest-"+name, "node-"+name)
		t.Cleanup(func() {
			server.Delete(t, functiontest.PodsPath+"/guest-"+name)
			server.EndPods(t, "node-"+name)
		})
	}
}

func endingOf(t *testing.T, names ...string) (ending int) {
	t.Helper()
	for _, name := range names {
		if isEnding(t, name) {
			ending++
		}
		if isBeingReplaced(t, name) {
			t.Errorf("%s is being replaced", name)
		}
	}
	return ending
}

func TestTheNodesOfASleepingPoolEndWithinItsBudgets(t *testing.T) {
	offers(t)
	pool(t, "1")
	initialized(t, "night-a", "night-b")
	occupy(t, "night-a", "night-b")
	l := newHarness(t, nil)
	l.mustTick(t)
	if ending := endingOf(t, "night-a", "night-b"); ending != 0 {
		t.Fatalf("%d nodes of a pool that is awake end", ending)
	}
	server.Patch(t, api.NodePoolsPath+"/default", map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		api.SleepAnnotationKey: "Mon-Sun",
	}}})
	for range 2 {
		l.mustTick(t)
		if ending := endingOf(t, "night-a", "night-b"); ending != 1 {
			t.Fatalf("%d nodes end, and the budget allows one: %v", ending, server.Reasons(t, "night-a"))
		}
	}
}

func TestTheNodesOfASleepingClusterEnd(t *testing.T) {
	offers(t)
	pool(t, "100%")
	initialized(t, "cluster-a", "cluster-b")
	occupy(t, "cluster-a", "cluster-b")
	store := server.Everything(t)
	t.Cleanup(func() { server.Delete(t, "/api/v1/namespaces/whittle-system/configmaps/"+inventory.ControlName) })
	order := func(key, value string) {
		t.Helper()
		if err := inventory.ChangeControl(t.Context(), store, map[string]string{key: value}); err != nil {
			t.Fatal(err)
		}
	}
	l := newHarness(t, nil)
	order(hours.OrderSleepUntil, "soon")
	l.mustTick(t)
	if ending := endingOf(t, "cluster-a", "cluster-b"); ending != 0 {
		t.Fatalf("%d nodes end by an order that cannot be read", ending)
	}
	order(hours.OrderSleepUntil, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	l.mustTick(t)
	if ending := endingOf(t, "cluster-a", "cluster-b"); ending != 2 {
		t.Errorf("%d of two nodes end: %v", ending, server.Reasons(t, "cluster-a"))
	}
}
