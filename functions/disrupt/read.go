package main

import (
	"context"
	"fmt"

	"github.com/whittle-dev/whittle/functions/disrupt/decide"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// view is the cluster as the pass has read it, with what the pass has written since.
type view struct {
	objects *snapshot.Objects
	seen    *disruption.Snapshot
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

// readConsolidation reads what consolidation decides on, with the changes of this pass.
func (p *pass) readConsolidation(ctx context.Context) (*consolidation.Snapshot, error) {
	planned, err := p.client.Without(ctx, p.view.objects, p.view.seen, nil, p.now())
	if err != nil {
		return nil, fmt.Errorf("reading what nodes cost: %w", err)
	}
	return decide.ConsolidationSnapshot(planned, p.view.seen, p.now()), nil
}
