package world_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/testdata/lab/cloudwatch"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// watchedAlarm is a composite alarm that freezes disruption.
const watchedAlarm = "checkout-errors"

// alarmFreezes has an alarm that rings, by an event and without one, and an order by an event. An empty node
// stays as long, and goes afterwards.
func alarmFreezes(t *testing.T, w *world.World, setup scenario.Setup) {
	wait(t, "the alarms to be read", frozenBy(setup, ""))
	scale := func(replicas int) {
		t.Helper()
		if err := setup.Client.Scale(t.Context(), "default", "free", replicas); err != nil {
			t.Fatal(err)
		}
	}
	scale(3)
	wait(t, "the pods to run", setup.Client.Running("default", "app=free", 3))
	wait(t, "their nodes to be initialized", initialized(setup))
	w.SetAlarm(t.Context(), watchedAlarm, cloudwatch.Alarm, false)
	wait(t, "the alarm to freeze", frozenBy(setup, watchedAlarm))
	wait(t, "the freeze to be announced", announced(setup, "Frozen", watchedAlarm))
	scale(0)
	// An empty node goes after less than half of this time.
	time.Sleep(30 * time.Second)
	nodes, err := setup.Client.Nodes(t.Context())
	if err != nil || len(nodes) == 0 {
		t.Fatalf("%d nodes are left while the alarm rings, %v", len(nodes), err)
	}
	w.PutEvent(t.Context(), "my.ci", "whittle.freeze", `{"cluster":"`+setup.Name+`","reason":"INC-12"}`)
	wait(t, "the event to freeze", frozenBy(setup, "my.ci"))
	w.PutEvent(t.Context(), "my.ci", "whittle.thaw", `{"cluster":"`+setup.Name+`"}`)
	w.SetAlarm(t.Context(), watchedAlarm, cloudwatch.OK, true)
	wait(t, "a tick to find that the alarm is over", frozenBy(setup, ""))
	wait(t, "the cluster to be empty", empty(setup))
}

// frozenBy reports whether the cluster is frozen by what the words have, and by nothing for no words. It wants
// the alarms to be known in any case.
func frozenBy(setup scenario.Setup, words string) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		known, err := inventory.Freezes(ctx, setup.Cluster)
		if err != nil {
			return false, "", err
		}
		var all []string
		for _, one := range known.Active(time.Now()) {
			all = append(all, one.String())
		}
		said := strings.Join(all, "; ")
		if words == "" {
			return known.ByAlarms() && known.Of(freeze.Disruptions, "", time.Now()) == nil, said, nil
		}
		return strings.Contains(said, words), said, nil
	}
}
