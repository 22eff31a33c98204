package lifecycle

import (
	"context"
	"log/slog"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// usage lists the account's instances that commitments may pay for. EC2 may throttle the call; the next tick
// repeats it.
type usage func(context.Context) ([]commitment.Instance, error)

// commitmentStore keeps the count, and takes the events about commitments that end.
type commitmentStore interface {
	inventory.Store
	cluster.EventRecorder
}

// countCommitments counts on each tick what the account's instances use of its commitments, for the plans of the next
// minutes. Without a count, prices are soon those without commitments, so that a failure is only logged.
func (h *Handler) countCommitments(ctx context.Context, store commitmentStore, s *seen) {
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
	h.tellEndings(ctx, store, reading, &facts)
	if err := inventory.PutCommitments(ctx, store, reading); err != nil {
		slog.WarnContext(ctx, "commitments are not counted", "error", err)
	}
}

// tellEndings notes which commitments end soon, and tells people of those that the last reading does not
// have. The reading is written after the events: a pass that dies between repeats them.
func (h *Handler) tellEndings(
	ctx context.Context, store commitmentStore, reading *commitment.Reading, facts *commitment.Facts,
) {
	if reading.Ending = facts.Ending(reading.Time); len(reading.Ending) == 0 {
		return
	}
	last, err := inventory.Commitments(ctx, store)
	if err != nil {
		slog.WarnContext(ctx, "people are not told of commitments that end", "error", err)
		reading.Ending = nil // the next tick tells them
		return
	}
	about := corev1.ObjectReference{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: cluster.Namespace, Name: inventory.CommitmentsName,
	}
	var events cluster.PendingEvents
	for _, one := range reading.Untold(last) {
		slog.WarnContext(ctx, "a commitment ends soon",
			"commitment", one.ID, "kind", one.Kind, "ends", one.Ends, "per-hour", one.PerHour)
		events.Add(cluster.Event{
			About: about, Type: corev1.EventTypeWarning, Reason: api.EventReasonCommitmentEnds, Message: one.String(),
		})
	}
	events.Flush(ctx, store, parallel, h.now())
}
