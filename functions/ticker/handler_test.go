package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/queue"
)

type recorder struct {
	sent   map[string][]queue.Message
	refuse string
}

func (r *recorder) Send(_ context.Context, url string, messages ...queue.Message) error {
	if url == r.refuse {
		return errors.New("queue is gone")
	}
	r.sent[url] = append(r.sent[url], messages...)
	return nil
}

func newHandler(sender sender, interval time.Duration) *handler {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return &handler{
		cluster: "prod", interval: interval, provision: "p", lifecycle: "l", disrupt: "d",
		sender: sender, now: func() time.Time { return start },
	}
}

func TestTheMinuteIsFilledWithTicks(t *testing.T) {
	for _, test := range []struct {
		interval                      time.Duration
		provision, lifecycle, disrupt int
	}{
		{10 * time.Second, 6, 1, 3},
		{7 * time.Second, 9, 1, 5},
		{time.Minute, 1, 1, 1},
		{time.Second, 60, 1, 30},
	} {
		t.Run(test.interval.String(), func(t *testing.T) {
			sent := &recorder{sent: map[string][]queue.Message{}}
			h := newHandler(sent, test.interval)
			if _, err := h.handle(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			counts := [3]int{len(sent.sent["p"]), len(sent.sent["l"]), len(sent.sent["d"])}
			if counts != [3]int{test.provision, test.lifecycle, test.disrupt} {
				t.Fatalf("sent %d, %d, %d messages", len(sent.sent["p"]), len(sent.sent["l"]), len(sent.sent["d"]))
			}
			for i, tick := range sent.sent["p"] {
				want := h.now().Add(time.Duration(i) * test.interval)
				if !tick.At.Equal(want) || tick.Cluster != "prod" || tick.Hop != 0 {
					t.Errorf("tick %d is %+v, want it at %s", i, tick, want)
				}
			}
		})
	}
}

func TestARefusedQueueIsAnErrorThatIsRetried(t *testing.T) {
	for _, queueURL := range []string{"p", "l", "d"} {
		h := newHandler(&recorder{sent: map[string][]queue.Message{}, refuse: queueURL}, 10*time.Second)
		if _, err := h.handle(t.Context(), nil); err == nil {
			t.Errorf("queue %s refused and the ticker said nothing", queueURL)
		}
	}
}

func TestIntervalIsRefusedWithTheVariablesName(t *testing.T) {
	for _, text := range []string{"", "10", "500ms", "1500ms", "61s", "-1s"} {
		if _, err := parseInterval(text); err == nil || !strings.Contains(err.Error(), "TICK_INTERVAL") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
