package function

import (
	"context"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"
)

// Batch answers the messages of a queue: those whose identifiers it returns as
// failed come back, the others are done.
type Batch func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// Each makes a batch handler of a handler for one message. A message that
// fails comes back by itself and keeps no other waiting.
func Each(handle func(context.Context, events.SQSMessage) error) Handler[events.SQSEvent, events.SQSEventResponse] {
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		var response events.SQSEventResponse
		for _, message := range event.Records {
			if err := handle(ctx, message); err != nil {
				slog.ErrorContext(ctx, "message failed and will come back", "message", message.MessageId, "error", err)
				response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: message.MessageId})
			}
		}
		return response, nil
	}
}
