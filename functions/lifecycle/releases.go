package lifecycle

import (
	"context"
	"log/slog"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodepool"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// halts are the releases that disrupt found to do worse, for the conditions of their pools. They are
// read only where a node has drifted or a pool shows one.
func (p *pass) halts(ctx context.Context) nodepool.Halts {
	drifted, shown := map[string]bool{}, false
	for i := range p.seen.claims {
		if claim := &p.seen.claims[i]; api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeDrifted) {
			drifted[claim.Labels[api.NodePoolLabelKey]] = true
		}
	}
	for i := range p.seen.owners.pools {
		conditions := p.seen.owners.pools[i].Status.Conditions
		shown = shown || api.GetCondition(conditions, api.ConditionTypeReleaseHalted) != nil
	}
	if len(drifted) == 0 && !shown {
		return nodepool.Halts{}
	}
	records, err := inventory.Releases(ctx, p.client)
	if err != nil {
		slog.WarnContext(ctx, "releases are not read: conditions of pools stay", "error", err)
		return nodepool.Halts{Unread: true}
	}
	orders, err := inventory.ReleaseOrders(ctx, p.client)
	if err != nil {
		slog.WarnContext(ctx, "releases are not read: conditions of pools stay", "error", err)
		return nodepool.Halts{Unread: true}
	}
	halts := nodepool.Halts{Why: map[string]string{}}
	for pool, record := range records {
		if !record.Halted.IsZero() && drifted[pool] && orders.Of(pool, record.Release) == nil {
			halts.Why[pool] = record.Why
		}
	}
	return halts
}
