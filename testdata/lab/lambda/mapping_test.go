package lambda

import (
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
	"github.com/whittle-dev/whittle/testdata/lab/sqs"
)

func TestQueueInvokesFunction(t *testing.T) {
	w := newWorld(t)
	w.function("worker", nil)
	arn := w.queue("work", nil)
	w.mapQueue("worker", arn, nil)
	w.send("work", "first")
	// The message is deleted once the sandbox is idle again.
	until(t, "the first message is processed", 10*time.Second, func() bool {
		return len(w.service.Invocations()) == 1 && w.count("work", "ApproximateNumberOfMessagesNotVisible") == "0"
	})
	sent := time.Now()
	w.send("work", "second")
	until(t, "the second message is processed", 10*time.Second, func() bool { return len(w.service.Invocations()) == 2 })
	t.Logf("warm delivery took %v", time.Since(sent))
	invocations := w.service.Invocations()
	if first := invocations[0]; !first.Cold || first.Init <= 0 || first.Trigger != arn || first.Records != 1 ||
		first.ErrorType != "" {
		t.Errorf("the first invocation was %+v; want a cold one of one record from the queue", first)
	}
	if second := invocations[1]; second.Cold || second.Init != 0 {
		t.Errorf("the second invocation was %+v; want a warm one", second)
	}
	until(t, "the queue is empty", 5*time.Second, func() bool {
		return w.count("work", "ApproximateNumberOfMessagesNotVisible") == "0"
	})
	if !w.logged("/aws/lambda/worker", "message second receive 1") {
		t.Error("the function's output is not in its log group")
	}
}

func (w *world) count(queue, attribute string) string {
	w.t.Helper()
	all, err := w.queues.Attributes(queue)
	if err != nil {
		w.t.Fatal(err)
	}
	return all[attribute]
}

// TestPartialFailure shows that only the failing message of a batch comes back, and ends in the
// dead-letter queue.
func TestPartialFailure(t *testing.T) {
	w := newWorld(t)
	w.function("worker", map[string]any{"Timeout": 1})
	dead := w.queue("dead", nil)
	arn := w.queue("work", map[string]string{
		"VisibilityTimeout": "1", "RedrivePolicy": `{"deadLetterTargetArn":"` + dead + `","maxReceiveCount":2}`,
	})
	for _, body := range []string{"good", "fail once and again", "good too"} {
		w.send("work", body)
	}
	w.mapQueue("worker", arn, nil)
	until(t, "a message is in the dead-letter queue", 15*time.Second, func() bool {
		return w.count("dead", "ApproximateNumberOfMessages") == "1"
	})
	messages, err := w.queues.Receive(t.Context(), "dead", sqs.ReceiveOptions{Maximum: 10})
	if err != nil || len(messages) != 1 || messages[0].Body != "fail once and again" {
		t.Fatalf("the dead-letter queue has %v, %v; want the failing message alone", messages, err)
	}
	if got := messages[0].SystemAttributes()["DeadLetterQueueSourceArn"]; got != arn {
		t.Errorf("DeadLetterQueueSourceArn = %q, want %q", got, arn)
	}
	invocations := w.service.Invocations()
	if len(invocations) != 2 || invocations[0].Records != 3 || invocations[1].Records != 1 {
		t.Errorf("invocations %+v; want one of 3 records and one of the failing record alone", invocations)
	}
}

// TestWholeBatchFails covers failures of all messages: an error of the function, and an
// undocumented answer.
func TestWholeBatchFails(t *testing.T) {
	for _, body := range []string{"error", "malformed"} {
		t.Run(body, func(t *testing.T) {
			w := newWorld(t)
			w.function("worker", map[string]any{"Timeout": 1})
			dead := w.queue("dead", nil)
			arn := w.queue("work", map[string]string{
				"VisibilityTimeout": "1", "RedrivePolicy": `{"deadLetterTargetArn":"` + dead + `","maxReceiveCount":1}`,
			})
			w.send("work", "good")
			w.send("work", body)
			w.mapQueue("worker", arn, nil)
			until(t, "both messages are in the dead-letter queue", 10*time.Second, func() bool {
				return w.count("dead", "ApproximateNumberOfMessages") == "2"
			})
		})
	}
}

// TestDeliveredTwice covers both causes of a second delivery: the queue duplicates the message, or
// its visibility timeout ends before the function does.
func TestDeliveredTwice(t *testing.T) {
	t.Run("doubled by the queue", func(t *testing.T) {
		w := newWorld(t)
		w.function("worker", nil)
		arn := w.queue("work", nil)
		if err := w.queues.DuplicateEvery("work", 1); err != nil {
			t.Fatal(err)
		}
		w.mapQueue("worker", arn, nil)
		w.send("work", "once sent")
		until(t, "two invocations", 10*time.Second, func() bool { return len(w.service.Invocations()) == 2 })
		until(t, "the queue is empty", 5*time.Second, func() bool {
			return w.count("work", "ApproximateNumberOfMessages") == "0" &&
				w.count("work", "ApproximateNumberOfMessagesNotVisible") == "0"
		})
	})
	t.Run("slower than the visibility timeout", func(t *testing.T) {
		w := newWorld(t)
		w.function("worker", map[string]any{"Timeout": 2})
		arn := w.queue("work", map[string]string{"VisibilityTimeout": "2"})
		w.mapQueue("worker", arn, nil)
		if err := w.queues.SetAttributes("work", map[string]string{"VisibilityTimeout": "1"}); err != nil {
			t.Fatal(err)
		}
		w.send("work", "slow")
		until(t, "a second delivery", 10*time.Second, func() bool {
			return w.logged("/aws/lambda/worker", "message slow receive 2")
		})
	})
}

func TestPollersGrowAndHonorMaximumConcurrency(t *testing.T) {
	w := newWorld(t)
	w.function("worker", nil)
	arn := w.queue("work", nil)
	w.mapQueue("worker", arn, map[string]any{"BatchSize": 1, "ScalingConfig": map[string]any{"MaximumConcurrency": 2}})
	started := time.Now()
	for range 4 {
		w.send("work", "slow")
	}
	until(t, "four invocations", 20*time.Second, func() bool { return len(w.service.Invocations()) == 4 })
	if took := time.Since(started); took < 3*time.Second {
		t.Errorf("four messages of 1.5 s took %v at a concurrency of 2; want at least 3 s", took)
	}
}

// TestMappingIsChangedAtWork checks that the pollers of the new settings stay while old ones are at
// work.
func TestMappingIsChangedAtWork(t *testing.T) {
	w := newWorld(t)
	w.service.longPoll = 100 * time.Millisecond
	w.function("worker", nil)
	m := w.service.mappings[w.mapQueue("worker", w.queue("work", nil), map[string]any{"BatchSize": 1})]
	for range 5 {
		w.send("work", "slow")
	}
	until(t, "all are at work", 10*time.Second, func() bool {
		return w.count("work", "ApproximateNumberOfMessagesNotVisible") == "5"
	})
	settings := m.settings
	settings.batchSize = 2
	if err := m.change(settings); err != nil {
		t.Fatal(err)
	}
	until(t, "the work is done", 10*time.Second, func() bool { return len(w.service.Invocations()) == 5 })
	w.send("work", "good")
	until(t, "another message is processed", 10*time.Second, func() bool { return len(w.service.Invocations()) == 6 })
}

// TestPollersComeAndGo: five at first, more while messages wait, and few while none come.
func TestPollersComeAndGo(t *testing.T) {
	for _, test := range []struct {
		name    string
		setting map[string]any
		most    int
		quiet   int
	}{
		{"without a setting", nil, firstPollers + 1, 2},
		{"with MaximumConcurrency", map[string]any{"MaximumConcurrency": 7}, 7, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.service.longPoll = 100 * time.Millisecond
			w.function("worker", nil)
			more := map[string]any{"BatchSize": 1}
			if test.setting != nil {
				more["ScalingConfig"] = test.setting
			}
			m := w.service.mappings[w.mapQueue("worker", w.queue("work", nil), more)]
			counted := func() int {
				w.service.mu.Lock()
				defer w.service.mu.Unlock()
				return m.pollers.all
			}
			if n := counted(); n != firstPollers {
				t.Errorf("%d pollers at first, want %d", n, firstPollers)
			}
			until(t, "it is quiet", 10*time.Second, func() bool { return counted() == test.quiet })
			for range 40 {
				w.send("work", "slow")
			}
			most := 0
			until(t, "all are processed", 60*time.Second, func() bool {
				most = max(most, counted())
				return len(w.service.Invocations()) == 40
			})
			if test.setting == nil && most < test.most || test.setting != nil && most != test.most {
				t.Errorf("%d pollers at most, want %d (without a setting: or more)", most, test.most)
			}
			until(t, "it is quiet again", 10*time.Second, func() bool { return counted() == test.quiet })
			polls := w.service.Polls()
			until(t, "the quiet pollers go on", 10*time.Second, func() bool { return w.service.Polls() >= polls+2*test.quiet })
		})
	}
}

func TestConcurrencyHoldsMessagesBack(t *testing.T) {
	w := newWorld(t)
	w.service.concurrency = 1
	w.function("worker", nil)
	arn := w.queue("work", nil)
	w.mapQueue("worker", arn, map[string]any{"BatchSize": 1})
	for range 3 {
		w.send("work", "good")
	}
	until(t, "three invocations", 10*time.Second, func() bool { return len(w.service.Invocations()) == 3 })
	for _, i := range w.service.Invocations()[1:] {
		if i.Cold {
			t.Errorf("%+v: a second sandbox was started with a concurrency of 1", i)
		}
	}
}

func TestMappingRefusesShortVisibilityTimeout(t *testing.T) {
	w := newWorld(t)
	w.function("worker", map[string]any{"Timeout": 60})
	arn := w.queue("work", nil)
	_, err := (mappingType{w.service}).Create(t.Context(),
		cloudformation.Request{Properties: map[string]any{"FunctionName": "worker", "EventSourceArn": arn}})
	if err == nil {
		t.Fatal("a visibility timeout of 30 s was accepted for a function of 60 s")
	}
}

// TestLoopIsStopped checks that Lambda drops a message whose chain has run through the function 16
// times.
func TestLoopIsStopped(t *testing.T) {
	w := newWorld(t)
	w.function("worker", nil)
	dead := w.queue("dead", nil)
	arn := w.queue("work", map[string]string{
		"RedrivePolicy": `{"deadLetterTargetArn":"` + dead + `","maxReceiveCount":5}`,
	})
	w.mapQueue("worker", arn, nil)
	header := ""
	for range maximumLoop {
		header = traceHeader(w.service.arn("worker"), header)
	}
	if _, err := w.queues.Send("work", sqs.Message{Body: "good", TraceHeader: header}, nil); err != nil {
		t.Fatal(err)
	}
	until(t, "the message is in the dead-letter queue", 5*time.Second, func() bool {
		return w.count("dead", "ApproximateNumberOfMessages") == "1"
	})
	if n := len(w.service.Invocations()); n != 0 {
		t.Errorf("%d invocations, want none", n)
	}
}

// TestLoopIsAllowed holds that a function that allows loops gets the message.
func TestLoopIsAllowed(t *testing.T) {
	w := newWorld(t)
	w.function("worker", map[string]any{"RecursiveLoop": "Allow"})
	w.mapQueue("worker", w.queue("work", nil), nil)
	header := ""
	for range maximumLoop {
		header = traceHeader(w.service.arn("worker"), header)
	}
	if _, err := w.queues.Send("work", sqs.Message{Body: "good", TraceHeader: header}, nil); err != nil {
		t.Fatal(err)
	}
	until(t, "an invocation", 10*time.Second, func() bool { return len(w.service.Invocations()) == 1 })
}

// TestFunctionThatSendsToItself: the SDK in the sandbox reaches the local queue, carries the chain
// on, and the loop ends.
func TestFunctionThatSendsToItself(t *testing.T) {
	w := newWorld(t)
	dead := w.queue("dead", nil)
	arn := w.queue("work", map[string]string{
		"RedrivePolicy": `{"deadLetterTargetArn":"` + dead + `","maxReceiveCount":5}`,
	})
	url := w.service.options.Endpoint() + "/" + testAccount + "/work"
	w.function("worker", map[string]any{"Environment": map[string]any{"Variables": map[string]any{"QUEUE_URL": url}}})
	w.mapQueue("worker", arn, nil)
	w.send("work", "loop")
	until(t, "the message is in the dead-letter queue", 20*time.Second, func() bool {
		return w.count("dead", "ApproximateNumberOfMessages") == "1"
	})
	// The last of them sent that message before it ended.
	until(t, "the invocations have ended", 5*time.Second, func() bool {
		return len(w.service.Invocations()) >= maximumLoop
	})
	invocations := w.service.Invocations()
	if len(invocations) != maximumLoop {
		t.Errorf("%d invocations, want %d", len(invocations), maximumLoop)
	}
	for _, i := range invocations {
		if i.ErrorType != "" {
			t.Errorf("%+v", i)
		}
	}
}

func TestLineageOfSeveralFunctions(t *testing.T) {
	first := traceHeader("arn:a", "")
	second := traceHeader("arn:b", first)
	third := traceHeader("arn:a", strings.ReplaceAll(second, "|", "%7C"), first)
	if a, b := lineageCount(third, "arn:a"), lineageCount(third, "arn:b"); a != 2 || b != 1 {
		t.Errorf("%s: counts %d and %d, want 2 and 1", third, a, b)
	}
	if n := lineageCount("Root=1-x;Lineage=nonsense|a:|:3|b:-1", "arn:a"); n != 0 {
		t.Errorf("nonsense counts as %d", n)
	}
}

func TestItemFailures(t *testing.T) {
	batch := []sqs.Message{{ID: "a"}, {ID: "b"}}
	for _, test := range []struct {
		name, payload string
		failed        []string
		whole         bool
	}{
		{"empty answer", ``, nil, false},
		{"null", `null`, nil, false},
		{"empty object", `{}`, nil, false},
		{"empty list", `{"batchItemFailures":[]}`, nil, false},
		{"null list", `{"batchItemFailures":null}`, nil, false},
		{"one", `{"batchItemFailures":[{"itemIdentifier":"b"}]}`, []string{"b"}, false},
		{"not JSON", `{`, nil, true},
		{"a string", `"done"`, nil, true},
		{"empty identifier", `{"batchItemFailures":[{"itemIdentifier":""}]}`, nil, true},
		{"null identifier", `{"batchItemFailures":[{"itemIdentifier":null}]}`, nil, true},
		{"wrong key", `{"batchItemFailures":[{"id":"a"}]}`, nil, true},
		{"unknown message", `{"batchItemFailures":[{"itemIdentifier":"c"}]}`, nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			failed, err := itemFailures([]byte(test.payload), batch)
			if (err != nil) != test.whole {
				t.Fatalf("error %v, want one: %v", err, test.whole)
			}
			if len(failed) != len(test.failed) {
				t.Fatalf("failed %v, want %v", failed, test.failed)
			}
			for _, id := range test.failed {
				if !failed[id] {
					t.Errorf("%s is not among the failed %v", id, failed)
				}
			}
		})
	}
}
