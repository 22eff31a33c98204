package function_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/queue"
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
	handler := function.Each(func(_ context.Context, message events.SQSMessage) error {
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
	handler := function.Each(func(context.Context, events.SQSMessage) error { return nil })
	for _, event := range []events.SQSEvent{{}, batch("a")} {
		if response, err := handler(t.Context(), event); err != nil || len(response.BatchItemFailures) != 0 {
			t.Errorf("%+v, %v", response, err)
		}
	}
}

func TestOnePassAnswersABatch(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	wake := func(reason queue.Reason, age time.Duration) string {
		return fmt.Sprintf(`{"cluster":"prod","at":%q,"reason":%q}`, now.Add(-age).Format(time.RFC3339), reason)
	}
	better := func(candidate, _ queue.Message) bool { return candidate.Reason == queue.ReasonInterruption }
	refused := errors.New("refused")
	for _, test := range []struct {
		name    string
		bodies  []string
		refuses error
		passes  string // the reasons that passes were made for
		failed  int
		err     error
	}{
		{
			"the first message decides", []string{wake(queue.ReasonTick, 0), wake(queue.ReasonLaunch, 0)},
			nil, "[tick]", 0, nil,
		},
		{
			"a better message decides", []string{wake(queue.ReasonTick, 0), wake(queue.ReasonInterruption, 0)},
			nil, "[interruption]", 0, nil,
		},
		{"a late tick is dropped", []string{wake(queue.ReasonTick, 2*time.Minute)}, nil, "[]", 0, nil},
		{"a late launch is not", []string{wake(queue.ReasonLaunch, 2*time.Minute)}, nil, "[launch]", 0, nil},
		{"an unreadable message comes back alone", []string{"{", wake(queue.ReasonTick, 0)}, nil, "[tick]", 1, nil},
		{"after a failed pass the batch comes back", []string{wake(queue.ReasonTick, 0)}, refused, "[tick]", 0, refused},
	} {
		t.Run(test.name, func(t *testing.T) {
			var event events.SQSEvent
			for i, body := range test.bodies {
				event.Records = append(event.Records, events.SQSMessage{MessageId: fmt.Sprint(i), Body: body})
			}
			passes := []queue.Reason{}
			var numbers strings.Builder
			// Lambda counts no failure of a single message, so that an alarm needs these with every detail.
			recorder := metrics.NewRecorder("prod", &numbers, time.Now).Limited(metrics.DetailOff)
			pass := func(_ context.Context, m queue.Message) error {
				passes = append(passes, m.Reason)
				return test.refuses
			}
			handler := function.OnePass(func() time.Time { return now }, recorder, better, pass)
			response, err := handler(t.Context(), event)
			got, failed := fmt.Sprint(passes), len(response.BatchItemFailures)
			if got != test.passes || failed != test.failed || !errors.Is(err, test.err) {
				t.Errorf("passes %s, %d failed, error %v", got, failed, err)
			}
			for _, name := range []metrics.Name{metrics.FailedMessages, metrics.UnreadableMessages} {
				if strings.Contains(numbers.String(), fmt.Sprintf("%q:%d", name, test.failed)) != (test.failed > 0) {
					t.Errorf("measured %q, want %s of %d messages", numbers.String(), name, test.failed)
				}
			}
		})
	}
}
