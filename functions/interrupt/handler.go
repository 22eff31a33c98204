package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/queue"
)

type sender interface {
	Send(ctx context.Context, url string, messages ...queue.Message) error
}

type handler struct {
	cluster              string
	provision, lifecycle string // queue URLs
	connect              func(context.Context) (kubernetes, error)
	sender               sender
	now                  func() time.Time
	metrics              *metrics.Recorder

	// A warm container's cache: which looks were asked for.
	replaced, drained queue.Asked
}

// message is one of a batch.
type message struct {
	id    string
	event events.Event
	err   error
	// foreign: whole, but of a kind that nothing here is about.
	foreign bool
	// displaced and looked tell who is to be woken for it.
	displaced, looked bool
}

// handle answers a batch of events. An event that cannot be read, or whose effect
// failed, is reported by itself: it comes back, and in the end lies in the
// dead-letter queue; the others are done.
func (h *handler) handle(ctx context.Context, batch lambdaevents.SQSEvent) (lambdaevents.SQSEventResponse, error) {
	work, cancel := function.WithReserve(ctx)
	defer cancel()
	messages, readable := decode(ctx, batch)
	if readable {
		performed := h.act(work, messages)
		// Woken even when the time for the work is over: what was begun goes on.
		h.wake(ctx, messages)
		// Words after deeds: the time before an interruption is short.
		if performed != nil {
			performed.tell(work)
		}
	}
	var response lambdaevents.SQSEventResponse
	for _, message := range messages {
		if message.err == nil {
			continue
		}
		slog.ErrorContext(ctx, "message failed and will come back", "message", message.id, "error", message.err)
		response.BatchItemFailures = append(response.BatchItemFailures, lambdaevents.SQSBatchItemFailure{ItemIdentifier: message.id})
	}
	h.measure(messages, len(response.BatchItemFailures))
	return response, nil
}

// measure counts what the batch came to; one about the account's other instances comes to nothing.
func (h *handler) measure(messages []*message, failed int) {
	displaced := 0
	for _, message := range messages {
		if message.displaced && message.err == nil {
			displaced++
		}
	}
	if displaced+failed > 0 {
		h.metrics.Write(metrics.Count(metrics.Interruptions, float64(displaced)), metrics.Count(metrics.FailedMessages, float64(failed)))
	}
}

// decode reads the messages and tells whether any is worth acting on. One of an unknown
// kind is done: AWS adds kinds, and another try would know it no better.
func decode(ctx context.Context, batch lambdaevents.SQSEvent) (messages []*message, readable bool) {
	for _, record := range batch.Records {
		event, err := events.Decode([]byte(record.Body))
		read := &message{id: record.MessageId, event: event, err: err}
		if errors.Is(err, events.ErrUnknown) {
			slog.InfoContext(ctx, "ignoring event", "message", record.MessageId, "reason", err.Error())
			read.err, read.foreign = nil, true
		}
		readable = readable || err == nil
		messages = append(messages, read)
	}
	return messages, readable
}

// act finds out which events are about nodes of ours, and acts on these.
func (h *handler) act(ctx context.Context, messages []*message) *performer {
	performed, err := h.actOn(ctx, messages)
	if err != nil {
		// Nothing was done: no event may be taken for done.
		for _, message := range messages {
			if !message.foreign {
				message.err = errors.Join(message.err, err)
			}
		}
	}
	return performed
}

func (h *handler) actOn(ctx context.Context, messages []*message) (*performer, error) {
	client, err := h.connect(ctx)
	if err != nil {
		return nil, err
	}
	listed, err := claims(ctx, client, messages)
	if err != nil {
		return nil, err
	}
	ours := ownAmong(listed)
	now := h.now()
	var affected []*affectedClaim
	byName := map[string]*affectedClaim{}
	for _, message := range messages {
		if message.err != nil || message.foreign {
			continue
		}
		for _, claim := range about(message.event.Detail, ours) {
			one := byName[claim.Name]
			if one == nil {
				one = &affectedClaim{claim: claim}
				byName[claim.Name] = one
				affected = append(affected, one)
			}
			one.add(message, respond(message.event, now))
		}
	}
	// The account's other instances: nothing of ours.
	if len(affected) == 0 {
		return nil, nil
	}
	p := &performer{client: client, now: now, affected: affected}
	p.perform(ctx)
	return p, nil
}

// wake has the functions that go on with it look, once for the whole batch.
func (h *handler) wake(ctx context.Context, messages []*message) {
	var displaced, looked bool
	for _, message := range messages {
		displaced = displaced || message.displaced
		looked = looked || message.looked || message.displaced
	}
	var failed error
	if displaced {
		failed = h.ask(ctx, h.provision, &h.replaced)
	}
	if looked {
		failed = errors.Join(failed, h.ask(ctx, h.lifecycle, &h.drained))
	}
	if failed == nil {
		return
	}
	for _, message := range messages {
		if message.displaced || message.looked {
			message.err = errors.Join(message.err, fmt.Errorf("waking the functions that replace and drain: %w", failed))
		}
	}
}

// ask has the function behind the queue look at what has happened until now.
func (h *handler) ask(ctx context.Context, url string, asked *queue.Asked) error {
	at, wanted := asked.Soon(h.now())
	if !wanted {
		return nil
	}
	look := queue.Message{Cluster: h.cluster, At: at, Reason: queue.ReasonInterruption}
	err := h.sender.Send(ctx, url, look)
	if err == nil {
		asked.Remember(look)
	}
	return err
}
