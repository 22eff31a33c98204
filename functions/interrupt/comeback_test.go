package interrupt

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/shared/metrics"
)

// delivered gives the messages the age and the number of deliveries that SQS tells.
func delivered(batch lambdaevents.SQSEvent, now time.Time, age time.Duration, attempt int) lambdaevents.SQSEvent {
	for i := range batch.Records {
		record := &batch.Records[i]
		record.ReceiptHandle = "receipt-" + record.MessageId
		record.Attributes = map[string]string{
			"SentTimestamp":           strconv.FormatInt(now.Add(-age).UnixMilli(), 10),
			"ApproximateReceiveCount": strconv.Itoa(attempt),
		}
	}
	return batch
}

// TestAFailedWarningComesBackAtOnce holds that a spot warning that fails twenty times is still tried
// before the instance goes.
func TestAFailedWarningComesBackAtOnce(t *testing.T) {
	h, mail := newHandler(t, nil)
	h.connect = func(context.Context) (kubernetes, error) { return nil, errors.New("the API server is away") }
	for _, test := range []struct {
		age     time.Duration
		attempt int
		want    time.Duration
	}{
		{0, 1, time.Second},
		{time.Second, 2, 2 * time.Second},
		{110 * time.Second, 50, 2 * time.Second},
		{2 * time.Minute, 60, 30 * time.Second},
	} {
		clear(mail.shown)
		if ids := failed(t, h, delivered(batch(t, spot("i-1")), h.now(), test.age, test.attempt)); len(ids) != 1 {
			t.Fatalf("failed %v", ids)
		}
		if want := map[string]time.Duration{"receipt-0": test.want}; !maps.Equal(mail.shown, want) {
			t.Errorf("after %s: comes back %v, want %v", test.age, mail.shown, want)
		}
	}
}

// TestAMessageComesBackInItsQueue holds that a warning that fails does not wait for the visibility timeout
// because another queue does not know it.
func TestAMessageComesBackInItsQueue(t *testing.T) {
	h, mail := newHandler(t, nil)
	h.connect = func(context.Context) (kubernetes, error) { return nil, errors.New("the API server is away") }
	for arn, want := range map[string]string{
		"": h.interrupt, "arn:aws:sqs:us-east-1:123456789012:i": h.interrupt,
		"arn:aws:sqs:us-east-1:123456789012:w": h.warnings, "arn:aws:sqs:us-east-1:123456789012:aw": h.interrupt,
	} {
		messages := delivered(batch(t, spot("i-1")), h.now(), 0, 1)
		messages.Records[0].EventSourceARN = arn
		failed(t, h, messages)
		if mail.shownIn != want {
			t.Errorf("a message of %q comes back in %q, want %q", arn, mail.shownIn, want)
		}
		if _, err := h.aside(t.Context(), messages); err != nil || mail.shownIn != want {
			t.Errorf("in standby a message of %q comes back in %q, %v, want %q", arn, mail.shownIn, err, want)
		}
	}
}

// TestAFailingMessageIsTriedForMinutes holds that a message that always fails is
// tried until its instance has gone, and that people hear of it within half an hour.
func TestAFailingMessageIsTriedForMinutes(t *testing.T) {
	const receives = 100 // the queue's maxReceiveCount
	var age, last time.Duration
	for attempt := 1; attempt <= receives; attempt++ {
		last = retryAfter(age, attempt)
		age += last
	}
	if age < 15*time.Minute || age > 30*time.Minute || last != lateRetry {
		t.Errorf("%d attempts take %s", receives, age)
	}
	var kept time.Duration
	deliveries := 0
	for ; keepFor(kept) > 0; deliveries++ {
		kept += keepFor(kept)
	}
	if kept < 10*time.Minute || deliveries > receives/2 {
		t.Errorf("standby keeps a message for %s, which takes %d of %d deliveries", kept, deliveries, receives)
	}
}

// TestStandbyKeepsMessages holds that the end of standby finds the warnings that arrived during it.
func TestStandbyKeepsMessages(t *testing.T) {
	h, mail := newHandler(t, nil)
	h.connect = func(context.Context) (kubernetes, error) {
		t.Error("standby reads the cluster")
		return nil, errors.New("standby")
	}
	unknown := lambdaevents.SQSMessage{MessageId: "unknown", Body: `{"detail-type":"EC2 Coffee Break","detail":{}}`}
	for _, test := range []struct {
		age  time.Duration
		want map[string]time.Duration
	}{
		{0, map[string]time.Duration{"receipt-0": 10 * time.Second, "receipt-1": 10 * time.Second}},
		{3 * time.Minute, map[string]time.Duration{"receipt-0": time.Minute, "receipt-1": time.Minute}},
		{10 * time.Minute, map[string]time.Duration{}},
	} {
		clear(mail.shown)
		messages := batch(t, spot("i-1"), spot("i-2"))
		messages.Records = append(messages.Records, unknown)
		response, err := h.aside(t.Context(), delivered(messages, h.now(), test.age, 3))
		if err != nil || len(response.BatchItemFailures) != len(test.want) || !maps.Equal(mail.shown, test.want) {
			t.Errorf("after %s: %v, %v, come back %v; want %v", test.age, response, err, mail.shown, test.want)
		}
	}
}

// TestAFailedInvocationComesBackAtOnce holds for a failure before the handler, such as that to read
// Karpenter's Lease.
func TestAFailedInvocationComesBackAtOnce(t *testing.T) {
	h, mail := newHandler(t, nil)
	var numbers strings.Builder
	// Lambda counts no error of this, so that the alarm needs the metric with every detail.
	h.metrics = metrics.NewRecorder("test", &numbers, time.Now).Limited(metrics.DetailOff)
	handle := h.retrying(func(context.Context, lambdaevents.SQSEvent) (lambdaevents.SQSEventResponse, error) {
		return lambdaevents.SQSEventResponse{}, errors.New("listing leases: the API server is away")
	})
	response, err := handle(t.Context(), delivered(batch(t, spot("i-1"), spot("i-2")), h.now(), 0, 1))
	if err != nil || len(response.BatchItemFailures) != 2 {
		t.Errorf("%v, %v", response, err)
	}
	if got := slices.Collect(maps.Values(mail.shown)); !slices.Equal(got, []time.Duration{time.Second, time.Second}) {
		t.Errorf("come back after %v", got)
	}
	if !strings.Contains(numbers.String(), `"FailedMessages":2`) {
		t.Errorf("measured %s", numbers.String())
	}
	numbers.Reset()
	broken := lambdaevents.SQSEvent{Records: []lambdaevents.SQSMessage{{MessageId: "0", Body: "no event"}}}
	if _, err := h.retrying(h.handle)(t.Context(), delivered(broken, h.now(), 0, 1)); err != nil ||
		!strings.Contains(numbers.String(), `"FailedMessages":1`) ||
		!strings.Contains(numbers.String(), `"UnreadableMessages":1`) {
		t.Errorf("with an unreadable message: %v, measured %s", err, numbers.String())
	}
	numbers.Reset()
	handle = h.retrying(h.handle)
	if response, err := handle(t.Context(), lambdaevents.SQSEvent{}); err != nil || len(response.BatchItemFailures) > 0 {
		t.Errorf("without an error: %v, %v", response, err)
	}
	if numbers.Len() > 0 {
		t.Errorf("without an error: measured %s", numbers.String())
	}
}

// TestLostAnswersOfSQSLeaveTimeToReturn holds that the other messages of a batch are not repeated.
func TestLostAnswersOfSQSLeaveTimeToReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := time.Now().Add(10 * time.Second)
		ctx, cancel := context.WithDeadline(t.Context(), end)
		defer cancel()
		h := &Handler{sender: silent{}}
		response := h.comeBack(ctx, []comeback{{lambdaevents.SQSMessage{MessageId: "0"}, time.Second}})
		if len(response.BatchItemFailures) != 1 || !time.Now().Before(end) {
			t.Errorf("returns %v %s before the end", response, time.Until(end))
		}
	})
}
