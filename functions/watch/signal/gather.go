package signal

import "time"

// Window says how long wakes of one reason are gathered.
type Window struct {
	// Quiet is the time without a further change after which the function is woken. Longest bounds
	// the wait since the first change.
	Quiet, Longest time.Duration
	// Apart is the least time between two wakes. A woken function that meets its own earlier pass
	// has to wait for it.
	Apart time.Duration
}

// WindowOf is chosen by what a function gains from later changes. One plan for all pods of a burst is
// cheaper than several, and a controller creates them less than a quarter of a second apart: make
// bench-windows. A node is registered alone.
func WindowOf(wake Wake) Window {
	switch wake {
	case WakePods, WakePlan:
		return Window{Quiet: 250 * time.Millisecond, Longest: 5 * time.Second, Apart: time.Second}
	case WakeClaims:
		return Window{Quiet: 20 * time.Millisecond, Longest: 200 * time.Millisecond, Apart: 300 * time.Millisecond}
	default:
		return Window{Quiet: 150 * time.Millisecond, Longest: time.Second, Apart: 2 * time.Second}
	}
}

// Due returns when a wake is sent for changes between the first and the last, if the one before it
// was sent at woken. woken is zero without one.
func (w Window) Due(first, last, woken time.Time) time.Time {
	at := last.Add(w.Quiet)
	if longest := first.Add(w.Longest); longest.Before(at) {
		at = longest
	}
	if earliest := woken.Add(w.Apart); !woken.IsZero() && earliest.After(at) {
		at = earliest
	}
	return at
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
	of := &g.waiting[wake]
	if of.first.IsZero() {
		return time.Time{}, false
	}
	return WindowOf(wake).Due(of.first, of.last, of.woken), true
}
