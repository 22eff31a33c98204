package crash

import (
	"fmt"
	"slices"
	"sync"
)

// Call identifies a call of a function: its invocation, its name, the kind of its arguments, and its
// count among such calls of the invocation.
type Call struct {
	// Invocation counts completed invocations. A killed invocation and its repetition have the same
	// number.
	Invocation int // from 1
	Name       string
	Kind       string
	Nth        int // from 1
}

// what names the call without its count.
func (c Call) what() string {
	if c.Kind == "" {
		return c.Name
	}
	return c.Name + " [" + c.Kind + "]"
}

// Kill is a call at which a function dies: before it is sent, or after it was carried out and
// before the answer is seen.
type Kill struct {
	Call
	After bool
}

func (k Kill) String() string {
	return fmt.Sprintf("killed %s %s (no. %d in invocation %d)", k.side(), k.what(), k.Nth, k.Invocation)
}

func (k Kill) side() string {
	if k.After {
		return "after"
	}
	return "before"
}

// fate reports whether a function survives a call.
type fate int

const (
	lives fate = iota
	diesBefore
	diesAfter
)

// ledger records the calls of the scenario's function and decides where it dies. It is safe for
// concurrent use.
type ledger struct {
	function string
	kills    []Kill // none: it lives

	mutex      sync.Mutex
	invocation int
	killed     bool // the last invocation was
	calls      []Call
	counts     map[request]int // of the invocation
	done       []Kill
	closed     bool
}

func newLedger(function string, kills []Kill) *ledger {
	return &ledger{function: function, kills: kills}
}

// begin records the start of an invocation.
func (l *ledger) begin(function string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if function != l.function {
		return
	}
	if !l.killed {
		l.invocation++
	}
	l.killed, l.counts = false, map[request]int{}
}

// note records a call and returns the function's fate.
func (l *ledger) note(function string, made request) fate {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if function != l.function || l.closed || l.killed {
		return lives
	}
	l.counts[made]++
	call := Call{l.invocation, made.name, made.kind, l.counts[made]}
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

// close ends the recording: later calls do not belong to the scenario.
func (l *ledger) close() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.closed = true
}

// made returns the calls so far.
func (l *ledger) made() []Call {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.calls)
}

// deaths returns the kills that have happened.
func (l *ledger) deaths() []Kill {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.done)
}

// dead reports whether any kill has happened.
func (l *ledger) dead() bool { return len(l.deaths()) > 0 }
