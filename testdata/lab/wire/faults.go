package wire

import (
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/whittle-dev/whittle/testdata/lab/draw"
)

// Faults are those of a network between a caller and a service. The zero value has none.
type Faults struct {
	// Seed chooses the calls.
	Seed uint64
	// Dropped is the share of calls that never arrive: the connection is reset before any effect.
	Dropped float64
	// Lost is the share of calls whose answer is lost after their effect. A third of those lose the
	// answer to each retry too, so that the caller never learns the result.
	Lost float64
	// Applies limits the faults to some calls; nil means all.
	Applies func(c *Call) bool
}

// SetFaults sets the faults of all calls from now on.
func (s *Server) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = &faulty{Faults: f, calls: map[string]int{}, lost: map[string]bool{}}
}

// fault is what happens to one call.
type fault int

const (
	none fault = iota
	dropped
	lost
)

// faulty draws the faults of calls. The same calls in the same order get the same faults.
type faulty struct {
	Faults
	mu    sync.Mutex
	calls map[string]int  // by caller and action
	lost  map[string]bool // invocations of a client whose answers are all lost
}

// invocationHeader names a call of an SDK and stays the same in its retries.
const invocationHeader = "Amz-Sdk-Invocation-Id"

// of draws the fault of a call.
func (f *faulty) of(c *Call) fault {
	if f == nil || f.Dropped+f.Lost == 0 || f.Applies != nil && !f.Applies(c) {
		return none
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	invocation := c.HTTP.Header.Get(invocationHeader)
	if f.lost[invocation] {
		return lost
	}
	name := c.Caller.RoleARN + " " + c.name()
	f.calls[name]++
	call := fmt.Sprint(f.calls[name])
	switch share := draw.Share(f.Seed, name, call); {
	case share < f.Dropped:
		return dropped
	case share < f.Dropped+f.Lost:
		if invocation != "" && draw.Share(f.Seed, name, call, "for good") < 1.0/3 {
			f.lost[invocation] = true
		}
		return lost
	}
	return none
}

// cut resets the connection, so that the caller gets no answer.
func cut(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // net/http then closes the connection
	}
	if tcp, is := connection.(*net.TCPConn); is {
		_ = tcp.SetLinger(0) // a reset instead of an orderly end; without it the caller gets an EOF
	}
	_ = connection.Close()
}
