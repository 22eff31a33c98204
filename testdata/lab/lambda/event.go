package lambda

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// eventSettings are AWS::Lambda::EventInvokeConfig's, about events that fail.
type eventSettings struct {
	retries    int
	maximumAge time.Duration
}

func defaultEventSettings() eventSettings {
	return eventSettings{retries: 2, maximumAge: 6 * time.Hour}
}

// InvokeAsync queues an event for a function and returns. A failed event is tried again twice,
// after one and two minutes. The error is for events that were not accepted.
func (s *Service) InvokeAsync(_ context.Context, functionARN string, payload []byte) error {
	return s.queueEvent(functionARN, request{trigger: "event", payload: payload})
}

// InvokeAs is InvokeAsync by a service with a role (EventBridge Scheduler), which must be allowed
// lambda:InvokeFunction.
func (s *Service) InvokeAs(_ context.Context, service, roleARN, functionARN string, payload []byte) error {
	f, err := s.find(functionARN)
	if err != nil {
		return err
	}
	if err := s.allowed(roleARN, "lambda:InvokeFunction", f.arn); err != nil {
		return err
	}
	return s.queueEvent(functionARN, request{trigger: service, payload: payload})
}

func (s *Service) queueEvent(function string, r request) error {
	f, err := s.find(function)
	if err != nil {
		return err
	}
	if len(r.payload) > maximumAsyncPayload {
		return fmt.Errorf("function %s: %w: an event has at most %d bytes, this one %d", f.name, errTooLarge,
			maximumAsyncPayload, len(r.payload))
	}
	if r.requestID == "" {
		r.requestID = wire.NewID()
	}
	if !s.begin() {
		return errClosed
	}
	go func() {
		defer s.work.Done()
		s.deliverEvent(f, r)
	}()
	return nil
}

func (s *Service) deliverEvent(f *function, r request) {
	queued := time.Now()
	for attempt := 1; ; attempt++ {
		f.mu.Lock()
		settings := f.events
		f.mu.Unlock()
		r.attempt, r.wait = attempt, true
		waiting, cancel := context.WithDeadline(s.ctx, queued.Add(settings.maximumAge))
		out, err := s.run(waiting, f, r)
		cancel()
		switch {
		case s.ctx.Err() != nil, errors.Is(err, errNotFound), err == nil && out.failure == nil:
			return
		case err != nil:
			slog.Error("event was not delivered", "function", f.name, "requestId", r.requestID, "error", err)
			return
		}
		if attempt > settings.retries || !s.pause(s.asyncRetryDelays[min(attempt, len(s.asyncRetryDelays))-1]) ||
			time.Since(queued) >= settings.maximumAge {
			return
		}
	}
}

// pause waits unless the service is closed meanwhile.
func (s *Service) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}
