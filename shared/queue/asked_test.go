package queue

import (
	"testing"
	"time"
)

func TestMessagesForWorkAtOnceAreASecondApart(t *testing.T) {
	var asked Asked
	start := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	sent := 0
	for _, test := range []struct {
		after time.Duration
		at    time.Duration // when the message arrives
		send  bool
	}{
		{after: 0, at: 0, send: true}, // the first at once
		{after: 100 * time.Millisecond, at: 1100 * time.Millisecond, send: true},
		{after: 200 * time.Millisecond}, // covered by the message on its way
		{after: 1050 * time.Millisecond},
		{after: 1100 * time.Millisecond, at: 2100 * time.Millisecond, send: true}, // the last one comes now
		{after: 2 * time.Second},
		{after: 3 * time.Second, at: 4 * time.Second, send: true},
		{after: 6 * time.Second, at: 6 * time.Second, send: true}, // long after the last
	} {
		now := start.Add(test.after)
		at, wanted := asked.Soon(now)
		if wanted != test.send || wanted && !at.Equal(start.Add(test.at)) {
			t.Errorf("after %s: %s, %t; want after %s, %t", test.after, at.Sub(start), wanted, test.at, test.send)
		}
		if !wanted {
			continue
		}
		sent++
		// SQS delays by whole seconds: early, and the woken function would miss the work.
		delay := (&Sender{now: func() time.Time { return now }}).delay(at)
		if time.Duration(delay)*time.Second < at.Sub(now) {
			t.Errorf("after %s: delayed by %d s and due after %s", test.after, delay, at.Sub(now))
		}
		asked.Remember(Message{At: at})
	}
	if sent != 5 {
		t.Errorf("%d messages, want 5", sent)
	}
}

func TestAMessageThatWasNotSentIsStillWanted(t *testing.T) {
	var asked Asked
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for range 2 { // nothing is remembered in between
		if at, wanted := asked.Soon(now); !wanted || !at.Equal(now) {
			t.Errorf("%s, %t", at, wanted)
		}
	}
}

// TestAMessageThatArrivedEarlyIsNotOnItsWay has a pass before the moment that it was asked for. It asks again.
func TestAMessageThatArrivedEarlyIsNotOnItsWay(t *testing.T) {
	var asked Asked
	due := time.Date(2026, time.March, 1, 12, 0, 9, 0, time.UTC)
	early := due.Add(-100 * time.Millisecond)
	sent := Message{Cluster: "prod", Reason: ReasonContinue, Hop: 3, At: due}
	again := Message{Cluster: "prod", Reason: ReasonContinue, Hop: 4, At: due.Add(time.Second)}
	asked.Remember(sent)
	asked.Arrived(Message{Cluster: "prod", Reason: ReasonTick, At: early})
	if !asked.Covers(again, early) {
		t.Error("another message has come, and the one on its way covers nothing any more")
	}
	asked.Arrived(sent)
	if asked.Covers(again, early) {
		t.Error("the message that has come counts as one on its way")
	}
}
