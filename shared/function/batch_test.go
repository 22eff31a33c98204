package function

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

func batch(ids ...string) events.SQSEvent {
	var event events.SQSEvent
	for _, id := range ids {
		event.Records = append(event.Records, events.SQSMessage{MessageId: id})
	}
	return event
}

func TestOnlyTheMessagesThatFailedComeBack(t *testing.T) {
	var handled []string
	handler := Each(func(_ context.Context, message events.SQSMessage) error {
		handled = append(handled, message.MessageId)
		if message.MessageId == "b" || message.MessageId == "d" {
			return errors.New("refused")
		}
		return nil
	})
	for range 2 { // twice in one container: nothing is remembered
		handled = nil
		response, err := handler(t.Context(), batch("a", "b", "c", "d"))
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(response)
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"batchItemFailures":[{"itemIdentifier":"b"},{"itemIdentifier":"d"}]}`; string(encoded) != want {
			t.Errorf("the answer is %s, want %s", encoded, want)
		}
		if !slices.Equal(handled, []string{"a", "b", "c", "d"}) {
			t.Errorf("handled %v: a failure kept others waiting", handled)
		}
	}
}

func TestABatchWithoutFailuresIsDone(t *testing.T) {
	handler := Each(func(context.Context, events.SQSMessage) error { return nil })
	for _, event := range []events.SQSEvent{{}, batch("a")} {
		if response, err := handler(t.Context(), event); err != nil || len(response.BatchItemFailures) != 0 {
			t.Errorf("%+v, %v", response, err)
		}
	}
}
