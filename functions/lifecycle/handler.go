package main

import (
	"context"
	"errors"
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
	seen, err := h.read(work, client, wake)
	if err != nil {
		return err
	}
	p := &performer{client: client, fleet: h.fleet, leftovers: h.leftovers, now: h.now, tell: wake.Hop == 0}
	again, displaces, err := p.perform(work, seen)
	h.learn(work, client, seen)
	h.measure(work, client, seen)
	return errors.Join(seen.failed, err, h.rearm(ctx, wake, again, displaces))
}

// rearm asks for the next look, and for capacity for pods that lose their place.
func (h *handler) rearm(ctx context.Context, wake queue.Message, again time.Duration, displaces bool) error {
	var failed []error
	now := h.now()
	if displaces {
		failed = append(failed, h.sender.Send(ctx, h.provision, queue.Message{Cluster: h.cluster, At: now, Reason: queue.ReasonInterruption}))
	}
	if again > 0 && again < horizon && wake.Hop < queue.MaximumHops {
		next := wake.Next(queue.ReasonContinue, now.Add(max(again, pauses()[max(wake.Hop, 0)])))
		if !h.asked.Covers(next, now) {
			err := h.sender.Send(ctx, h.lifecycle, next)
			if err == nil {
				h.asked.Remember(next)
			}
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}
