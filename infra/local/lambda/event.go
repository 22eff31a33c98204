package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/whittle-dev/whittle/infra/local/sqs"
	"github.com/whittle-dev/whittle/infra/local/wire"
)

// eventSettings are AWS::Lambda::EventInvokeConfig's, about events that fail.
type eventSettings struct {
	retries    int
	maximumAge time.Duration
	// onFailure is the ARN of a queue; empty for none.
	onFailure string
}

func defaultEventSettings() eventSettings {
	return eventSettings{retries: 2, maximumAge: 6 * time.Hour}
}

// InvokeAsync queues an event for a function and returns. A failed event is tried again twice,
// after one and two minutes. An event that fails for good goes to the function's failure
// destination and dead-letter queue. The error is for events that were not accepted.
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
		condition := "RetriesExhausted"
		switch {
		case s.ctx.Err() != nil, errors.Is(err, errNotFound), err == nil && out.failure == nil:
			return
		case errors.Is(err, errThrottled):
			condition = "EventAgeExceeded"
		case err != nil:
			slog.Error("event was not delivered", "function", f.name, "requestId", r.requestID, "error", err)
			return
		}
		if condition == "RetriesExhausted" && attempt <= settings.retries &&
			s.pause(s.asyncRetryDelays[min(attempt, len(s.asyncRetryDelays))-1]) {
			if time.Since(queued) < settings.maximumAge {
				continue
			}
			condition = "EventAgeExceeded"
		}
		if s.ctx.Err() == nil {
			s.giveUp(f, settings, r, out, condition)
		}
		return
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

// giveUp hands a failed event to whom the function names for that.
func (s *Service) giveUp(f *function, settings eventSettings, r request, out response, condition string) {
	configuration := f.settings()
	event := json.RawMessage(r.payload)
	if !json.Valid(event) {
		event, _ = json.Marshal(string(r.payload))
	}
	message := ""
	if out.failure != nil {
		message = out.failure.Message
	}
	if configuration.DeadLetterTarget != "" {
		s.sendFor(configuration.Role, configuration.DeadLetterTarget,
			sqs.Message{Body: string(event), SenderID: f.name, Attributes: map[string]sqs.Attribute{
				"RequestID":    {DataType: "String", StringValue: r.requestID},
				"ErrorCode":    {DataType: "Number", StringValue: "200"},
				"ErrorMessage": {DataType: "String", StringValue: firstBytes(message, 1024)},
			}})
	}
	if settings.onFailure != "" {
		record, err := json.Marshal(map[string]any{
			"version": "1.0", "timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
			"requestContext": map[string]any{
				"requestId": r.requestID, "functionArn": f.arn + ":$LATEST", "condition": condition,
				"approximateInvokeCount": r.attempt,
			},
			"requestPayload":  event,
			"responseContext": map[string]any{"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
			"responsePayload": json.RawMessage(orNull(out.payload)),
		})
		if err != nil {
			slog.Error("failure record was not written", "function", f.name, "requestId", r.requestID, "error", err)
			return
		}
		s.sendFor(configuration.Role, settings.onFailure, sqs.Message{Body: string(record), SenderID: f.name})
	}
}

func (s *Service) sendFor(roleARN, queue string, message sqs.Message) {
	err := s.allowed(roleARN, "sqs:SendMessage", queue)
	if err == nil {
		_, err = s.options.Queues.Send(queue, message, nil)
	}
	if err != nil {
		slog.Error("failed event was lost", "queue", queue, "error", err)
	}
}

func orNull(payload []byte) []byte {
	if !json.Valid(payload) {
		return []byte("null")
	}
	return payload
}

func firstBytes(text string, n int) string {
	if text == "" {
		return "-"
	}
	return text[:min(n, len(text))]
}
