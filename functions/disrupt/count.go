package main

import (
	"context"
	"log/slog"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/metrics"
)

// count writes what the node's end saves. Without prices it counts as nothing saved: the node
// is counted all the same.
func (r *run) count(ctx context.Context, node *disruption.Node, reason string) {
	if r.metrics == nil {
		return
	}
	if r.prices == nil {
		known, err := r.client.Catalog(ctx)
		if err != nil {
			slog.WarnContext(ctx, "what the nodes cost is not known", "error", err)
			known = &catalog.Snapshot{}
		}
		r.prices = known
	}
	r.metrics.Write(metrics.CountOf(metrics.DisruptionSavedDollars, reason, r.seen.Saved(node, r.prices)))
}
