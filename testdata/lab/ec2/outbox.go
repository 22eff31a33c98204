package ec2

import (
	"sync"
	"time"
)

// outbox delivers changes in order from one goroutine, outside the service's lock, because
// receivers may call the service.
type outbox struct {
	mu      sync.Mutex
	waiting []notice
	wake    chan struct{}
	closed  bool
	done    chan struct{}
}

// notice is a change of state, an event, or both.
type notice struct {
	changed *Instance
	event   *Event
}

func newOutbox(deliver func(notice)) *outbox {
	o := &outbox{wake: make(chan struct{}, 1), done: make(chan struct{})}
	go o.run(deliver)
	return o
}

func (o *outbox) put(n notice) {
	o.mu.Lock()
	if !o.closed {
		o.waiting = append(o.waiting, n)
	}
	o.mu.Unlock()
	o.poke()
}

func (o *outbox) poke() {
	select {
	case o.wake <- struct{}{}:
	default: // a wake-up is waiting already, and one empties the whole box
	}
}

func (o *outbox) run(deliver func(notice)) {
	defer close(o.done)
	for range o.wake {
		o.mu.Lock()
		batch, closed := o.waiting, o.closed
		o.waiting = nil
		o.mu.Unlock()
		for _, n := range batch {
			deliver(n)
		}
		if closed {
			return
		}
	}
}

func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.poke()
	<-o.done
}

// timers runs functions later, until it is closed.
type timers struct {
	mu      sync.Mutex
	closed  bool
	pending map[*time.Timer]struct{}
	running sync.WaitGroup
}

func newTimers() *timers { return &timers{pending: map[*time.Timer]struct{}{}} }

// after runs f after a time. It never runs f within this call, so the caller may hold a lock that f
// takes.
func (t *timers) after(d time.Duration, f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(d, func() {
		t.mu.Lock()
		_, live := t.pending[timer]
		delete(t.pending, timer)
		if live {
			t.running.Add(1)
		}
		t.mu.Unlock()
		if live {
			defer t.running.Done()
			f()
		}
	})
	t.pending[timer] = struct{}{}
}

// close drops timers that have not fired and waits for running ones.
func (t *timers) close() {
	t.mu.Lock()
	t.closed = true
	for timer := range t.pending {
		timer.Stop()
		delete(t.pending, timer)
	}
	t.mu.Unlock()
	t.running.Wait()
}
