package main

import (
	"context"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/observe"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// Objects reads everything that a look decides by, in one go: what is planned is planned
// for the pods that were seen on the nodes.
func (e edge) Objects(ctx context.Context) (*snapshot.Objects, error) {
	return observe.Objects(ctx, e.Client)
}

// Without is what the planner sees when the claims' nodes leave: the pods of these nodes, and
// of all that are leaving already, which provision has planned for, look for a place.
func (e edge) Without(ctx context.Context, objects *snapshot.Objects, seen *disruption.Snapshot, leaving []*api.NodeClaim, now time.Time) (*plan.Snapshot, error) {
	known, err := e.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	observed, err := inventory.Observed(ctx, e.Client, objects.NodeClaims)
	if err != nil {
		return nil, err
	}
	without := snapshot.Without(objects, seen, leaving, now)
	// Why a pool gets no nodes is provision's to tell.
	made := snapshot.NewOffer(without, known, observed, now).Assemble(without, now)
	snapshot.AddUnlaunched(made, without)
	made.PreferencePolicy, made.MinValuesPolicy = e.preference, e.minValues
	return made, observe.Details(ctx, e.Client, made)
}
