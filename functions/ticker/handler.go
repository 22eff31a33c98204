package main

import (
	"context"
	"fmt"
	"time"

	"github.com/whittle-dev/whittle/shared/queue"
)

// period is the rate of the schedule that wakes the ticker. EventBridge has none faster.
const period = time.Minute

// disruptEvery is how many provision ticks pass between two disrupt ticks. A node that stays some
// seconds longer costs a fraction of a cent. A pending pod costs more.
const disruptEvery = 2

type sender interface {
	Send(ctx context.Context, url string, messages ...queue.Message) error
}

type handler struct {
	cluster                       string
	interval                      time.Duration
	provision, lifecycle, disrupt string // queue URLs
	sender                        sender
	now                           func() time.Time
}

// handle sends the minute's messages. A repetition is harmless: functions that act on a message
// hold a Lease.
func (h *handler) handle(ctx context.Context, _ any) (any, error) {
	start := h.now()
	ticks := schedule(h.cluster, start, h.interval)
	var looks []queue.Message
	for i := 0; i < len(ticks); i += disruptEvery {
		looks = append(looks, ticks[i])
	}
	if err := h.sender.Send(ctx, h.provision, ticks...); err != nil {
		return nil, err
	}
	if err := h.sender.Send(ctx, h.lifecycle, ticks[0]); err != nil {
		return nil, err
	}
	return nil, h.sender.Send(ctx, h.disrupt, looks...)
}

// schedule returns the ticks of the minute that begins at start.
func schedule(cluster string, start time.Time, interval time.Duration) []queue.Message {
	var ticks []queue.Message
	for after := time.Duration(0); after < period; after += interval {
		ticks = append(ticks, queue.Message{Cluster: cluster, At: start.Add(after), Reason: queue.ReasonTick})
	}
	return ticks
}

// parseInterval reads the time between two provision ticks. It is whole seconds, because SQS delays
// by whole seconds, from one second to a minute.
func parseInterval(text string) (time.Duration, error) {
	interval, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("TICK_INTERVAL %q is not a duration such as 10s: %w", text, err)
	}
	if interval < time.Second || interval > period || interval%time.Second != 0 {
		return 0, fmt.Errorf("TICK_INTERVAL %q must be whole seconds between 1s and 60s", text)
	}
	return interval, nil
}
