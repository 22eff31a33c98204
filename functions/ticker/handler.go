package ticker

import (
	"context"
	"fmt"
	"time"

	"github.com/whittle-dev/whittle/shared/queue"
)

const (
	// period is the rate of the schedule that wakes the ticker. EventBridge has none faster.
	period = time.Minute
	// ahead is how far beyond the next run's minute a run sends ticks. Scheduler starts a run up to
	// 59 s late, and a run may be tried again.
	// https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
	ahead = 90 * time.Second
	// disruptEvery is how many intervals pass between two disrupt ticks, which are at most a minute
	// apart. A node that stays some seconds longer costs a fraction of a cent. A pending pod costs
	// more.
	disruptEvery = 2
)

type sender interface {
	Send(ctx context.Context, url string, messages ...queue.Message) error
}

// Handler is the function in one container. It remembers which ticks it has sent.
type Handler struct {
	cluster                       string
	interval                      time.Duration
	provision, lifecycle, disrupt string // queue URLs
	sender                        sender
	now                           func() time.Time
	// sent is the moment before which a warm container has sent all ticks. A cold container sends
	// them again from now on.
	sent time.Time
}

// Handle sends the ticks until ahead of the next run. A repetition is harmless: functions that act
// on a message hold a Lease.
func (h *Handler) Handle(ctx context.Context, _ any) (any, error) {
	now := h.now()
	from, until := now, now.Add(period+ahead)
	if h.sent.After(from) {
		from = h.sent
	}
	for _, to := range []struct {
		url   string
		every time.Duration
	}{
		{h.provision, h.interval},
		{h.lifecycle, period},
		{h.disrupt, min(disruptEvery*h.interval, period)},
	} {
		if err := h.sender.Send(ctx, to.url, schedule(h.cluster, from, until, to.every)...); err != nil {
			return nil, err
		}
	}
	h.sent = until
	return nil, nil
}

// schedule returns the ticks from a moment until another. They are at whole multiples of the
// interval on the clock, so that runs at any time send the same ticks.
func schedule(cluster string, from, until time.Time, every time.Duration) []queue.Message {
	var ticks []queue.Message
	first := from.Truncate(every)
	if first.Before(from) {
		first = first.Add(every)
	}
	for at := first; at.Before(until); at = at.Add(every) {
		ticks = append(ticks, queue.Message{Cluster: cluster, At: at, Reason: queue.ReasonTick})
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
