package main

import (
	"context"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	servers "github.com/whittle-dev/whittle/shared/cluster/clustertest"
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
