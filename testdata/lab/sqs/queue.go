package sqs

import (
	"container/heap"
	"fmt"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/draw"
)

// duplicateDelay is the least time between the two deliveries of a message that comes twice.
const duplicateDelay = 50 * time.Millisecond

// queue is one standard queue. The service's lock guards all of it.
type queue struct {
	name       string
	arn        string
	created    time.Time
	modified   time.Time
	attributes attributes

	ready  []*stored
	hidden hiddenHeap
	// receipts finds a message by the handle of its latest delivery. Older handles are not in it.
	receipts map[string]*stored
	timer    *time.Timer
	// arrival is closed and replaced whenever a message becomes visible: receivers wait on it.
	arrival chan struct{}
	deleted chan struct{}

	duplicateEvery int
	delayEvery     int
	delayBy        time.Duration
	deliveries     int
	sends          int
}

func newQueue(name, arn string, attributes attributes, now time.Time) *queue {
	return &queue{
		name: name, arn: arn, created: now, modified: now, attributes: attributes,
		receipts: map[string]*stored{}, arrival: make(chan struct{}), deleted: make(chan struct{}),
	}
}

// add puts a message into the queue, hidden until visibleAt where that lies ahead.
func (s *Service) add(q *queue, m *stored, visibleAt, now time.Time) {
	m.inFlight, m.place = false, -1
	if visibleAt.After(now) {
		m.visibleAt = visibleAt
		heap.Push(&q.hidden, m)
		s.arm(q, now)
		return
	}
	q.ready = append(q.ready, m)
	q.announce()
}

func (q *queue) announce() {
	close(q.arrival)
	q.arrival = make(chan struct{})
}

// arm sets the queue's one timer to the next moment at which something hidden becomes visible.
func (s *Service) arm(q *queue, now time.Time) {
	if len(q.hidden) == 0 || s.isClosed() {
		return
	}
	wait := q.hidden[0].visibleAt.Sub(now)
	if q.timer != nil {
		q.timer.Reset(wait)
		return
	}
	q.timer = time.AfterFunc(wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		now := time.Now()
		q.surface(now)
		s.arm(q, now)
	})
}

// surface moves messages that have become visible to the ready ones.
func (q *queue) surface(now time.Time) {
	moved := false
	for len(q.hidden) > 0 && !q.hidden[0].visibleAt.After(now) {
		m := heap.Pop(&q.hidden).(*stored)
		m.inFlight = false
		q.ready = append(q.ready, m)
		moved = true
	}
	if moved {
		q.announce()
	}
}

// take delivers up to maximum ready messages of at most maximumBytes together, the first one
// always. It hides them for the visibility timeout, gives up those received too often, and drops
// those past their retention.
func (s *Service) take(q *queue, maximum, maximumBytes int, visibility time.Duration, now time.Time) []Message {
	q.surface(now)
	var taken []Message
	size := 0
	for len(taken) < maximum && len(q.ready) > 0 {
		q.shuffle(s.options.Delivery)
		m := q.ready[0]
		if m.gone || q.expired(m, now) {
			q.ready = q.ready[1:]
			q.forget(m)
			continue
		}
		if dead := s.deadLetterQueue(q); dead != nil && m.ReceiveCount >= q.attributes.redrive.MaxReceiveCount {
			q.ready = q.ready[1:]
			delete(q.receipts, m.ReceiptHandle)
			m.DeadLetterSource, m.ReceiptHandle = q.arn, ""
			s.add(dead, m, now, now)
			continue
		}
		if len(taken) > 0 && size+len(m.Body) > maximumBytes {
			break
		}
		q.ready = q.ready[1:]
		taken = append(taken, q.deliver(s, m, visibility, now))
		size += len(m.Body)
	}
	// A visibility timeout of zero shows the messages again, though not within this same receive.
	q.surface(now)
	s.arm(q, now)
	return taken
}

// shuffle puts any ready message first, where the order is not kept.
func (q *queue) shuffle(d Delivery) {
	if !d.Unordered {
		return
	}
	next := int(draw.Share(d.Seed, q.name, fmt.Sprint(q.deliveries), "next") * float64(len(q.ready)))
	q.ready[0], q.ready[next] = q.ready[next], q.ready[0]
}

func (q *queue) deliver(s *Service, m *stored, visibility time.Duration, now time.Time) Message {
	delete(q.receipts, m.ReceiptHandle)
	if m.FirstReceived.IsZero() {
		m.FirstReceived = now
	}
	m.ReceiveCount++
	m.ReceiptHandle = newReceipt(q.name, m.ID)
	q.receipts[m.ReceiptHandle] = m
	q.deliveries++
	if !m.copied && (m.twice || q.duplicateEvery > 0 && q.deliveries%q.duplicateEvery == 0) {
		m.copied = true
		duplicate := &stored{Message: m.Message, copied: true}
		duplicate.ReceiptHandle = ""
		// A moment later at least, so that the copies do not come in one batch.
		delivery := s.options.Delivery
		after := draw.Between(delivery.Seed, duplicateDelay, delivery.MostLate, q.name, fmt.Sprint(q.deliveries), "again")
		s.add(q, duplicate, now.Add(after), now)
	}
	m.inFlight = true
	m.visibleAt = now.Add(visibility)
	heap.Push(&q.hidden, m)
	return m.Message
}

func (q *queue) expired(m *stored, now time.Time) bool {
	return now.Sub(m.Sent) >= q.attributes.retention
}

// forget removes a message wherever it is; a ready one is skipped when its turn comes.
func (q *queue) forget(m *stored) {
	m.gone = true
	delete(q.receipts, m.ReceiptHandle)
	if m.place >= 0 && m.place < len(q.hidden) && q.hidden[m.place] == m {
		heap.Remove(&q.hidden, m.place)
	}
}

// sweep drops messages past their retention, and ready ones that were deleted.
func (q *queue) sweep(now time.Time) {
	q.surface(now)
	kept := q.ready[:0]
	for _, m := range q.ready {
		if m.gone || q.expired(m, now) {
			q.forget(m)
			continue
		}
		kept = append(kept, m)
	}
	clear(q.ready[len(kept):])
	q.ready = kept
	var over []*stored
	for _, m := range q.hidden {
		if q.expired(m, now) {
			over = append(over, m)
		}
	}
	for _, m := range over {
		q.forget(m)
	}
}

// counts returns the visible, the in-flight and the delayed messages.
func (q *queue) counts(now time.Time) (visible, inFlight, delayed int) {
	q.sweep(now)
	for _, m := range q.hidden {
		if m.inFlight {
			inFlight++
		} else {
			delayed++
		}
	}
	return len(q.ready), inFlight, delayed
}

// poison is how many deliveries leave a message out of the age of the oldest one.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
const poison = 3

// oldest is the age of the oldest message, without those that fail again and again.
func (q *queue) oldest(now time.Time) time.Duration {
	q.sweep(now)
	var age time.Duration
	for _, some := range [][]*stored{q.ready, q.hidden} {
		for _, m := range some {
			if m.ReceiveCount < poison {
				age = max(age, now.Sub(m.Sent))
			}
		}
	}
	return age
}

func (q *queue) stop() {
	if q.timer != nil {
		q.timer.Stop()
	}
	close(q.deleted)
}

// rehide returns a message in flight another time at which it becomes visible.
func (q *queue) rehide(m *stored, visibleAt time.Time) {
	m.visibleAt = visibleAt
	heap.Fix(&q.hidden, m.place)
}
