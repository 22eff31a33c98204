package chaos

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"
)

// mostIdle is the greatest share of the disturbances that may have no effect. A run in which more of
// them hit nothing proves less than it seems.
const mostIdle = 0.35

// effects counts the disturbances that hit nothing. It is safe for concurrent use.
type effects struct {
	mutex   sync.Mutex
	total   int
	idle    map[Kind]int
	pending sync.WaitGroup
}

func newEffects() *effects { return &effects{idle: map[Kind]int{}} }

// began counts a disturbance.
func (e *effects) began() {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.total++
}

// missed counts a disturbance that hit nothing.
func (e *effects) missed(kind Kind) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.idle[kind]++
}

// later asks hit again and again, and counts the disturbance as without effect unless it returns true
// before the time has passed or the context has ended.
func (e *effects) later(ctx context.Context, kind Kind, within, every time.Duration, hit func() bool) {
	e.pending.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		tick := time.NewTicker(every)
		defer tick.Stop()
		for !hit() {
			select {
			case <-tick.C:
			case <-ctx.Done():
				if !hit() {
					e.missed(kind)
				}
				return
			}
		}
	})
}

// rows are the lines of the report. They are whole when nothing is pending.
func (e *effects) rows() []string {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	rows := []string{"", "disturbance without effect\tcount"}
	for _, kind := range slices.Sorted(maps.Keys(e.idle)) {
		rows = append(rows, fmt.Sprintf("%s\t%d", kind, e.idle[kind]))
	}
	return rows
}

// violation says that too many disturbances hit nothing; empty for enough that did.
func (e *effects) violation() string {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	sum := 0
	for _, count := range e.idle {
		sum += count
	}
	most := mostWithoutEffect(e.total)
	if sum <= most {
		return ""
	}
	return fmt.Sprintf("%d of %d disturbances had no effect, at most %d may have none", sum, e.total, most)
}

// mostWithoutEffect is the greatest plausible number of disturbances without effect among total, if the
// share is mostIdle. Chance moves the count of a short run. Three standard deviations of the binomial
// distribution allow for it: 23 of 40 in one minute, but 469 of 1,200 in thirty.
func mostWithoutEffect(total int) int {
	n := float64(total)
	return int(mostIdle*n + 3*math.Sqrt(n*mostIdle*(1-mostIdle)))
}
