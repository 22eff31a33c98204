package disrupt

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/whittle-dev/whittle/functions/disrupt/decide"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/nodecost"
)

// parallelSteering is how many nodes get their taint at once.
const parallelSteering = 10

// steer writes the soft taint of nodes that consolidation would take next, and removes it from others, in one pass
// of each minute. Nothing depends on the taint, so that one which could not be written only waits for the
// next minute.
func (p *pass) steer(ctx context.Context) error {
	now := p.now()
	if !decide.InReportWindow(now) || !p.fleet.Seen.Steers() {
		return nil
	}
	p.record(decide.Stay(disruption.Unsteered(p.fleet.Seen), now)...)
	known, err := p.fleet.Catalog(ctx)
	if err != nil {
		return fmt.Errorf("reading prices to steer pods: %w", err)
	}
	costs := nodecost.Of(known, p.fleet.Objects.NodeClasses, p.fleet.Objects.NodePools)
	changes, more := disruption.Steer(p.fleet.Seen, costs.PriceOfClaim, now)
	if len(changes) == 0 {
		return nil
	}
	if changes, err = p.steerUnfrozen(ctx, changes); err != nil {
		return err
	}
	written := p.writeSteering(ctx, changes)
	slog.InfoContext(ctx, "steered pods off nodes", "nodes", len(changes), "written", written, "more", more)
	return nil
}

// steerUnfrozen leaves out the nodes that would get the taint although they are frozen since the
// snapshot.
func (p *pass) steerUnfrozen(ctx context.Context, changes []disruption.Steering) ([]disruption.Steering, error) {
	frozen, err := p.client.Freezes(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(changes, func(change disruption.Steering) bool {
		return change.Candidate && p.holds(ctx, frozen, change.Node) != nil
	}), nil
}

// writeSteering writes the taints side by side, and returns how many it has written. A node that has
// changed or gone is left to the next minute.
func (p *pass) writeSteering(ctx context.Context, changes []disruption.Steering) int {
	var written atomic.Int64
	var group errgroup.Group
	group.SetLimit(parallelSteering)
	for _, change := range changes {
		group.Go(func() error {
			node := change.Node.Node
			err := p.client.PatchNode(ctx, node.Name, disruption.SteerPatch(node, change.Candidate))
			if err == nil {
				written.Add(1)
			}
			if err == nil || cluster.IsStale(err) {
				return nil
			}
			return fmt.Errorf("node %s: %w", node.Name, err)
		})
	}
	if err := group.Wait(); err != nil {
		// One of them is enough: what keeps one node from being written keeps all.
		slog.WarnContext(ctx, "soft taints of nodes not written", "error", err)
	}
	return int(written.Load())
}
