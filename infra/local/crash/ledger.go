package crash

import (
	"fmt"
	"slices"
	"sync"
)

// Call is one call of a function: in which of its invocations, its name, and the how
// manieth of that name in it.
type Call struct {
	// Invocation counts those that were gone through: one that was killed and came again is
	// the same.
	Invocation int // from 1
	Name       string
	Nth        int // from 1
}

// Kill is the call at which a function dies: before it is sent, or after it was carried
// out and before its answer is seen.
type Kill struct {
	Call
	After bool
}

func (k Kill) String() string {
	when := "before"
	if k.After {
		when = "after"
	}
	return fmt.Sprintf("killed %s %s (no. %d in invocation %d)", when, k.Name, k.Nth, k.Invocation)
}

// verdict is what becomes of a function at a call.
type verdict int

const (
	lives verdict = iota
	diesBefore
	diesAfter
)

// ledger keeps the calls of the function that a story is about. It is safe for concurrent use.
type ledger struct {
	function string
	kills    []Kill // none: it lives

	mutex      sync.Mutex
	invocation int
	killed     bool // the last invocation was
	calls      []Call
	counts     map[string]int // of the invocation
	done       []Kill
	closed     bool
}

func newLedger(function string, kills []Kill) *ledger {
	return &ledger{function: function, kills: kills}
}

// begin is told of each invocation of a function before it is made.
func (l *ledger) begin(function string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if function != l.function {
		return
	}
	if !l.killed {
		l.invocation++
	}
	l.killed, l.counts = false, map[string]int{}
}

// note writes down a call and says what becomes of the function.
func (l *ledger) note(function, name string) verdict {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if function != l.function || l.closed || l.killed {
		return lives
	}
	l.counts[name]++
	call := Call{l.invocation, name, l.counts[name]}
	l.calls = append(l.calls, call)
	at := slices.IndexFunc(l.kills, func(kill Kill) bool { return kill.Call == call && !slices.Contains(l.done, kill) })
	if at < 0 {
		return lives
	}
	l.killed, l.done = true, append(l.done, l.kills[at])
	if l.kills[at].After {
		return diesAfter
	}
	return diesBefore
}

// close ends the story: what comes now is not of it.
func (l *ledger) close() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.closed = true
}

// made are the calls so far.
func (l *ledger) made() []Call {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.calls)
}

// deaths are the kills that have happened.
func (l *ledger) deaths() []Kill {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.done)
}

// dead tells whether any has.
func (l *ledger) dead() bool { return len(l.deaths()) > 0 }
