package provision

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/events/own"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/status"
)

// tellFreezes tells people of freezes that began or ended since the last tick that was told, and
// returns those of now. A pass that dies before it has stored them leads to the same events again.
// Known is false where either side cannot be read.
func (h *Handler) tellFreezes(ctx context.Context, client *cluster.Client) (active []freeze.Freeze, known bool) {
	frozen, err := inventory.Freezes(ctx, client)
	var last status.Contents
	if err == nil {
		last, err = status.Read(ctx, client)
	}
	if err != nil {
		slog.WarnContext(ctx, "people are not told of freezes", "error", err)
		return nil, false
	}
	active = h.forgetAlarms(ctx, client, frozen).Active(h.now())
	var before []freeze.Freeze
	if last.Deployment != nil {
		before = last.Deployment.Freezes
	}
	began, ended := freeze.Changed(before, active)
	if len(began)+len(ended) == 0 {
		return active, true
	}
	pools, err := client.NodePools(ctx)
	if err != nil {
		slog.WarnContext(ctx, "people are not told of freezes", "error", err)
		return nil, false
	}
	var details []own.Detail
	var events cluster.PendingEvents
	for i := range began {
		slog.InfoContext(ctx, "a freeze began", "freeze", began[i].String(), "holds", began[i].Holds())
		details = append(details, own.FreezeBegan{Head: own.HeadOf(h.cluster), Freeze: published(&began[i])})
		addAbout(&events, pools, &began[i], api.EventReasonFrozen, began[i].String()+"; it holds "+began[i].Holds())
	}
	for i := range ended {
		slog.InfoContext(ctx, "a freeze ended", "freeze", ended[i].String())
		details = append(details, own.FreezeEnded{Head: own.HeadOf(h.cluster), Freeze: published(&ended[i])})
		addAbout(&events, pools, &ended[i], api.EventReasonThawed, "A freeze has ended: "+ended[i].String())
	}
	events.Flush(ctx, client, parallelWrites, h.now())
	h.publisher.Publish(ctx, details...)
	return active, true
}

// addAbout adds an event about each pool that the freeze holds.
func addAbout(events *cluster.PendingEvents, pools []api.NodePool, one *freeze.Freeze, reason, message string) {
	for i := range pools {
		if one.Pool == "" || one.Pool == pools[i].Name {
			events.Add(cluster.Event{
				About: disruption.AboutPool(&pools[i]), Type: corev1.EventTypeNormal, Reason: reason, Message: message})
		}
	}
}

func published(one *freeze.Freeze) own.Freeze {
	made := own.Freeze{
		NodePool: one.Pool, Who: one.Who, Reason: one.Reason, Launches: one.Launches, Drains: one.Drains,
		Problem: one.Problem, Alarm: one.Alarm, State: one.State, NodeClass: one.Class, Unread: one.Unread,
	}
	if one.ByAlarms() && !one.Since.IsZero() {
		made.Since = one.Since.UTC().Format(time.RFC3339)
	}
	if !one.Until.IsZero() {
		made.Until = one.Until.UTC().Format(time.RFC3339)
	}
	return made
}
