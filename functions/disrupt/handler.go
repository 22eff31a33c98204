package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/queue"
)

const (
	// leaseName is held by whoever decides about taking nodes away.
	leaseName = "whittle-disrupt"
	// horizon is how far ahead a look is asked for. The ticks, some twenty seconds
	// apart, find what is due later: a message for each of them would multiply.
	horizon = 15 * time.Second
)

type sender interface {
	Send(ctx context.Context, url string, messages ...queue.Message) error
}

type handler struct {
	cluster                       string
	disrupt, lifecycle, provision string // queue URLs
	connect                       func(context.Context) (kubernetes, error)
	sender                        sender
	now                           func() time.Time
	metrics                       *metrics.Recorder

	rest rest
}

// handle answers a batch with one pass.
func (h *handler) handle(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
	return function.OnePass(h.now, better, h.pass)(ctx, batch)
}

// better is a message that may go on for longer.
func better(candidate, chosen queue.Message) bool { return candidate.Hop < chosen.Hop }

// pass looks for nodes that are not needed, under the lease: the budgets hold
// only if one invocation counts at a time. Who does not get it leaves; the one
// that has it sees the same nodes.
func (h *handler) pass(ctx context.Context, wake queue.Message) error {
	work, cancel := function.WithReserve(ctx)
	defer cancel()
	client, err := h.connect(work)
	if err != nil {
		return err
	}
	// All that an idle look costs: one list from the watch cache.
	if claims, err := client.CachedNodeClaims(work); err != nil || len(claims) == 0 {
		return err
	}
	end, _ := work.Deadline()
	now := h.now()
	held, err := client.AcquireLease(work, leaseName, function.Invocation(work, now), now, now.Add(time.Until(end)+function.Reserve))
	if err != nil {
		return err
	}
	if held == nil {
		slog.InfoContext(ctx, "another invocation looks for nodes to take away")
		return nil
	}
	r := &run{handler: h, client: client}
	err = r.look(work)
	if released := held.Release(context.WithoutCancel(ctx)); released != nil {
		slog.WarnContext(ctx, "the lease stays until its deadline", "lease", leaseName, "error", released)
	}
	return errors.Join(err, h.rearm(ctx, wake, r))
}

// rearm wakes lifecycle and provision for what was begun, and this function for what is
// due before the next tick.
func (h *handler) rearm(ctx context.Context, wake queue.Message, r *run) error {
	var failed []error
	now := h.now()
	if r.removed > 0 {
		failed = append(failed, h.sender.Send(ctx, h.lifecycle, queue.Message{Cluster: h.cluster, At: now, Reason: queue.ReasonContinue}))
	}
	if r.launches {
		failed = append(failed, h.sender.Send(ctx, h.provision, queue.Message{Cluster: h.cluster, At: now, Reason: queue.ReasonInterruption}))
	}
	if !r.again.IsZero() && r.again.Sub(now) < horizon && wake.Hop < queue.MaximumHops {
		// SQS counts in whole seconds: one more, so that it is due when the message comes.
		failed = append(failed, h.sender.Send(ctx, h.disrupt, wake.Next(queue.ReasonContinue, r.again.Add(time.Second))))
	}
	return errors.Join(failed...)
}
