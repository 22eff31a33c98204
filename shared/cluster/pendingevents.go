package cluster

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// EventRecorder writes events. A Client is one.
type EventRecorder interface {
	// Record writes the event. It returns nil for an event that was written before in the same
	// window. The caller may repeat it after any error.
	Record(ctx context.Context, event Event, now time.Time) error
}

// RecordEvent writes one event at once. Events inform people and no decision depends on them, so
// that RecordEvent logs a failure and returns nothing.
func RecordEvent(ctx context.Context, recorder EventRecorder, event Event, now time.Time) {
	if err := recorder.Record(ctx, event, now); err != nil {
		slog.WarnContext(ctx, "event not written",
			"kind", event.About.Kind, "namespace", event.About.Namespace, "object", event.About.Name,
			"reason", event.Reason, "message", event.Message, "error", err)
	}
}

// PendingEvents holds the events of a pass until its urgent work is done, because each event is a
// call to the API server. The zero value is ready, and it is safe for concurrent use.
type PendingEvents struct {
	mutex  sync.Mutex
	events []Event
}

// Add keeps the events until the next Flush.
func (p *PendingEvents) Add(events ...Event) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.events = append(p.events, events...)
}

// Flush writes all events that were added, at most parallel of them at a time. It logs failures
// as RecordEvent does, and forgets the events.
func (p *PendingEvents) Flush(ctx context.Context, recorder EventRecorder, parallel int, now time.Time) {
	p.mutex.Lock()
	events := p.events
	p.events = nil
	p.mutex.Unlock()
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, event := range events {
		group.Go(func() error {
			RecordEvent(ctx, recorder, event, now)
			return nil
		})
	}
	_ = group.Wait() // RecordEvent logs each failure
}
