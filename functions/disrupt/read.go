package main

import (
	"context"
	"fmt"

	"github.com/whittle-dev/whittle/functions/disrupt/decide"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// view is the cluster as the pass has read it, with what the pass has written since.
type view struct {
	objects *snapshot.Objects
	seen    *disruption.Snapshot
	// spread is set once the pods have their default topology spread.
	spread bool
}

// read reads the cluster once for all stages of the pass.
func read(ctx context.Context, client kubernetes) (view, error) {
	objects, err := client.Objects(ctx)
	if err != nil {
		return view{}, err
	}
	seen, err := snapshot.Disruption(objects, client.CertificateAuthority())
	return view{objects: objects, seen: seen}, err
}

// simulate returns what the planner sees when the nodes of the claims leave. Only the first call of a
// pass reads what default topology spread needs, because most passes simulate nothing.
func (p *pass) simulate(ctx context.Context, leaving ...*api.NodeClaim) (*plan.Snapshot, error) {
	if !p.view.spread {
		if err := p.client.SpreadByDefault(ctx, p.view.objects.Pods); err != nil {
			return nil, err
		}
		p.view.spread = true
	}
	return p.client.Without(ctx, p.view.objects, p.view.seen, leaving, p.now())
}

// readConsolidation reads what consolidation decides on, with the changes of this pass.
func (p *pass) readConsolidation(ctx context.Context) (*consolidation.Snapshot, error) {
	planned, err := p.simulate(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading what nodes cost: %w", err)
	}
	return decide.ConsolidationSnapshot(planned, p.view.seen, p.now()), nil
}
