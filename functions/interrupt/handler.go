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
}

// message is one of a batch.
type message struct {
	id    string
	event events.Event
	err   error
	// displaced and looked tell who is to be woken for it.
	displaced, looked bool
}

// handle answers a batch of events. An event that cannot be read, or whose effect
// failed, is reported by itself: it comes back, and in the end lies in the
// dead-letter queue; the others are done.
func (h *handler) handle(ctx context.Context, batch lambdaevents.SQSEvent) (lambdaevents.SQSEventResponse, error) {
	work, cancel := function.WithReserve(ctx)
	defer cancel()
	messages := make([]*message, len(batch.Records))
	readable := false
	for i, record := range batch.Records {
		event, err := events.Decode([]byte(record.Body))
		messages[i] = &message{id: record.MessageId, event: event, err: err}
		readable = readable || err == nil
	}
	if readable {
		h.act(work, messages)
		// Woken even when the time for the work is over: what was begun goes on.
		h.wake(ctx, messages)
	}
	var response lambdaevents.SQSEventResponse
	for _, message := range messages {
		if message.err == nil {
			continue
		}
		slog.ErrorContext(ctx, "message failed and will come back", "message", message.id, "error", message.err)
		response.BatchItemFailures = append(response.BatchItemFailures, lambdaevents.SQSBatchItemFailure{ItemIdentifier: message.id})
	}
	return response, nil
}

// act finds out which events are about nodes of ours, and acts on these.
func (h *handler) act(ctx context.Context, messages []*message) {
	if err := h.actOn(ctx, messages); err != nil {
		// Nothing was done: no event may be taken for done.
		for _, message := range messages {
			message.err = errors.Join(message.err, err)
		}
	}
}

func (h *handler) actOn(ctx context.Context, messages []*message) error {
	client, err := h.connect(ctx)
	if err != nil {
		return err
	}
	claims, err := client.NodeClaims(ctx)
	if err != nil {
		return err
	}
	var affected []affected
	for _, message := range messages {
		if message.err != nil {
			continue
		}
		response := respond(message.event.Detail)
		for _, claim := range about(message.event.Detail, claims) {
			affected = append(affected, affectedBy(message, claim, response))
		}
	}
	// The account's other instances: nothing of ours.
	if len(affected) == 0 {
		return nil
	}
	nodes, err := client.Nodes(ctx)
	if err != nil {
		return err
	}
	p := &performer{client: client, now: h.now()}
	p.perform(ctx, affected, nodes)
	return nil
}

// wake sends one message for the whole batch to each function that goes on with it.
func (h *handler) wake(ctx context.Context, messages []*message) {
	var displaced, looked bool
	for _, message := range messages {
		displaced = displaced || message.displaced
		looked = looked || message.looked || message.displaced
	}
	now := h.now()
	var failed error
	if displaced {
		failed = h.sender.Send(ctx, h.provision, queue.Message{Cluster: h.cluster, At: now, Reason: queue.ReasonInterruption})
	}
	if looked {
		failed = errors.Join(failed, h.sender.Send(ctx, h.lifecycle, queue.Message{Cluster: h.cluster, At: now, Reason: queue.ReasonInterruption}))
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
