package queue

import (
	"sync"
	"time"
)

// Asked remembers the last message that this container sent to a function, so that several chains
// of messages become one. Another container may send one more, which costs one pass. The zero value
// is ready, and it is safe for concurrent use.
type Asked struct {
	mutex sync.Mutex
	next  Message
}

// apart is the least time between two messages that one container sends for work that is due at
// once.
const apart = time.Second

// Soon returns when a message for work that is due now has to arrive. The first arrives at once. A
// message that follows another within a second arrives a second later, and covers all work until
// then: for that work wanted is false, and nothing has to be sent. In a storm of events one message
// for each would only wake functions that meet each other.
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

// Covers returns whether a message on its way makes the wanted one unnecessary: it arrives no
// later, and may lead to as many further messages.
func (a *Asked) Covers(wanted Message, now time.Time) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	// A second makes no difference, because SQS delays by whole seconds.
	return a.next.At.After(now) && !a.next.At.After(wanted.At.Add(time.Second)) && a.next.Hop <= wanted.Hop
}

// Remember notes that the message was sent.
func (a *Asked) Remember(next Message) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.next = next
	a.next.At = next.At.Round(0) // by the wall clock, because Lambda may freeze the container
}

// Arrived notes that a message has come. It may have come before its time, because SQS delays by whole seconds, and
// would else seem to be on its way.
func (a *Asked) Arrived(message Message) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.next.Reason == message.Reason && a.next.Hop == message.Hop && a.next.At.Equal(message.At) {
		a.next = Message{}
	}
}
