package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/shared/api/legacy"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/publish"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/shared/reaction"
)

const (
	// horizon is the longest time for which a pass sends the message for the next one. The tick of
	// the next minute finds what comes later.
	horizon = time.Minute
	// leaseName is the Lease of the pass that works. A tick's pass does not need it.
	leaseName = "whittle-lifecycle"
	// leaseFor is how long other passes wait for the one that has the Lease, beside the leeway for
	// clocks. After that another pass works beside it, which is safe: two passes only do the same
	// work twice.
	leaseFor = 10 * time.Second
	// leasePause is the time until a pass that met another one tries again, multiplied by the
	// number of passes that it has met.
	leasePause = time.Second
)

// pauseAfter is the shortest time between a pass and the next one of its chain. It grows so that
// the few hops of a chain last until the next tick begins another one.
func pauseAfter(wake queue.Message) time.Duration {
	pauses := [queue.MaximumHops]time.Duration{
		2 * time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second, 4 * time.Second,
		5 * time.Second, 7 * time.Second, 9 * time.Second, 11 * time.Second, 13 * time.Second,
	}
	return pauses[min(wake.Hop, len(pauses)-1)]
}

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

	cluster              string
	provision, lifecycle string // queue URLs
	connect              func(context.Context) (kubernetes, error)
	fleet                instances
	leftovers            leftovers
	resolve              resolve
	shifts               shifts
	sender               sender
	now                  func() time.Time
	metrics              *metrics.Recorder
	publisher            *publish.Publisher // nil where no bus gets events
	watch                *reaction.Starter  // nil in the mode poll
	prices               prices
	// usage is nil where commitments do not count in prices. commitmentShare is the part of each that the cluster
	// may use.
	usage           usage
	commitmentShare float64
	// binds is set where Whittle binds the pods that a node was launched for.
	binds bool
	// expressions allows expressions in the kubelet settings of classes.
	expressions bool

	// old has what Provisioners leave to the stack's settings.
	old legacy.Settings

	// Nominations is how many nominations of pods one pass has under way at most; zero for 16.
	Nominations int

	asked   queue.Asked
	learned learned
	// interruptions is what is known of those of spot nodes.
	interruptions interruptions
	told          atomic.Int64 // when this container last told of the nodes, in Unix seconds
}

// handle answers a batch of messages with one pass.
func (h *Handler) handle(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
	return function.OnePass(h.now, h.metrics, better, h.pass)(ctx, batch)
}

// aside answers a batch during standby. It looks again until Karpenter has gone, because what the
// messages are about may have happened meanwhile.
func (h *Handler) aside(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
	return function.OnePass(h.now, h.metrics, better, func(ctx context.Context, wake queue.Message) error {
		return h.ask(ctx, wake, queue.ReasonContinue, pauseAfter(wake))
	})(ctx, batch)
}

// better chooses the message for which the one pass is made, so that several chains become one. It
// prefers a tick, which does the most, and then the message that may cause more passes.
func better(candidate, chosen queue.Message) bool {
	return candidate.Reason == queue.ReasonTick || chosen.Reason != queue.ReasonTick && candidate.Hop < chosen.Hop
}

// pass reads once, decides on everything, and carries it out. A claim that fails keeps no other
// waiting.
func (h *Handler) pass(ctx context.Context, wake queue.Message) error {
	h.asked.Arrived(wake)
	work, cancel := function.WithReserve(ctx)
	defer cancel()
	client, err := h.connect(work)
	if err != nil {
		return err
	}
	// A tick does not wait for the Lease. It does work that no other pass does, and it finds the
	// work of passes that died. It only leaves the drains to the pass that has the Lease.
	release := func(bool) bool { return false }
	if wake.Reason != queue.ReasonTick {
		var met bool
		if release, met = h.acquireLease(work, client); met {
			return h.tryLater(work, client, wake)
		}
	}
	for began := h.now(); ; {
		p, failed := h.work(work, client, wake)
		again := release(failed == nil && h.now().Sub(began) < turn)
		if p != nil {
			// Events, capacities and metrics come after the release, so that they delay nobody.
			p.events.Flush(work, client, parallel, h.now())
			p.published.Flush(work, h.publisher)
			h.learn(work, client, p.seen)
			h.countInterruptions(work, client, p.seen)
			h.measure(work, client, p.seen)
			h.startWatch(work, client, wake, p.seen)
			h.countCommitments(work, client, p.seen)
		}
		if !again {
			return failed
		}
	}
}

// startWatch starts a watch where claims began to start or to end a short time ago, or where one
// always runs. A pass for a change comes from a watch that runs.
func (h *Handler) startWatch(ctx context.Context, client kubernetes, wake queue.Message, seen *seen) {
	if wake.Reason == queue.ReasonChange || !h.watch.IsAlways() && !seen.hasRecentWork(h.watch, h.now()) {
		return
	}
	h.watch.Start(ctx, client, h.now())
}

// work is the part of a pass that needs the Lease.
func (h *Handler) work(ctx context.Context, client kubernetes, wake queue.Message) (*pass, error) {
	seen, err := h.read(ctx, client, wake)
	if err != nil {
		return nil, err
	}
	p := newPass(h, client, seen)
	result := p.run(ctx)
	rearmed := h.rearm(ctx, wake, result)
	return p, errors.Join(seen.failed, result.failed, rearmed)
}

// acquireLease takes the Lease and reports whether another pass has it. When the Lease cannot be
// read or written, the pass works without it: the Lease only keeps passes from the same work.
//
// Release keeps the Lease and returns true if the pass may be repeated and another invocation has
// asked for that, because something changed after the pass had read the cluster.
func (h *Handler) acquireLease(
	ctx context.Context, client kubernetes,
) (release func(mayRepeat bool) (again bool), met bool) {
	now := h.now()
	lease, err := client.AcquireLease(ctx, leaseName, function.Invocation(ctx, now), now, now.Add(leaseFor))
	if err != nil {
		slog.WarnContext(ctx, "working without the lease", "lease", leaseName, "error", err)
		return func(bool) bool { return false }, false
	}
	if lease == nil {
		return nil, true
	}
	return func(mayRepeat bool) (again bool) {
		ctx := context.WithoutCancel(ctx)
		var err error
		if mayRepeat {
			again, err = lease.ReleaseUnlessAsked(ctx)
		} else {
			err = lease.Release(ctx)
		}
		if err != nil {
			slog.WarnContext(ctx, "lease not released, it ends at its deadline", "lease", leaseName, "error", err)
		}
		return again
	}, false
}

// leaseHeld reports whether another pass has the Lease. An error counts as no.
func (h *Handler) leaseHeld(ctx context.Context, client kubernetes) bool {
	held, err := client.LeaseHeld(ctx, leaseName, h.now())
	if err != nil {
		slog.WarnContext(ctx, "lease not read, working as if nobody had it", "lease", leaseName, "error", err)
	}
	return held
}

// tryLater sends the message again, because the pass that has the Lease may have read the cluster
// before the change that the message is about. After many attempts the tick of the minute sees it.
// For a change it asks that pass to look once more as well, which may be unable to, or die. It does so once:
// a pass that a later attempt meets was asked, or began after the change.
func (h *Handler) tryLater(ctx context.Context, client kubernetes, wake queue.Message) error {
	slog.DebugContext(ctx, "another invocation has the lease", "lease", leaseName)
	if wake.Reason == queue.ReasonChange && wake.Hop == 0 {
		if err := client.AskHolder(ctx, leaseName, h.now()); err != nil {
			slog.WarnContext(ctx, "the pass under way is not asked to look once more", "lease", leaseName, "error", err)
		}
	}
	return h.ask(ctx, wake, wake.Reason, leasePause*time.Duration(wake.Hop+1))
}

// ask sends this function a message that follows from another one, unless one that this container
// has sent covers it. At the end of the chain it sends nothing: the tick of the minute goes on.
func (h *Handler) ask(ctx context.Context, wake queue.Message, reason queue.Reason, pause time.Duration) error {
	now := h.now()
	next, ok := wake.Next(reason, now.Add(pause))
	if !ok || h.asked.Covers(next, now) {
		return nil
	}
	err := h.sender.Send(ctx, h.lifecycle, next)
	if err == nil {
		h.asked.Remember(next)
	}
	return err
}

// rearm wakes provision for pods that lose their places and claims without an instance, and this
// function for the next pass.
func (h *Handler) rearm(ctx context.Context, wake queue.Message, result result) error {
	var failed []error
	if next, ok := wake.Next(queue.ReasonInterruption, h.now()); ok && result.wantsCapacity {
		failed = append(failed, h.sender.Send(ctx, h.provision, next))
	}
	if result.again > 0 && result.again < horizon {
		failed = append(failed, h.ask(ctx, wake, queue.ReasonContinue, max(result.again, pauseAfter(wake))))
	}
	return errors.Join(failed...)
}
