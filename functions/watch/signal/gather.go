package signal

import "time"

// window says how long wakes of one reason are gathered.
type window struct {
	// quiet is the time without a further change after which the function is woken. longest bounds
	// the wait since the first change.
	quiet, longest time.Duration
	// apart is the least time between two wakes. A woken function that meets its own earlier pass
	// has to wait for it.
	apart time.Duration
}

// windowOf is chosen by what a function gains from later changes. Pods of one Deployment come
// within tenths of a second, and one plan for all of them is cheaper. A node is registered alone.
func windowOf(wake Wake) window {
	switch wake {
	case WakePods, WakePlan:
		return window{quiet: 150 * time.Millisecond, longest: time.Second, apart: time.Second}
	case WakeClaims:
		return window{quiet: 20 * time.Millisecond, longest: 200 * time.Millisecond, apart: 300 * time.Millisecond}
	default:
		return window{quiet: 150 * time.Millisecond, longest: time.Second, apart: 2 * time.Second}
	}
}

// Gatherer turns changes into few wakes. The zero value is ready. It is not safe for concurrent use.
type Gatherer struct {
	waiting [numberOfWakes]gathered
}

type gathered struct {
	first, last time.Time // of the changes that have not led to a wake; zero without one
	woken       time.Time
}

// Add notes a change that leads to the wake.
func (g *Gatherer) Add(wake Wake, now time.Time) {
	of := &g.waiting[wake]
	if of.first.IsZero() {
		of.first = now
	}
	of.last = now
}

// Next returns when the next wake is due, and false without any.
func (g *Gatherer) Next() (at time.Time, any bool) {
	for wake := range numberOfWakes {
		if due, waits := g.due(wake); waits && (!any || due.Before(at)) {
			at, any = due, true
		}
	}
	return at, any
}

// Take returns the wakes that are due, and notes that they are sent.
func (g *Gatherer) Take(now time.Time) []Wake {
	var due []Wake
	for wake := range numberOfWakes {
		if at, waits := g.due(wake); waits && !at.After(now) {
			due = append(due, wake)
			g.waiting[wake] = gathered{woken: now}
		}
	}
	return due
}

func (g *Gatherer) due(wake Wake) (at time.Time, waits bool) {
	of, window := &g.waiting[wake], windowOf(wake)
	if of.first.IsZero() {
		return time.Time{}, false
	}
	at = of.last.Add(window.quiet)
	if longest := of.first.Add(window.longest); longest.Before(at) {
		at = longest
	}
	if earliest := of.woken.Add(window.apart); !of.woken.IsZero() && earliest.After(at) {
		at = earliest
	}
	return at, true
}
