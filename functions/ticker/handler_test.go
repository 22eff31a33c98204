package ticker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/queue"
)

type recorder struct {
	sent   map[string][]queue.Message
	at     map[string]map[time.Time]time.Time // when a tick was sent first
	refuse string
	now    time.Time
}

func (r *recorder) Send(_ context.Context, url string, messages ...queue.Message) error {
	if url == r.refuse {
		return errors.New("queue is gone")
	}
	if r.sent == nil {
		r.sent, r.at = map[string][]queue.Message{}, map[string]map[time.Time]time.Time{}
	}
	if r.at[url] == nil {
		r.at[url] = map[time.Time]time.Time{}
	}
	r.sent[url] = append(r.sent[url], messages...)
	for _, message := range messages {
		if _, known := r.at[url][message.At]; !known {
			r.at[url][message.At] = r.now
		}
	}
	return nil
}

func newHandler(sender sender, interval time.Duration) *Handler {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return &Handler{
		cluster: "prod", interval: interval, provision: "p", lifecycle: "l", disrupt: "d",
		sender: sender, now: func() time.Time { return start },
	}
}

// intervals returns the longest time between two ticks, and how many ticks are not aligned or are
// sent after they are due.
func (r *recorder) intervals(url string, every time.Duration) (longest time.Duration, wrong int) {
	ticks := slices.SortedFunc(slices.Values(r.sent[url]), func(a, b queue.Message) int { return a.At.Compare(b.At) })
	for i, tick := range ticks {
		if tick.At.Truncate(every) != tick.At || tick.At.Before(r.at[url][tick.At]) {
			wrong++
		}
		if i > 0 {
			longest = max(longest, tick.At.Sub(ticks[i-1].At))
		}
	}
	return longest, wrong
}

// Scheduler starts a run anywhere in its minute. Each tick comes at its time all the same.
func TestNoDelayOfTheScheduleLeavesAGap(t *testing.T) {
	const minutes = 200
	for _, seconds := range []int{1, 7, 10, 40, 60} {
		interval := time.Duration(seconds) * time.Second
		for _, cold := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s cold=%t", interval, cold), func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, 2))
				sent := &recorder{}
				h := newHandler(sent, interval)
				start := h.now().Add(37 * time.Second) // a rate counts from the schedule's creation
				for minute := range minutes {
					late := []time.Duration{0, 59 * time.Second, time.Duration(random.IntN(60)) * time.Second}[random.IntN(3)]
					now := start.Add(time.Duration(minute)*time.Minute + late)
					if cold {
						h = newHandler(sent, interval)
					}
					h.now, sent.now = func() time.Time { return now }, now
					if _, err := h.Handle(t.Context(), nil); err != nil {
						t.Fatal(err)
					}
				}
				for url, every := range map[string]time.Duration{
					"p": interval, "l": time.Minute, "d": min(2*interval, time.Minute),
				} {
					if longest, wrong := sent.intervals(url, every); longest > every || wrong > 0 {
						t.Errorf("queue %s: ticks are %s apart, want %s; %d are not aligned or come late", url, longest, every, wrong)
					}
					// The last run sends 150 s ahead, and may start 59 s late.
					want := int(minutes*time.Minute/every) + int(210*time.Second/every)
					if got := len(sent.sent[url]); !cold && got > want {
						t.Errorf("queue %s: a warm container sent %d ticks, want %d at most", url, got, want)
					}
				}
			})
		}
	}
}

func TestTheFirstRunTicksAtOnce(t *testing.T) {
	sent := &recorder{}
	h := newHandler(sent, 10*time.Second)
	if _, err := h.Handle(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if first := sent.sent["p"][0]; !first.At.Equal(h.now()) || first.Cluster != "prod" || first.Hop != 0 {
		t.Errorf("the first tick is %+v, want it at %s", first, h.now())
	}
}

func TestAFailedRunIsMadeUpForByTheNext(t *testing.T) {
	sent := &recorder{refuse: "l"}
	h := newHandler(sent, 10*time.Second)
	_, err := h.Handle(t.Context(), nil)
	sent.refuse = ""
	if _, again := h.Handle(t.Context(), nil); err == nil || again != nil {
		t.Fatal(err, again)
	}
	for _, url := range []string{"l", "d"} {
		if len(sent.sent[url]) == 0 || !sent.sent[url][0].At.Equal(h.now()) {
			t.Errorf("queue %s got %+v", url, sent.sent[url])
		}
	}
}

func TestARefusedQueueIsAnErrorThatIsRetried(t *testing.T) {
	for _, queueURL := range []string{"p", "l", "d"} {
		h := newHandler(&recorder{refuse: queueURL}, 10*time.Second)
		if _, err := h.Handle(t.Context(), nil); err == nil {
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
