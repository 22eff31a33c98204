package disrupt

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	servers "github.com/whittle-dev/whittle/shared/cluster/clustertest"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// TestALaggingAPIServerRemovesNoNode closes the budget after the watch cache has stopped.
func TestALaggingAPIServerRemovesNoNode(t *testing.T) {
	pool(t, "100%")
	initialized(t, "lagged")
	l, lag := newHarness(t, nil), &servers.Lag{}
	client := edge{Client: server.Client(t, lag.Wrap)}
	l.connect = func(context.Context) (kubernetes, error) { return client, nil }
	if _, err := client.NodePools(t.Context()); err != nil { // the cache has the open budget
		t.Fatal(err)
	}
	l.mustTick(t)
	if !isNoted(t, "lagged") {
		t.Fatal("the node does not count as empty")
	}
	lag.Freeze()
	server.Patch(t, api.NodePoolsPath+"/default", map[string]any{"spec": map[string]any{
		"disruption": map[string]any{"budgets": []map[string]any{{"nodes": "0"}}},
	}})
	l.ahead = time.Minute
	l.mustTick(t)
	if isEnding(t, "lagged") {
		t.Error("removed by a budget of the past")
	}
}

// meddled changes the claim right before its deletion.
type meddled struct {
	edge
	t *testing.T
}

func (m meddled) DeleteUnchangedNodeClaim(ctx context.Context, claim *api.NodeClaim) error {
	server.Patch(m.t, api.NodeClaimsPath+"/"+claim.Name, map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{api.DoNotDisruptAnnotationKey: "true"},
	}})
	return m.edge.DeleteUnchangedNodeClaim(ctx, claim)
}

func TestAClaimThatChangesAtTheLastMomentStays(t *testing.T) {
	pool(t, "100%")
	initialized(t, "meddled")
	l := newHarness(t, nil)
	l.mustTick(t)
	l.ahead = time.Minute
	client := edge{Client: server.Client(t, nil)}
	l.connect = func(context.Context) (kubernetes, error) { return meddled{client, t}, nil }
	l.mustTick(t)
	if readClaim(t, "meddled").DeletionTimestamp != nil {
		t.Error("deleted although it had changed")
	}
}

// deaf loses the answer of the write that marks a node.
type deaf struct{ edge }

func (d deaf) PatchNodeClaimStatus(
	ctx context.Context, name string, patch map[string]any,
) (*api.NodeClaim, error) {
	stored, err := d.edge.PatchNodeClaimStatus(ctx, name, patch)
	if err == nil && api.ConditionTrue(stored.Status.Conditions, api.ConditionTypeDisruptionReason) {
		return nil, errors.New("connection reset by peer")
	}
	return stored, err
}

// TestAMarkWhoseAnswerIsLostTakesOfTheBudget has an empty node and a drifted one, and a budget of
// one.
func TestAMarkWhoseAnswerIsLostTakesOfTheBudget(t *testing.T) {
	pool(t, "1")
	offers(t)
	initialized(t, "empty", "drifted")
	server.Pod(t, "guest-drifted", "node-drifted")
	t.Cleanup(func() { server.Delete(t, functiontest.PodsPath+"/guest-drifted"); server.EndPods(t, "node-drifted") })
	drift(t, "drifted")
	l := newHarness(t, nil)
	l.ahead = time.Minute
	server.Patch(t, api.NodeClaimsPath+"/empty", map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{disruption.EmptySinceAnnotationKey: l.now().Add(-time.Hour).Format(time.RFC3339)},
	}})
	client := edge{Client: server.Client(t, nil)}
	l.connect = func(context.Context) (kubernetes, error) { return deaf{client}, nil }
	if err := l.tick(t); err == nil {
		t.Fatal("the pass does not tell of the lost answer")
	}
	marked := api.ConditionTrue(readClaim(t, "empty").Status.Conditions, api.ConditionTypeDisruptionReason)
	if !marked || isTainted(t, "drifted") || isBeingReplaced(t, "drifted") {
		t.Errorf("the empty node is marked: %t, the drifted one is tainted: %t, replaced: %t",
			marked, isTainted(t, "drifted"), isBeingReplaced(t, "drifted"))
	}
}
