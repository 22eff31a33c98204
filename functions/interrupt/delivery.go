package interrupt

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/function"
)

// answering makes a handler that answers the test events of an installation, also during standby, and
// leaves the other messages to the next one. Only the answer tells install that events arrive.
func (h *Handler) answering(
	next function.Handler[lambdaevents.SQSEvent, lambdaevents.SQSEventResponse],
) function.Handler[lambdaevents.SQSEvent, lambdaevents.SQSEventResponse] {
	return func(ctx context.Context, batch lambdaevents.SQSEvent) (lambdaevents.SQSEventResponse, error) {
		var tests []*message
		var rest lambdaevents.SQSEvent
		for _, record := range batch.Records {
			if event, ok := h.deliveryTest(record); ok {
				tests = append(tests, &message{record: record, event: event})
			} else {
				rest.Records = append(rest.Records, record)
			}
		}
		var response lambdaevents.SQSEventResponse
		if len(rest.Records) > 0 {
			var err error
			if response, err = next(ctx, rest); err != nil {
				return response, err
			}
		}
		tests = slices.DeleteFunc(tests, func(test *message) bool { return ageOf(test.record, h.now()) >= keptFor })
		h.answer(ctx, tests)
		again := h.comeBack(ctx, failures(ctx, tests, h.now()))
		response.BatchItemFailures = append(response.BatchItemFailures, again.BatchItemFailures...)
		return response, nil
	}
}

// deliveryTest reads a test event of this cluster's installation.
func (h *Handler) deliveryTest(record lambdaevents.SQSMessage) (events.Event, bool) {
	if !strings.Contains(record.Body, events.SourceInstall) {
		return events.Event{}, false // a storm of warnings is not decoded twice
	}
	event, err := events.Decode([]byte(record.Body))
	if err != nil || event.CheckOrigin(h.account, h.region) != nil {
		return event, false
	}
	test, ok := event.Detail.(*events.DeliveryTest)
	return event, ok && test.Cluster == h.cluster
}

// answer writes an event in the cluster for each test event, and notes at the messages what failed. After
// some minutes nobody waits for an answer.
func (h *Handler) answer(ctx context.Context, tests []*message) {
	if len(tests) == 0 {
		return
	}
	client, err := h.connect(ctx)
	if err != nil {
		fail(tests, err)
		return
	}
	for _, test := range tests {
		name := queueName(h.queueOf(test.record))
		detail := test.event.Detail.(*events.DeliveryTest)
		test.err = client.Record(ctx, cluster.EventArrived(detail.ID, name), h.now())
		if test.err == nil {
			slog.InfoContext(ctx, "a test event arrived", "queue", name, "id", detail.ID)
		}
	}
}

// queueName returns the name at the end of a queue's URL.
func queueName(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }
