package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"golang.org/x/sync/errgroup"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/api"
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

// acted tells whether the message is one to act on.
func (m *message) acted() bool { return m.err == nil && !m.foreign }

// handle answers a batch of events. An event that cannot be read, or whose effect
// failed, is reported by itself: it comes back, and in the end lies in the
// dead-letter queue; the others are done.
func (h *handler) handle(ctx context.Context, batch lambdaevents.SQSEvent) (lambdaevents.SQSEventResponse, error) {
	work, cancel := function.WithReserve(ctx)
	defer cancel()
	messages, readable := decode(ctx, batch)
	if readable {
		performer := h.act(work, messages)
		// Woken even when the time for the work is over: what was begun goes on.
		h.wake(ctx, messages)
		// Words after deeds: the time before an interruption is short.
		performer.events.Flush(work, performer.client, spoken, performer.now)
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

// act finds out which events are about nodes of ours, and acts on these: first on those that are
// found in the API server's memory, while its store is asked for the others, of which most are somebody else's.
func (h *handler) act(ctx context.Context, messages []*message) *performer {
	p := &performer{now: h.now()}
	client, err := h.connect(ctx)
	if err != nil {
		comeBack(messages, err)
		return p
	}
	p.client = client
	sought := soughtBy(messages)
	found, err := sought.cached(ctx, client)
	if err != nil {
		comeBack(messages, err)
		return p
	}
	var more []api.NodeClaim
	var asking errgroup.Group
	asking.Go(func() (err error) { more, err = sought.stored(ctx, client); return err })
	p.perform(ctx, affected(messages, found, p.now))
	if err := asking.Wait(); err != nil {
		comeBack(slices.DeleteFunc(slices.Clone(messages), func(m *message) bool { return !m.acted() || !sought.names(m.event) }), err)
		return p
	}
	p.perform(ctx, affected(messages, more, p.now))
	return p
}

// comeBack notes at the messages that they are not done: no event may be taken for it.
func comeBack(messages []*message, err error) {
	for _, message := range messages {
		if !message.foreign {
			message.err = errors.Join(message.err, err)
		}
	}
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
