package interrupt

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/queue"
)

// A message that is not done comes back soon, because EC2 gives a spot instance two minutes. The
// queue's own visibility timeout would take a large part of them.
const (
	// firstRetry and laterRetry are when a failed message comes back in the first two minutes.
	firstRetry = time.Second
	laterRetry = 2 * time.Second
	// lateRetry is when it comes back later. The instance of a spot warning has gone by then.
	lateRetry = 30 * time.Second
	// warning is the time between a spot warning and the end of the instance.
	warning = 2 * time.Minute

	// keptFor is how long standby keeps a message. After that Karpenter has acted on its own copy
	// of the event, or lifecycle finds what the event told.
	keptFor = 10 * time.Minute
	// keptPause and lateKeptPause are when a kept message comes back, in the first two minutes and
	// later.
	keptPause     = 10 * time.Second
	lateKeptPause = time.Minute

	// returnTime is what remains of an invocation after the times were set. An invocation that Lambda
	// ends returns no message, and all of its batch comes back after the visibility timeout.
	returnTime = 300 * time.Millisecond
)

// comeback is a message that comes back, and when.
type comeback struct {
	record lambdaevents.SQSMessage
	after  time.Duration
}

// place is a queue, and when messages come back in it.
type place struct {
	url   string
	after time.Duration
}

// queueOf returns the URL of the queue that the message came from. A message without one, as in a run by
// hand, came from the queue of all events.
func (h *Handler) queueOf(record lambdaevents.SQSMessage) string {
	name := record.EventSourceARN[strings.LastIndexByte(record.EventSourceARN, ':')+1:]
	if name == h.warnings[strings.LastIndexByte(h.warnings, '/')+1:] {
		return h.warnings
	}
	return h.interrupt
}

// retryAfter returns when a failed message of the age comes back, in which attempt it failed.
func retryAfter(age time.Duration, attempt int) time.Duration {
	switch {
	case age >= warning:
		return lateRetry
	case attempt <= 1:
		return firstRetry
	}
	return laterRetry
}

// keepFor returns when a message of the age comes back that arrived during standby. It is zero for
// a message that is not kept any more.
func keepFor(age time.Duration) time.Duration {
	switch {
	case age >= keptFor:
		return 0
	case age >= warning:
		return lateKeptPause
	}
	return keptPause
}

// ageOf returns how long the message has been in the queue. A message without the time, as in a run
// by hand, is new.
func ageOf(record lambdaevents.SQSMessage, now time.Time) time.Duration {
	sent, err := strconv.ParseInt(record.Attributes["SentTimestamp"], 10, 64)
	if err != nil {
		return 0
	}
	return now.Sub(time.UnixMilli(sent))
}

// attemptOf returns which attempt at the message this is.
func attemptOf(record lambdaevents.SQSMessage) int {
	attempt, err := strconv.Atoi(record.Attributes["ApproximateReceiveCount"])
	if err != nil {
		return 1
	}
	return attempt
}

func received(record lambdaevents.SQSMessage) queue.Received {
	return queue.Received{ID: record.MessageId, Receipt: record.ReceiptHandle}
}

// comeBack returns the messages to SQS, each after its time. When the time cannot be set, a message
// comes back after the queue's visibility timeout.
func (h *Handler) comeBack(ctx context.Context, messages []comeback) lambdaevents.SQSEventResponse {
	var response lambdaevents.SQSEventResponse
	places := map[place][]queue.Received{}
	for _, one := range messages {
		to := place{h.queueOf(one.record), one.after}
		places[to] = append(places[to], received(one.record))
		response.BatchItemFailures = append(
			response.BatchItemFailures, lambdaevents.SQSBatchItemFailure{ItemIdentifier: one.record.MessageId})
	}
	if end, set := ctx.Deadline(); set {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-returnTime))
		defer cancel()
	}
	for to, some := range places {
		if err := h.sender.ShowAgain(ctx, to.url, to.after, some...); err != nil {
			slog.WarnContext(ctx, "failed messages come back late", "messages", len(some), "error", err)
		}
	}
	return response
}

// retrying makes a handler whose errors fail each message. After an error of the invocation the
// messages would come back after the queue's visibility timeout, and Lambda would poll less often.
func (h *Handler) retrying(
	next function.Handler[lambdaevents.SQSEvent, lambdaevents.SQSEventResponse],
) function.Handler[lambdaevents.SQSEvent, lambdaevents.SQSEventResponse] {
	return func(ctx context.Context, batch lambdaevents.SQSEvent) (lambdaevents.SQSEventResponse, error) {
		response, err := next(ctx, batch)
		if err == nil {
			return response, nil
		}
		messages := make([]*message, len(batch.Records))
		for i, record := range batch.Records {
			messages[i] = &message{record: record, err: err}
		}
		h.measure(messages, len(messages))
		return h.comeBack(ctx, failures(ctx, messages, h.now())), nil
	}
}

// aside answers a batch during standby. It keeps the messages for the time after standby.
func (h *Handler) aside(ctx context.Context, batch lambdaevents.SQSEvent) (lambdaevents.SQSEventResponse, error) {
	now := h.now()
	var kept []comeback
	for i, read := range h.decode(ctx, batch) {
		record := batch.Records[i]
		if after := keepFor(ageOf(record, now)); after > 0 && !read.ignored {
			kept = append(kept, comeback{record, after})
		}
	}
	return h.comeBack(ctx, kept), nil
}
