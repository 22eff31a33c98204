package interrupt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"golang.org/x/sync/errgroup"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/functions/interrupt/response"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/queue"
)

// answerTime is what remains of an invocation after the wake-ups, whose answers may be lost. Messages
// that failed come back within seconds only if the function says so in time.
const answerTime = time.Second

// sender puts messages into a queue, and sets when received ones come back. Every error may be tried
// again.
type sender interface {
	Send(ctx context.Context, url string, messages ...queue.Message) error
	ShowAgain(ctx context.Context, url string, after time.Duration, messages ...queue.Received) error
}

// fleet is what interrupt asks EC2 about events that name many claims. Every error may be tried
// again.
type fleet interface {
	// Announced lists the instances for which EC2 has announced work.
	Announced(ctx context.Context) (map[string]bool, error)
	// ReservationEnd returns when a capacity reservation ends, and zero where EC2 knows no end.
	ReservationEnd(ctx context.Context, id string) (time.Time, error)
}

// Handler is the function in one container. What it remembers from one invocation to the next is a
// cache.
type Handler struct {
	// serve is handle, and what comes before it: standby.
	serve function.Handler[lambdaevents.SQSEvent, lambdaevents.SQSEventResponse]

	cluster              string
	provision, lifecycle string // queue URLs
	// interrupt and warnings are the URLs of its own queues: that of all events, and that of events which
	// leave minutes.
	interrupt, warnings string
	connect             func(context.Context) (kubernetes, error)
	sender              sender
	now                 func() time.Time
	metrics             *metrics.Recorder
	// account and region are those of the function. Events of others are dropped.
	account, region string
	fleet           fleet

	// askedProvision and askedLifecycle are a warm container's cache: the last wake-up that it
	// sent to each function.
	askedProvision, askedLifecycle queue.Asked
}

// message is one message of a batch, with what has become of it.
type message struct {
	record lambdaevents.SQSMessage
	event  events.Event
	err    error
	// unreadable is a message that another try does not help.
	unreadable bool
	// ignored is a well-formed message of a kind that interrupt does not handle.
	ignored bool
	// displaced means that pods lose their place, so that provision and lifecycle are woken. look
	// means that lifecycle is woken.
	displaced, look bool
}

// handle answers a batch of events. A message that cannot be read, or whose effect failed, comes
// back alone, and after some attempts lies in the dead-letter queue. The others are done.
func (h *Handler) handle(ctx context.Context, batch lambdaevents.SQSEvent) (lambdaevents.SQSEventResponse, error) {
	work, cancel := function.WithReserve(ctx)
	defer cancel()
	messages := h.decode(ctx, batch)
	if len(actionable(messages)) > 0 {
		performer := h.act(work, messages)
		// The wake-up uses the reserve as well: the other functions go on with what was begun.
		h.wake(ctx, messages)
		// Events come last, because the time before an interruption is short.
		performer.events.Flush(work, performer.client, parallelEvents, performer.now)
	}
	failed := failures(ctx, messages, h.now())
	h.measure(messages, len(failed))
	return h.comeBack(ctx, failed), nil
}

// failures logs the messages that failed, and returns when each comes back.
func failures(ctx context.Context, messages []*message, now time.Time) []comeback {
	var failed []comeback
	for _, message := range messages {
		if message.err == nil {
			continue
		}
		record := message.record
		slog.ErrorContext(ctx, "message failed and will come back", "message", record.MessageId, "error", message.err)
		failed = append(failed, comeback{record, retryAfter(ageOf(record, now), attemptOf(record))})
	}
	return failed
}

// measure counts what became of the batch. A batch about foreign instances alone writes no metric, and
// without a failure no metric of failures: CloudWatch bills each for the hours with values. Lambda
// counts no failure of a message, so that alarms ring by these metrics.
func (h *Handler) measure(messages []*message, failed int) {
	var displaced, unreadable int
	for _, message := range messages {
		if message.displaced && message.err == nil {
			displaced++
		}
		if message.unreadable {
			unreadable++
		}
	}
	var values []metrics.Value
	if displaced+failed > 0 {
		values = append(values, metrics.Count(metrics.Interruptions, float64(displaced)))
	}
	if failed > 0 {
		values = append(values, metrics.Count(metrics.FailedMessages, float64(failed)))
	}
	if unreadable > 0 {
		values = append(values, metrics.Count(metrics.UnreadableMessages, float64(unreadable)))
	}
	h.metrics.Write(values...)
}

// decode reads the messages. AWS adds kinds of events, so that a message of an unknown kind is
// done: another attempt would not know it either. So is a message that AWS did not send, or not about
// this account and region: the rules pass on no such event, so that somebody else wrote it.
func (h *Handler) decode(ctx context.Context, batch lambdaevents.SQSEvent) []*message {
	var messages []*message
	for _, record := range batch.Records {
		event, err := events.Decode([]byte(record.Body))
		read := &message{record: record, event: event, err: err}
		if errors.Is(err, events.ErrUnknown) {
			slog.InfoContext(ctx, "ignoring event", "message", record.MessageId, "reason", err.Error())
			read.err, read.ignored = nil, true
		} else if err != nil {
			read.unreadable = true
		} else {
			if foreign := event.CheckOrigin(h.account, h.region); foreign != nil {
				slog.WarnContext(ctx, "dropping foreign event", "message", record.MessageId, "reason", foreign.Error())
				read.ignored = true
			}
		}
		messages = append(messages, read)
	}
	return messages
}

// actionable are the messages to act on: those that could be read and have not failed.
func actionable(messages []*message) []*message {
	var kept []*message
	for _, message := range messages {
		if message.err == nil && !message.ignored {
			kept = append(kept, message)
		}
	}
	return kept
}

func eventsOf(messages []*message) []events.Event {
	read := make([]events.Event, len(messages))
	for i, message := range messages {
		read[i] = message.event
	}
	return read
}

// act finds the claims that the events are about, and carries out the responses. It acts first on
// the claims that the watch cache has. Meanwhile it reads the others from the store, because most
// instances that the cache does not know are foreign.
func (h *Handler) act(ctx context.Context, messages []*message) *performer {
	p := &performer{now: h.now()}
	client, err := h.connect(ctx)
	if err != nil {
		fail(messages, err)
		return p
	}
	p.client = client
	search := searchFor(eventsOf(actionable(messages)))
	found, err := search.cached(ctx, client)
	if err != nil {
		fail(messages, err)
		return p
	}
	var more []api.NodeClaim
	var reading errgroup.Group
	reading.Go(func() (err error) {
		more, err = search.stored(ctx, client)
		return err
	})
	h.respond(ctx, p, actionable(messages), found)
	err = reading.Wait()
	waiting := actionable(messages)
	if err != nil {
		for _, message := range waiting {
			if search.awaits(message.event) {
				message.err = err
			}
		}
		return p
	}
	h.respond(ctx, p, waiting, more)
	return p
}

// respond decides about the claims and carries out the responses. Messages that EC2 has to confirm
// fail when it cannot be asked, and the others go on.
func (h *Handler) respond(ctx context.Context, p *performer, messages []*message, claims []api.NodeClaim) {
	evidence := h.confirm(ctx, messages, claims)
	messages = actionable(messages)
	p.perform(ctx, messages, response.Decide(eventsOf(messages), claims, evidence, p.now))
}

// confirm asks EC2 about the events that name many claims. It notes at their messages what failed.
func (h *Handler) confirm(ctx context.Context, messages []*message, claims []api.NodeClaim) response.Evidence {
	evidence := response.Evidence{Ends: map[string]time.Time{}}
	for _, doubt := range response.Doubts(eventsOf(messages), claims) {
		message := messages[doubt.Event]
		var err error
		if block, ok := doubt.Detail.(*events.CapacityBlockExpiration); ok {
			evidence.Ends[block.ReservationID], err = h.fleet.ReservationEnd(ctx, block.ReservationID)
		} else if evidence.Announced == nil {
			evidence.Announced, err = h.fleet.Announced(ctx)
		}
		if err != nil {
			message.err = fmt.Errorf("asking EC2 about an event that names %d nodeclaims: %w", len(doubt.Claims), err)
			continue
		}
		if unconfirmed := doubt.Unconfirmed(evidence, h.now()); unconfirmed > 0 {
			slog.WarnContext(ctx, "EC2 does not confirm an event", "message", message.record.MessageId,
				"messageKind", doubt.Detail.DetailType(), "named", len(doubt.Claims), "unconfirmed", unconfirmed)
		}
	}
	return evidence
}

// fail notes at the messages that none of them is done.
func fail(messages []*message, err error) {
	for _, message := range messages {
		if !message.ignored {
			message.err = errors.Join(message.err, err)
		}
	}
}

// wake wakes the functions that go on with the work, once for the whole batch.
func (h *Handler) wake(ctx context.Context, messages []*message) {
	if end, set := ctx.Deadline(); set {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-answerTime))
		defer cancel()
	}
	var displaced, look bool
	for _, message := range messages {
		displaced = displaced || message.displaced
		look = look || message.look || message.displaced
	}
	var replacing, draining error
	if displaced {
		replacing = h.ask(ctx, h.provision, &h.askedProvision)
	}
	if look {
		draining = h.ask(ctx, h.lifecycle, &h.askedLifecycle)
	}
	err := errors.Join(replacing, draining)
	if err == nil {
		return
	}
	for _, message := range messages {
		if message.displaced || message.look {
			message.err = errors.Join(message.err, fmt.Errorf("waking the functions that replace and drain: %w", err))
		}
	}
}

// ask wakes the function behind the queue, unless a wake-up that is on its way covers this one.
func (h *Handler) ask(ctx context.Context, url string, asked *queue.Asked) error {
	at, wanted := asked.Soon(h.now())
	if !wanted {
		return nil
	}
	wake := queue.Message{Cluster: h.cluster, At: at, Reason: queue.ReasonInterruption}
	if err := h.sender.Send(ctx, url, wake); err != nil {
		return err
	}
	asked.Remember(wake)
	return nil
}
