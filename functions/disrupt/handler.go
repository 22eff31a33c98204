package disrupt

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/publish"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/shared/sight"
)

const (
	// leaseName is the Lease of the invocation that disrupts nodes.
	leaseName = "whittle-disrupt"
	// horizon is the longest time for which a pass sends the message for the next one. The ticks
	// come some twenty seconds apart and find what is due later. A message for each of those nodes
	// would multiply.
	horizon = 15 * time.Second
	// parallelEvents is how many events are written at a time.
	parallelEvents = 20
)

// sender sends messages to an SQS queue. It returns an error if any message was not sent; the
// caller may send all of them again.
type sender interface {
	Send(ctx context.Context, url string, messages ...queue.Message) error
}

// Handler is the function in one container. What it remembers from one invocation to the next is a
// cache.
type Handler struct {
	// serve is handle, and what comes before it: standby.
	serve function.Handler[events.SQSEvent, events.SQSEventResponse]

	cluster                       string
	disrupt, lifecycle, provision string // queue URLs
	connect                       func(context.Context) (kubernetes, error)
	sender                        sender
	now                           func() time.Time
	metrics                       *metrics.Recorder
	publisher                     *publish.Publisher // nil where no bus gets events

	// settings are those that plans depend on.
	settings sight.Settings
	// terminateFirst has the reasons for which a node may end before its replacement.
	terminateFirst disruption.TerminateFirst
	// rebootForRepair reboots an unhealthy node instead of replacing it, where that may help.
	rebootForRepair bool

	// podCosts remembers the fleet whose pods have their deletion costs. It is nil where disrupt
	// writes none.
	podCosts *settledFleet

	settled settledFleet

	// observe gets what each search for moves has found, before anything is done. It is nil but in tests.
	observe func(*consolidation.Plan)
}

// handle answers a batch of messages with one pass.
func (h *Handler) handle(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
	return function.OnePass(h.now, h.metrics, better, h.pass)(ctx, batch)
}

// better chooses the message that may cause more passes after this one.
func better(candidate, chosen queue.Message) bool { return candidate.Hop < chosen.Hop }

// pass runs one pass under the Lease, because budgets hold only if one invocation counts at a time.
// Without the Lease it returns at once: the invocation that has it sees the same nodes.
func (h *Handler) pass(ctx context.Context, wake queue.Message) error {
	work, cancel := function.WithReserve(ctx)
	defer cancel()
	client, err := h.connect(work)
	if err != nil {
		return err
	}
	// An idle cluster costs this one list, which the watch cache answers.
	if some, err := client.HasNodeClaims(work); err != nil || !some {
		return err
	}
	left, _ := function.Remaining(work)
	now := h.now()
	deadline := now.Add(left + function.Reserve)
	held, err := client.AcquireLease(work, leaseName, function.Invocation(work, now), now, deadline)
	if err != nil {
		return err
	}
	if held == nil {
		slog.InfoContext(ctx, "another invocation has the lease", "lease", leaseName)
		return nil
	}
	p, failed := h.runStages(held.Fence(work), client)
	if err := held.Release(context.WithoutCancel(ctx)); err != nil {
		slog.WarnContext(ctx, "lease not released, it ends at its deadline", "lease", leaseName, "error", err)
	}
	p.events.Flush(work, client, parallelEvents, h.now())
	p.published.Flush(work, h.publisher)
	rearmed := h.rearm(ctx, wake, p)
	return errors.Join(failed, rearmed)
}

// rearm wakes lifecycle and provision for what the pass began, and this function for what is due
// before the next tick.
func (h *Handler) rearm(ctx context.Context, wake queue.Message, p *pass) error {
	var failed []error
	now := h.now()
	send := func(url string, reason queue.Reason, at time.Time) {
		if next, ok := wake.Next(reason, at); ok {
			failed = append(failed, h.sender.Send(ctx, url, next))
		}
	}
	if p.forLifecycle {
		send(h.lifecycle, queue.ReasonContinue, now)
	}
	if p.launches {
		send(h.provision, queue.ReasonInterruption, now)
	}
	if !p.again.IsZero() && p.again.Sub(now) < horizon {
		// SQS counts whole seconds. With one more the node is due when the message comes.
		send(h.disrupt, queue.ReasonContinue, p.again.Add(time.Second))
	}
	return errors.Join(failed...)
}
