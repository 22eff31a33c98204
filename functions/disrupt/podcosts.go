package disrupt

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/whittle-dev/whittle/functions/disrupt/decide"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/nodecost"
)

// parallelPodCosts is how many pods get their cost at once.
const parallelPodCosts = 10

// writePodCosts writes the pods' deletion costs, in one pass of each minute after a change of the
// fleet. Nothing depends on them, so that a cost which could not be written only waits for the next
// minute.
func (p *pass) writePodCosts(ctx context.Context) error {
	now := p.now()
	if p.podCosts == nil || !decide.InReportWindow(now) || p.podCosts.unchanged(p.fleet.Objects, now) {
		return nil
	}
	known, err := p.fleet.Catalog(ctx)
	if err != nil {
		return fmt.Errorf("reading prices for the deletion costs of pods: %w", err)
	}
	costs := nodecost.Of(known, p.fleet.Objects.NodeClasses, p.fleet.Objects.NodePools)
	wanted, more := disruption.PodCosts(p.fleet.Seen, costs.PriceOfClaim, now)
	written := p.writeEach(ctx, wanted)
	if len(wanted) > 0 {
		slog.InfoContext(ctx, "wrote deletion costs of pods", "pods", len(wanted), "written", written, "more", more)
	}
	if written == len(wanted) && !more {
		p.podCosts.remember(p.fleet.Objects, now)
	}
	return nil
}

// writeEach writes the costs side by side, and returns how many it has written. A pod that has
// changed or gone is left to the next pass.
func (p *pass) writeEach(ctx context.Context, wanted []disruption.PodCost) int {
	var written atomic.Int64
	var group errgroup.Group
	group.SetLimit(parallelPodCosts)
	for _, cost := range wanted {
		group.Go(func() error {
			err := p.client.AnnotatePod(ctx, cost.Pod, decide.CostAnnotations(cost))
			if err == nil {
				written.Add(1)
			}
			if err == nil || cluster.IsStale(err) {
				return nil
			}
			return fmt.Errorf("pod %s/%s: %w", cost.Pod.Namespace, cost.Pod.Name, err)
		})
	}
	if err := group.Wait(); err != nil {
		// One of them is enough: a missing right concerns all.
		slog.WarnContext(ctx, "deletion costs of pods not written", "error", err)
	}
	return int(written.Load())
}
