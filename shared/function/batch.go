package function

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/queue"
)

// Each makes a batch handler from a handler of one message. A message that fails comes back alone.
// The others are done.
func Each(handle func(context.Context, events.SQSMessage) error) Handler[events.SQSEvent, events.SQSEventResponse] {
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		var response events.SQSEventResponse
		for _, message := range event.Records {
			if err := handle(ctx, message); err != nil {
				slog.ErrorContext(ctx, "message failed and will come back", "message", message.MessageId, "error", err)
				response.BatchItemFailures = append(
					response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: message.MessageId})
			}
		}
		return response, nil
	}
}

// staleAfter is how late a tick may arrive. Other ticks have followed a later one.
const staleAfter = time.Minute

// OnePass makes a batch handler that answers all messages of a batch by one pass, because all of
// them ask for the same. The pass gets the first message, or the last one that is better than the
// one chosen before it. OnePass drops late ticks. A message that cannot be read comes back alone,
// and is counted, because Lambda counts no failure. After a failed pass all messages come back.
func OnePass(
	now func() time.Time, recorder *metrics.Recorder, better func(candidate, chosen queue.Message) bool,
	pass func(context.Context, queue.Message) error,
) Handler[events.SQSEvent, events.SQSEventResponse] {
	return func(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
		var wake *queue.Message
		response, err := Each(func(_ context.Context, record events.SQSMessage) error {
			message, err := queue.Parse(record.Body)
			if err != nil {
				return err
			}
			stale := message.Reason == queue.ReasonTick && now().Sub(message.At) > staleAfter
			if !stale && (wake == nil || better(message, *wake)) {
				wake = &message
			}
			return nil
		})(ctx, batch)
		if unreadable := len(response.BatchItemFailures); unreadable > 0 {
			recorder.Write(metrics.Count(metrics.FailedMessages, float64(unreadable)),
				metrics.Count(metrics.UnreadableMessages, float64(unreadable)))
		}
		if err != nil || wake == nil {
			return response, err
		}
		return response, pass(ctx, *wake)
	}
}
