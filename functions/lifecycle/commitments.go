package lifecycle

import (
	"context"
	"log/slog"

	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// usage lists the account's instances that commitments may pay for. EC2 may throttle the call; the next tick
// repeats it.
type usage func(context.Context) ([]commitment.Instance, error)

// countCommitments counts on each tick what the account's instances use of its commitments, for the plans of the next
// minutes. Without a count, prices are soon those without commitments, so that a failure is only logged.
func (h *Handler) countCommitments(ctx context.Context, store inventory.Store, s *seen) {
	if h.usage == nil || !s.tick {
		return
	}
	facts, err := inventory.CommitmentFacts(ctx, store)
	if err != nil || len(facts.Reserved)+len(facts.Plans) == 0 {
		if err != nil {
			slog.WarnContext(ctx, "commitments are not counted", "error", err)
		}
		return
	}
	now := h.now()
	instances, err := h.usage(ctx)
	if err != nil {
		slog.WarnContext(ctx, "commitments are not counted", "error", err)
		return
	}
	reading := &commitment.Reading{
		Time: now.UTC(), Share: h.commitmentShare, Applied: commitment.Apply(facts, instances, now),
	}
	reading.Among(h.cluster, instances)
	reading.Own(instances)
	if err := inventory.PutCommitments(ctx, store, reading); err != nil {
		slog.WarnContext(ctx, "commitments are not counted", "error", err)
	}
}
