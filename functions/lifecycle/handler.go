package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/queue"
)

const (
	// horizon is how far ahead a look is asked for: the tick of the next minute finds
	// what comes later.
	horizon = time.Minute
	// leaseName is held by the pass that works, while it is not a tick's.
	leaseName = "whittle-lifecycle"
	// leaseFor is how long others keep away from a pass. One that takes longer, or has died, is
	// joined by another, which is safe: beside each other they only do the same work twice.
	leaseFor = 10 * time.Second
	// lookAgain is when a look that met another pass is tried again, times the number of
	// passes that it has met.
	lookAgain = time.Second
)

// pauses are the least times between the looks of a chain, by hop. They grow so
// that the few hops that a chain has last until the next tick begins another.
func pauses() [queue.MaximumHops]time.Duration {
	return [...]time.Duration{
		2 * time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second, 4 * time.Second,
		5 * time.Second, 7 * time.Second, 9 * time.Second, 11 * time.Second, 13 * time.Second,
	}
}

type sender interface {
	Send(ctx context.Context, url string, messages ...queue.Message) error
}

type handler struct {
	cluster              string
	provision, lifecycle string // queue URLs
	connect              func(context.Context) (kubernetes, error)
	fleet                instances
	leftovers            leftovers
	resolve              func(context.Context, api.EC2NodeClass) (api.EC2NodeClass, error) // gives a class its status
	sender               sender
	now                  func() time.Time
	metrics              *metrics.Recorder
	prices               prices

	asked   queue.Asked
	learned learned
}

// handle answers a batch with one pass.
func (h *handler) handle(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
	return function.OnePass(h.now, better, h.pass)(ctx, batch)
}

// better: several chains that meet become one. A tick's does the most, and of
// others the one that may go on for longest.
func better(candidate, chosen queue.Message) bool {
	return candidate.Reason == queue.ReasonTick || chosen.Reason != queue.ReasonTick && candidate.Hop < chosen.Hop
}

// pass reads once, decides about everything, and does it. What fails for one
// claim keeps no other waiting.
func (h *handler) pass(ctx context.Context, wake queue.Message) error {
	work, cancel := function.WithReserve(ctx)
	defer cancel()
	client, err := h.connect(work)
	if err != nil {
		return err
	}
	// A tick waits for nobody: it does what no other pass does, and it is what finds the work
	// of those that died. It only leaves the drains to the pass that it meets.
	release := func() {}
	if wake.Reason != queue.ReasonTick {
		var met bool
		if release, met = h.alone(work, client); met {
			return h.later(work, wake)
		}
	}
	p, seen, err := h.look(work, client, wake)
	release()
	if p != nil {
		// Words after deeds: nobody need wait for them.
		p.events.Flush(work, client, parallel, h.now())
		h.learn(work, client, seen)
		h.measure(work, client, seen)
	}
	return err
}

// alone takes the lease, and tells whether another pass was met that has it. Where there is
// none to be had the work is done all the same: it only keeps passes from the same work.
func (h *handler) alone(ctx context.Context, client kubernetes) (release func(), met bool) {
	now := h.now()
	lease, err := client.AcquireLease(ctx, leaseName, function.Invocation(ctx, now), now, now.Add(leaseFor))
	if err != nil {
		slog.WarnContext(ctx, "looking without the lease", "lease", leaseName, "error", err)
		return func() {}, false
	}
	if lease == nil {
		return nil, true
	}
	return func() {
		if err := lease.Release(context.WithoutCancel(ctx)); err != nil {
			slog.WarnContext(ctx, "the lease stays until its time is over", "lease", leaseName, "error", err)
		}
	}, false
}

// meets tells whether another pass has the lease.
func (h *handler) meets(ctx context.Context, client kubernetes) bool {
	held, err := client.LeaseHeld(ctx, leaseName, h.now())
	if err != nil {
		slog.WarnContext(ctx, "looking whoever has the lease", "lease", leaseName, "error", err)
	}
	return held
}

// look is a pass without its words.
func (h *handler) look(ctx context.Context, client kubernetes, wake queue.Message) (*performer, *seen, error) {
	seen, err := h.read(ctx, client, wake)
	if err != nil {
		return nil, nil, err
	}
	p := &performer{client: client, fleet: h.fleet, leftovers: h.leftovers, now: h.now, tell: wake.Hop == 0}
	again, displaces, err := p.perform(ctx, seen)
	return p, seen, errors.Join(seen.failed, err, h.rearm(ctx, wake, again, displaces))
}

// later asks for another look in place of one that met a pass under way, which may have read
// the cluster before what this one was asked for. After many the tick of the minute sees it.
func (h *handler) later(ctx context.Context, wake queue.Message) error {
	slog.DebugContext(ctx, "another invocation is looking")
	if wake.Hop >= queue.MaximumHops {
		return nil
	}
	now := h.now()
	return h.ask(ctx, wake.Next(wake.Reason, now.Add(lookAgain*time.Duration(max(wake.Hop, 0)+1))), now)
}

// ask has this function look, unless it was asked to already.
func (h *handler) ask(ctx context.Context, next queue.Message, now time.Time) error {
	if h.asked.Covers(next, now) {
		return nil
	}
	err := h.sender.Send(ctx, h.lifecycle, next)
	if err == nil {
		h.asked.Remember(next)
	}
	return err
}

// rearm asks for the next look, and for capacity for pods that lose their place.
func (h *handler) rearm(ctx context.Context, wake queue.Message, again time.Duration, displaces bool) error {
	var failed []error
	now := h.now()
	if displaces {
		failed = append(failed, h.sender.Send(ctx, h.provision, queue.Message{Cluster: h.cluster, At: now, Reason: queue.ReasonInterruption}))
	}
	if again > 0 && again < horizon && wake.Hop < queue.MaximumHops {
		failed = append(failed, h.ask(ctx, wake.Next(queue.ReasonContinue, now.Add(max(again, pauses()[max(wake.Hop, 0)]))), now))
	}
	return errors.Join(failed...)
}
