package signal_test

import (
	"slices"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/functions/watch/signal"
)

// sent are the times, in milliseconds after the first change, at which changes at the given times
// lead to a wake.
func sent(wake signal.Wake, changes ...int) []int {
	var gatherer signal.Gatherer
	start := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	var times []int
	for ms := range 60_000 {
		now := start.Add(time.Duration(ms) * time.Millisecond)
		for _, at := range changes {
			if at == ms {
				gatherer.Add(wake, now)
			}
		}
		if at, any := gatherer.Next(); any && !at.After(now) {
			if taken := gatherer.Take(now); slices.Equal(taken, []signal.Wake{wake}) {
				times = append(times, ms)
			}
		}
	}
	return times
}

func TestChangesAreGathered(t *testing.T) {
	steady := []int{} // a pod each 100 ms for 6 s
	for ms := 0; ms <= 6000; ms += 100 {
		steady = append(steady, ms)
	}
	for _, test := range []struct {
		name    string
		wake    signal.Wake
		changes []int
		want    []int
	}{
		{"one pod waits for others", signal.WakePods, []int{0}, []int{250}},
		{"pods of one moment are one wake", signal.WakePods, []int{0, 10, 220}, []int{470}},
		{"pods without a pause wait no longer than five seconds", signal.WakePods, steady, []int{5000, 6250}},
		{"a later pod waits until a second after the last wake", signal.WakePods, []int{0, 300}, []int{250, 1250}},
		{"a node waits for almost nothing", signal.WakeClaims, []int{0}, []int{20}},
		{"nodes one after the other are not one wake each", signal.WakeClaims, []int{0, 50, 100, 400}, []int{20, 320, 620}},
		{"everything is looked at every two seconds", signal.WakeAll, []int{0, 500, 1000}, []int{150, 2150}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := sent(test.wake, test.changes...); !slices.Equal(got, test.want) {
				t.Errorf("wakes after %v ms, want %v", got, test.want)
			}
		})
	}
}

func TestNothingIsDueWithoutAChange(t *testing.T) {
	var gatherer signal.Gatherer
	if _, any := gatherer.Next(); any {
		t.Error("a wake is due")
	}
	if due := gatherer.Take(time.Now()); len(due) > 0 {
		t.Errorf("%v are due", due)
	}
}
