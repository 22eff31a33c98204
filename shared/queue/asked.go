package queue

import (
	"sync"
	"time"
)

// Asked remembers the look that this container asked for last, so that chains of messages
// which run beside each other become one. A container that does not know of it asks once
// more, which costs a look. Its zero value is ready, and safe for concurrent use.
type Asked struct {
	mutex sync.Mutex
	next  Message
}

// apart is the least time between looks that one container asks for as soon as possible.
const apart = time.Second

// Soon is the moment for a look that is wanted now. The first is at once. One that is wanted
// within a second of another comes a second later, and whatever is wanted until then is seen
// by it: false, nothing has to be sent. In a storm of events a look for each would only find
// the others at the same work.
func (a *Asked) Soon(now time.Time) (at time.Time, wanted bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	switch since := now.Sub(a.next.At); {
	case since < 0 && since >= -apart:
		return time.Time{}, false
	case since >= 0 && since < apart:
		return now.Add(apart), true
	}
	return now, true
}

// Covers tells whether a look is under way that comes no later than the wanted one and
// may lead to as many more.
func (a *Asked) Covers(wanted Message, now time.Time) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	// SQS delays by whole seconds: a second is no difference.
	return a.next.At.After(now) && !a.next.At.After(wanted.At.Add(time.Second)) && a.next.Hop <= wanted.Hop
}

// Remember notes that the look has been asked for.
func (a *Asked) Remember(next Message) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.next = next
}
