package crash

import "sync"

// Call is one call of a function: its name and the how manieth of that name it is.
type Call struct {
	Name string
	Nth  int // from 1
}

// Kill is the call at which a function dies: before it is sent, or after it was carried
// out and before its answer is seen.
type Kill struct {
	Call
	After bool
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
	kill     *Kill // nil: it lives

	mutex  sync.Mutex
	calls  []Call
	counts map[string]int
	killed bool
	closed bool
}

func newLedger(function string, kill *Kill) *ledger {
	return &ledger{function: function, kill: kill, counts: map[string]int{}}
}

// note writes down a call and says what becomes of the function.
func (l *ledger) note(function, name string) verdict {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if function != l.function || l.closed {
		return lives
	}
	l.counts[name]++
	call := Call{name, l.counts[name]}
	l.calls = append(l.calls, call)
	if l.kill == nil || l.killed || l.kill.Call != call {
		return lives
	}
	l.killed = true
	if l.kill.After {
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
	return append([]Call(nil), l.calls...)
}

// dead tells whether the kill has happened.
func (l *ledger) dead() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.killed
}
