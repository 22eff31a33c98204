package interrupt

import (
	"context"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/events"
)

// TestTestEventsAreAnswered holds also while Karpenter leads, and beside other messages.
func TestTestEventsAreAnswered(t *testing.T) {
	h, _ := newHandler(t, nil)
	client := server.Everything(t)
	for name, next := range map[string]func(context.Context, lambdaevents.SQSEvent) (lambdaevents.SQSEventResponse, error){
		"at work": h.handle, "in standby": h.aside,
	} {
		id := "id-" + name
		messages := batch(t,
			&events.DeliveryTest{Cluster: "test", ID: id + "-0"}, &events.StateChange{InstanceID: "i-0123", State: "stopped"},
			&events.DeliveryTest{Cluster: "test", ID: id + "-1"}, &events.DeliveryTest{Cluster: "other", ID: id + "-2"})
		messages.Records[2].EventSourceARN = "arn:aws:sqs:us-east-1:123456789012:w"
		var passed []string
		response, err := h.answering(func(
			ctx context.Context, rest lambdaevents.SQSEvent,
		) (lambdaevents.SQSEventResponse, error) {
			for _, record := range rest.Records {
				passed = append(passed, record.MessageId)
			}
			return next(ctx, rest)
		})(t.Context(), messages)
		if err != nil {
			t.Fatal(err)
		}
		if len(passed) != 2 || passed[0] != "1" || passed[1] != "3" {
			t.Errorf("%s: the messages %v go on", name, passed)
		}
		for _, failure := range response.BatchItemFailures {
			if failure.ItemIdentifier == "0" || failure.ItemIdentifier == "2" {
				t.Errorf("%s: test event %s comes back", name, failure.ItemIdentifier)
			}
		}
		arrived, err := client.Arrived(t.Context(), id)
		if err != nil || len(arrived) != 2 || !arrived["i"] || !arrived["w"] {
			t.Errorf("%s: answered are %v, %v, want both queues", name, arrived, err)
		}
	}
}

// TestATestEventWithoutAnAnswerComesBack has a cluster that does not answer. An old test event is
// dropped, because nobody waits for its answer.
func TestATestEventWithoutAnAnswerComesBack(t *testing.T) {
	h, mail := newHandler(t, nil)
	h.connect = func(context.Context) (kubernetes, error) { return nil, context.DeadlineExceeded }
	h.now = func() time.Time { return time.UnixMilli(1_800_000_000_000) }
	messages := batch(t, &events.DeliveryTest{Cluster: "test", ID: "a"}, &events.DeliveryTest{Cluster: "test", ID: "b"})
	for i, sent := range []string{"1799999999000", "1799999000000"} {
		messages.Records[i].Attributes = map[string]string{"SentTimestamp": sent}
		messages.Records[i].ReceiptHandle = sent
	}
	response, err := h.answering(h.handle)(t.Context(), messages)
	if err != nil || len(response.BatchItemFailures) != 1 || response.BatchItemFailures[0].ItemIdentifier != "0" {
		t.Errorf("%v, %v come back, want the new one", response.BatchItemFailures, err)
	}
	if after := mail.shown["1799999999000"]; after != firstRetry {
		t.Errorf("it comes back after %s", after)
	}
}
