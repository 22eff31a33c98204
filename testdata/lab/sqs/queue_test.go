package sqs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const account = "123456789012"

func newService(t *testing.T) *Service {
	s := New(Options{AccountID: account, Region: "us-east-1", Endpoint: func() string { return "http://127.0.0.1:1" }})
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func create(t *testing.T, s *Service, name string, attributes map[string]string) {
	t.Helper()
	if _, err := s.CreateQueue(name, attributes); err != nil {
		t.Fatal(err)
	}
}

func send(t *testing.T, s *Service, queue, body string, delay time.Duration) {
	t.Helper()
	var given *time.Duration
	if delay > 0 {
		given = &delay
	}
	if _, err := s.Send(queue, Message{Body: body}, given); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, s *Service, queue string, wait time.Duration) []Message {
	t.Helper()
	messages, err := s.Receive(t.Context(), queue, ReceiveOptions{Maximum: 10, Wait: wait})
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

func bodies(messages []Message) string {
	var all []string
	for _, m := range messages {
		all = append(all, m.Body)
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// The tests below run in bubbles of simulated time: hours of it cost nothing, and a moment is
// exact.

func TestDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		create(t, s, "own", map[string]string{"DelaySeconds": "10"})
		create(t, s, "q", nil)
		started := time.Now()
		send(t, s, "own", "by the queue", 0)
		send(t, s, "q", "by itself", 15*time.Minute)
		if got := receive(t, s, "own", 20*time.Second); bodies(got) != "by the queue" ||
			time.Since(started) != 10*time.Second {
			t.Errorf("got %v after %v, want the message after the queue's 10 s", got, time.Since(started))
		}
		if all, err := s.Attributes("q"); err != nil || all["ApproximateNumberOfMessagesDelayed"] != "1" {
			t.Errorf("attributes %v, %v: want one delayed message", all, err)
		}
		for time.Since(started) < 14*time.Minute {
			if got := receive(t, s, "q", 20*time.Second); len(got) > 0 {
				t.Fatalf("got %v after %v", got, time.Since(started))
			}
		}
		var got []Message
		for len(got) == 0 {
			got = receive(t, s, "q", 20*time.Second)
		}
		if time.Since(started) != 15*time.Minute {
			t.Errorf("came after %v, want 15 min", time.Since(started))
		}
		tooLong := 901 * time.Second
		if _, err := s.Send("q", Message{Body: "x"}, &tooLong); err == nil {
			t.Error("a delay of 901 s was accepted")
		}
	})
}

// TestTheOldestMessageIsNotOneThatFails holds that an alarm on the age alone does not see such a message.
func TestTheOldestMessageIsNotOneThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		create(t, s, "q", map[string]string{"VisibilityTimeout": "30"})
		send(t, s, "q", "m", 0)
		for _, want := range []time.Duration{0, 30 * time.Second, 60 * time.Second, 0} {
			if got, err := s.OldestMessage("q"); err != nil || got != want {
				t.Errorf("the age is %s, %v, want %s", got, err, want)
			}
			receive(t, s, "q", 0)
			time.Sleep(30 * time.Second)
		}
	})
}

func TestVisibilityAndReceiveCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		create(t, s, "q", map[string]string{"VisibilityTimeout": "30"})
		send(t, s, "q", "m", 0)
		started := time.Now()
		first := receive(t, s, "q", 0)
		if len(first) != 1 || first[0].ReceiveCount != 1 {
			t.Fatalf("first receive: %+v", first)
		}
		if got := receive(t, s, "q", 0); len(got) != 0 {
			t.Fatalf("the message is visible in flight: %+v", got)
		}
		second := receive(t, s, "q", 20*time.Second)
		for len(second) == 0 {
			second = receive(t, s, "q", 20*time.Second)
		}
		if time.Since(started) != 30*time.Second || second[0].ReceiveCount != 2 ||
			second[0].FirstReceived != first[0].FirstReceived || second[0].ID != first[0].ID {
			t.Errorf("second receive after %v: %+v", time.Since(started), second)
		}
		if err := s.Delete("q", first[0].ReceiptHandle); err != nil {
			t.Errorf("deleting by the old handle: %v", err)
		}
		if all, _ := s.Attributes("q"); all["ApproximateNumberOfMessagesNotVisible"] != "1" {
			t.Error("the old handle deleted the message that a later receive holds")
		}
		if err := s.changeVisibility("q", second[0].ReceiptHandle, 0); err != nil {
			t.Fatal(err)
		}
		third := receive(t, s, "q", 0)
		if len(third) != 1 || third[0].ReceiveCount != 3 {
			t.Fatalf("after ending the visibility timeout: %+v", third)
		}
		if err := s.changeVisibility("q", third[0].ReceiptHandle, time.Hour); err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Minute)
		if got := receive(t, s, "q", 0); len(got) != 0 {
			t.Errorf("visible before its changed timeout: %+v", got)
		}
		if err := s.Delete("q", third[0].ReceiptHandle); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		if got := receive(t, s, "q", 0); len(got) != 0 {
			t.Errorf("a deleted message came back: %+v", got)
		}
		var refused *contentError
		if err := s.changeVisibility("q", third[0].ReceiptHandle, time.Minute); !errors.As(err, &refused) ||
			refused.code != "MessageNotInflight" {
			t.Errorf("changing a deleted message: %v, want MessageNotInflight", err)
		}
		if err := s.Delete("q", "nonsense"); !errors.As(err, &refused) || refused.code != "ReceiptHandleIsInvalid" {
			t.Errorf("deleting by nonsense: %v, want ReceiptHandleIsInvalid", err)
		}
	})
}

func TestDeleteAfterTheTimeoutWithoutAnotherReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		create(t, s, "q", nil)
		send(t, s, "q", "m", 0)
		got := receive(t, s, "q", 0)
		time.Sleep(time.Minute)
		if err := s.Delete("q", got[0].ReceiptHandle); err != nil {
			t.Fatal(err)
		}
		if again := receive(t, s, "q", 0); len(again) != 0 {
			t.Errorf("came back: %+v", again)
		}
	})
}

func TestDeadLetterQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		create(t, s, "dead", nil)
		create(t, s, "q", map[string]string{
			"VisibilityTimeout": "1", "RedrivePolicy": `{"deadLetterTargetArn":"` + s.arn("dead") + `","maxReceiveCount":"3"}`,
		})
		send(t, s, "q", "m", 0)
		for i := range 3 {
			if got := receive(t, s, "q", 20*time.Second); len(got) != 1 || got[0].ReceiveCount != i+1 {
				t.Fatalf("receive %d: %+v", i+1, got)
			}
		}
		if got := receive(t, s, "q", 20*time.Second); len(got) != 0 {
			t.Fatalf("a fourth receive: %+v", got)
		}
		got := receive(t, s, "dead", 0)
		if len(got) != 1 || got[0].Body != "m" || got[0].DeadLetterSource != s.arn("q") {
			t.Errorf("dead-letter queue: %+v", got)
		}
	})
}

func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		create(t, s, "q", map[string]string{"MessageRetentionPeriod": "300"})
		send(t, s, "q", "old", 0)
		send(t, s, "q", "in flight", 0)
		if got, err := s.Receive(t.Context(), "q", ReceiveOptions{Maximum: 1}); err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		time.Sleep(4 * time.Minute)
		send(t, s, "q", "new", 0)
		time.Sleep(time.Minute)
		if got := receive(t, s, "q", 0); bodies(got) != "new" {
			t.Errorf("got %q, want the new message alone", bodies(got))
		}
	})
}

func TestLongPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		create(t, s, "q", nil)
		started := time.Now()
		if got := receive(t, s, "q", 20*time.Second); len(got) != 0 || time.Since(started) != 20*time.Second {
			t.Errorf("an empty poll gave %v after %v", got, time.Since(started))
		}
		time.AfterFunc(3*time.Second, func() { send(t, s, "q", "m", 0) })
		started = time.Now()
		if got := receive(t, s, "q", 20*time.Second); len(got) != 1 || time.Since(started) != 3*time.Second {
			t.Errorf("got %v after %v, want the message when it was sent", got, time.Since(started))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Receive(ctx, "q", ReceiveOptions{Maximum: 1, Wait: 20 * time.Second}); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("a cancelled poll gave %v", err)
		}
		time.AfterFunc(time.Second, func() { _ = s.DeleteQueue("q") })
		if _, err := s.Receive(t.Context(), "q", ReceiveOptions{Maximum: 1, Wait: 20 * time.Second}); !errors.Is(err,
			ErrNoQueue) {
			t.Errorf("a poll on a deleted queue gave %v", err)
		}
		create(t, s, "q", nil)
		time.AfterFunc(time.Second, func() { _ = s.Close() })
		if _, err := s.Receive(t.Context(), "q", ReceiveOptions{Maximum: 1, Wait: 20 * time.Second}); !errors.Is(err,
			errClosed) {
			t.Errorf("a poll on a closed service gave %v", err)
		}
	})
}

// TestReceivers checks that each message goes to one of many receivers.
func TestReceivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		create(t, s, "q", nil)
		got := make(chan Message, 100)
		for range 10 {
			go func() {
				for {
					messages, err := s.Receive(t.Context(), "q", ReceiveOptions{Maximum: 3, Wait: 20 * time.Second})
					if err != nil || len(messages) == 0 {
						return
					}
					for _, m := range messages {
						got <- m
						_ = s.Delete("q", m.ReceiptHandle)
					}
				}
			}()
		}
		for i := range 50 {
			send(t, s, "q", fmt.Sprint(i), 0)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		close(got)
		seen := map[string]int{}
		for m := range got {
			seen[m.Body]++
		}
		for i := range 50 {
			if seen[fmt.Sprint(i)] != 1 {
				t.Errorf("message %d came %d times", i, seen[fmt.Sprint(i)])
			}
		}
	})
}

func TestDuplicateEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		create(t, s, "q", nil)
		if err := s.DuplicateEvery("q", 2); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			send(t, s, "q", fmt.Sprint(i), 0)
		}
		for _, m := range receive(t, s, "q", 0) {
			if err := s.Delete("q", m.ReceiptHandle); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		again := receive(t, s, "q", 0)
		if bodies(again) != "1,3" {
			t.Errorf("delivered again: %q, want every second message", bodies(again))
		}
	})
}

func TestDelayEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		create(t, s, "q", nil)
		if err := s.DelayEvery("q", 2, 3*time.Second); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			send(t, s, "q", fmt.Sprint(i), 0)
		}
		if prompt := receive(t, s, "q", 0); bodies(prompt) != "0,2" {
			t.Errorf("delivered at once: %q", bodies(prompt))
		}
		time.Sleep(3 * time.Second)
		if late := receive(t, s, "q", 0); bodies(late) != "1,3" {
			t.Errorf("delivered late: %q, want every second message", bodies(late))
		}
	})
}

func TestVisibilityZeroShowsTheMessageToTheNextReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		create(t, s, "q", map[string]string{"VisibilityTimeout": "0"})
		send(t, s, "q", "m", 0)
		for i := range 3 {
			if got := receive(t, s, "q", 0); len(got) != 1 || got[0].ReceiveCount != i+1 {
				t.Fatalf("receive %d: %+v", i+1, got)
			}
		}
	})
}

func TestGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		create(t, s, "dead", nil)
		create(t, s, "q", map[string]string{
			"RedrivePolicy": `{"deadLetterTargetArn":"` + s.arn("dead") + `","maxReceiveCount":9}`,
		})
		send(t, s, "q", "m", 0)
		got := receive(t, s, "q", 0)
		if err := s.GiveUp("q", got[0].ReceiptHandle); err != nil {
			t.Fatal(err)
		}
		if dead := receive(t, s, "dead", 0); bodies(dead) != "m" {
			t.Errorf("dead-letter queue has %q", bodies(dead))
		}
	})
}

func TestSendFromAsksThePolicy(t *testing.T) {
	s := newService(t)
	rule := "arn:aws:events:us-east-1:123456789012:rule/spot"
	for _, test := range []struct {
		name, policy string
		allowed      bool
	}{
		{"no policy", ``, false},
		{
			"for the rule",
			`{"Statement":[{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":"sqs:SendMessage",` +
				`"Resource":"ARN","Condition":{"ArnEquals":{"aws:SourceArn":"` + rule + `"}}}]}`,
			true,
		},
		{
			"one statement, lists",
			`{"Statement":{"Effect":"Allow","Principal":{"Service":["events.amazonaws.com"]},"Action":["sqs:Send*"],` +
				`"Resource":"*"}}`,
			true,
		},
		{
			"for another rule",
			`{"Statement":[{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":"sqs:SendMessage",` +
				`"Resource":"ARN","Condition":{"ArnEquals":{"aws:SourceArn":"` + rule + `2"}}}]}`,
			false,
		},
		{
			"for another service",
			`{"Statement":[{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage",` +
				`"Resource":"ARN"}]}`,
			false,
		},
		{
			"for another queue",
			`{"Statement":[{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":"sqs:SendMessage",` +
				`"Resource":"ARN2"}]}`,
			false,
		},
		{
			"a condition that is not known",
			`{"Statement":[{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":"sqs:SendMessage",` +
				`"Resource":"ARN","Condition":{"DateGreaterThan":{"aws:CurrentTime":"2020"}}}]}`,
			false,
		},
		{
			"deny wins",
			`{"Statement":[{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*"},{"Effect":"Deny","Principal":"*",` +
				`"Action":"sqs:*","Resource":"*"}]}`,
			false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			name := strings.ReplaceAll(strings.ReplaceAll(test.name, " ", "-"), ",", "")
			create(t, s, name, map[string]string{"Policy": strings.ReplaceAll(test.policy, "ARN", s.arn(name))})
			err := s.SendFrom(t.Context(), "events.amazonaws.com", rule, s.arn(name), "x", nil)
			if (err == nil) != test.allowed {
				t.Errorf("error %v, allowed should be %v", err, test.allowed)
			}
		})
	}
}

func TestUnkindDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{
			AccountID: account, Endpoint: func() string { return "http://127.0.0.1:1" },
			Delivery: Delivery{Seed: 1, Twice: 0.3, Late: 0.3, MostLate: 10 * time.Second, Unordered: true},
		})
		t.Cleanup(func() { _ = s.Close() })
		create(t, s, "q", nil)
		for i := range 10 {
			send(t, s, "q", fmt.Sprintf("%02d", i), 0)
		}
		counts, order := map[string]int{}, []string{}
		atOnce := 0
		for second := range 25 {
			for _, m := range receive(t, s, "q", 0) {
				counts[m.Body]++
				order = append(order, m.Body)
				if err := s.Delete("q", m.ReceiptHandle); err != nil {
					t.Fatal(err)
				}
			}
			if second == 0 {
				atOnce = len(order)
			}
			time.Sleep(time.Second)
		}
		if len(counts) != 10 || len(order) == 10 {
			t.Errorf("%d messages were delivered %d times, want all and some twice", len(counts), len(order))
		}
		if atOnce == 10 || slices.IsSorted(order[:atOnce]) {
			t.Errorf("at once came %v, want some later and no order", order[:atOnce])
		}
	})
}

func TestADenyKeepsOthersOut(t *testing.T) {
	const ticker, queue = "arn:aws:iam::123456789012:role/ticker", "arn:aws:sqs:us-east-1:123456789012:q"
	rule := sender{service: "events.amazonaws.com", sourceARN: "arn:aws:events:us-east-1:123456789012:rule/spot"}
	deny := func(condition string) string {
		return `{"Statement":[{"Effect":"Deny","Principal":{"AWS":"*"},"Action":"sqs:SendMessage","Resource":"` + queue +
			`","Condition":{` + condition + `}}]}`
	}
	others := deny(`"BoolIfExists":{"aws:PrincipalIsAWSService":"false"},` +
		`"ArnNotEquals":{"aws:PrincipalArn":["` + ticker + `"]}`)
	for _, test := range []struct {
		name, policy string
		by           sender
		denied       bool
	}{
		{"a role that the condition names", others, sender{principalARN: ticker}, false},
		{"another role", others, sender{principalARN: ticker + "2"}, true},
		{"a rule", others, rule, false},
		{"a rule, where services are not excepted", deny(`"ArnNotEquals":{"aws:PrincipalArn":"` + ticker + `"}`), rule, true},
		{"no policy", "", sender{principalARN: ticker}, false},
		{"a condition that is not known", deny(`"Null":{"aws:PrincipalTag/a":"true"}`), sender{principalARN: ticker}, true},
		{"plain HTTP, which nobody uses here", deny(`"Bool":{"aws:SecureTransport":"false"}`), rule, false},
	} {
		parsed, err := parsePolicy(test.policy)
		if err != nil {
			t.Fatal(err)
		}
		if got := parsed.denies(test.by, "sqs:SendMessage", queue); got != test.denied {
			t.Errorf("%s: denied %t, want %t", test.name, got, test.denied)
		}
	}
}
