package sqs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/draw"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// ErrNoQueue is returned, wrapped, for a queue that does not exist.
var ErrNoQueue = errors.New("the specified queue does not exist")

// errClosed is returned by calls that were waiting, or came, when the service was closed.
var errClosed = errors.New("the queue service is closed")

// Options say where the queues are.
type Options struct {
	AccountID string
	Region    string
	// Endpoint returns the local server's URL; queue URLs are it, the account and the name. It is
	// asked for at each use, since the server may begin to listen later.
	Endpoint func() string
	Delivery Delivery
}

// Delivery is how badly the queues deliver. Standard queues promise neither order, nor a time, nor
// a single delivery. The zero value does its best.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/standard-queues.html
type Delivery struct {
	// Seed chooses the messages.
	Seed uint64
	// Twice is the share of messages that come a second time, Late that of those that come late.
	Twice, Late float64
	// MostLate is the longest time by which a message or its second delivery is late.
	MostLate time.Duration
	// Unordered delivers visible messages in any order.
	Unordered bool
}

// Service holds the account's queues.
type Service struct {
	options Options
	closed  chan struct{}

	mu     sync.Mutex
	queues map[string]*queue
}

// New returns a service without queues. Close ends its timers and its waiting receivers.
func New(options Options) *Service {
	return &Service{options: options, closed: make(chan struct{}), queues: map[string]*queue{}}
}

// Close wakes every waiting receiver with errClosed and stops all timers.
func (s *Service) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed() {
		return nil
	}
	close(s.closed)
	for _, q := range s.queues {
		q.stop()
	}
	return nil
}

func (s *Service) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// CreateQueue makes a queue with the attributes given by their AWS names, and returns its URL. A
// queue of that name with the same attributes is left as it is.
func (s *Service) CreateQueue(name string, attributes map[string]string) (url string, err error) {
	if strings.HasSuffix(name, ".fifo") {
		return "", fmt.Errorf(
			"queue %q: the local queues are standard queues; FIFO queues, whose names end in .fifo, are not simulated", name)
	}
	if !validName.MatchString(name) {
		return "", fmt.Errorf("queue name %q: can only include letters, digits, hyphens and underscores, 1 to 80 in length",
			name)
	}
	settings := defaultAttributes()
	for key, value := range attributes {
		if err := settings.set(key, value); err != nil {
			return "", fmt.Errorf("queue %q: %w", name, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed() {
		return "", errClosed
	}
	if existing := s.queues[name]; existing != nil {
		for key, value := range attributes {
			probe := existing.attributes
			if err := probe.set(key, value); err != nil || !probe.equal(existing.attributes) {
				return "", fmt.Errorf("queue %q: %w with a different value for attribute %s", name, errQueueExists, key)
			}
		}
		return s.url(name), nil
	}
	q := newQueue(name, s.arn(name), settings, time.Now())
	s.queues[name] = q
	return s.url(name), nil
}

var errQueueExists = errors.New("a queue already exists with the same name")

func (a attributes) equal(b attributes) bool {
	redrives := a.redrive == b.redrive || a.redrive != nil && b.redrive != nil && *a.redrive == *b.redrive
	return redrives && a.delay == b.delay && a.visibility == b.visibility && a.wait == b.wait &&
		a.retention == b.retention &&
		a.policyText == b.policyText && a.managedEncryption == b.managedEncryption
}

// DeleteQueue removes a queue and its messages. Waiting receivers get ErrNoQueue.
func (s *Service) DeleteQueue(queue string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(queue)
	if err != nil {
		return err
	}
	q.stop()
	delete(s.queues, q.name)
	return nil
}

// SetAttributes changes attributes by their AWS names, all or none.
func (s *Service) SetAttributes(queue string, attributes map[string]string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(queue)
	if err != nil {
		return err
	}
	changed := q.attributes
	for key, value := range attributes {
		if err := changed.set(key, value); err != nil {
			return fmt.Errorf("queue %q: %w", q.name, err)
		}
	}
	q.attributes, q.modified = changed, time.Now()
	return nil
}

// Attributes returns every attribute of a queue by its AWS name, the message counts included.
func (s *Service) Attributes(queue string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(queue)
	if err != nil {
		return nil, err
	}
	return q.describe(time.Now()), nil
}

// OldestMessage is the age of the queue's oldest message, as its metric tells it.
func (s *Service) OldestMessage(queue string) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(queue)
	if err != nil {
		return 0, err
	}
	return q.oldest(time.Now()), nil
}

// VisibilityTimeout is the queue's visibility timeout.
func (s *Service) VisibilityTimeout(queue string) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(queue)
	if err != nil {
		return 0, err
	}
	return q.attributes.visibility, nil
}

// DuplicateEvery makes the queue deliver every nth message twice, as standard queues may; 0 ends
// it.
func (s *Service) DuplicateEvery(queue string, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(queue)
	if err != nil {
		return err
	}
	q.duplicateEvery = n
	return nil
}

// DelayEvery makes the queue show every nth message late, as a busy queue may; 0 ends it.
func (s *Service) DelayEvery(queue string, n int, by time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(queue)
	if err != nil {
		return err
	}
	q.delayEvery, q.delayBy = n, by
	return nil
}

// SendFrom sends a message for another service of the account, such as events.amazonaws.com, on
// behalf of a source ARN (a rule). The queue's policy must allow it. The message has the attributes.
func (s *Service) SendFrom(
	_ context.Context, service, sourceARN, queue, body string, attributes map[string]string,
) error {
	s.mu.Lock()
	q, err := s.find(queue)
	if err == nil && !q.attributes.policy.allows(service, "sqs:SendMessage", q.arn, sourceARN) {
		err = fmt.Errorf("queue %q: its policy does not allow sqs:SendMessage to %s for %s", q.name, service, sourceARN)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	_, err = s.Send(queue, Message{Body: body, SenderID: service, Attributes: attributes}, nil)
	return err
}

// SendAs sends a message for another service that has taken a role. The queue's policy must not deny it.
func (s *Service) SendAs(roleARN, queue string, message Message) error {
	s.mu.Lock()
	q, err := s.find(queue)
	if err == nil && q.attributes.policy.denies(sender{principalARN: roleARN}, "sqs:SendMessage", q.arn) {
		err = fmt.Errorf("queue %q: its policy denies sqs:SendMessage to %s", q.name, roleARN)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	_, err = s.Send(queue, message, nil)
	return err
}

// Send puts a message (its Body, SenderID, TraceHeader and Attributes) into the queue and returns
// it with its id. A nil delay is the queue's own.
func (s *Service) Send(queue string, message Message, delay *time.Duration) (Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(queue)
	if err != nil {
		return Message{}, err
	}
	m := &stored{Message: Message{
		ID: wire.NewID(), Body: message.Body, SenderID: message.SenderID, TraceHeader: message.TraceHeader,
		Attributes: message.Attributes,
	}}
	if m.Body == "" {
		return Message{}, &contentError{"MissingParameter", "The request must contain the parameter MessageBody."}
	}
	if reason := m.checkContents(); reason != "" {
		return Message{}, &contentError{"InvalidMessageContents", reason}
	}
	if size := len(m.Body); size > maximumMessageBytes {
		return Message{}, &contentError{"InvalidParameterValue",
			fmt.Sprintf("One or more parameters are invalid. Reason: Message must be shorter than %d bytes; this one has %d.",
				maximumMessageBytes, size)}
	}
	wait := q.attributes.delay
	if delay != nil {
		if *delay < 0 || *delay > maximumDelay {
			return Message{}, &contentError{"InvalidParameterValue",
				fmt.Sprintf("Value %.0f for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.",
					delay.Seconds())}
		}
		wait = *delay
	}
	now := time.Now()
	m.Sent = now
	if q.sends++; q.sends%1000 == 0 {
		q.sweep(now)
	}
	if q.delayEvery > 0 && q.sends%q.delayEvery == 0 {
		wait += q.delayBy
	}
	delivery, send := s.options.Delivery, fmt.Sprint(q.sends)
	if draw.Share(delivery.Seed, q.name, send, "late") < delivery.Late {
		wait += draw.Between(delivery.Seed, 0, delivery.MostLate, q.name, send, "by")
	}
	m.twice = draw.Share(delivery.Seed, q.name, send, "twice") < delivery.Twice
	s.add(q, m, now.Add(wait), now)
	return m.Message, nil
}

// contentError is a message that SQS refuses, with the code it gives.
type contentError struct{ code, message string }

func (e *contentError) Error() string { return e.message }

// ReceiveOptions bound one receive.
type ReceiveOptions struct {
	// Maximum number of messages, and of their bytes together (0: no bound).
	Maximum, MaximumBytes int
	// Wait limits the wait for the first message; 0 does not wait.
	Wait time.Duration
	// Visibility replaces the queue's visibility timeout unless nil.
	Visibility *time.Duration
}

// Receive delivers visible messages, and waits for some if Wait is set. No messages and no error
// means that the wait is over. It returns early with the context's error, errClosed, or ErrNoQueue
// if the queue was deleted meanwhile.
func (s *Service) Receive(ctx context.Context, queue string, options ReceiveOptions) ([]Message, error) {
	if options.MaximumBytes <= 0 {
		options.MaximumBytes = maximumMessageBytes * max(options.Maximum, 1)
	}
	var over <-chan time.Time
	if options.Wait > 0 {
		timer := time.NewTimer(options.Wait)
		defer timer.Stop()
		over = timer.C
	}
	for {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.mu.Lock()
		if s.isClosed() {
			s.mu.Unlock()
			return nil, errClosed
		}
		q, err := s.find(queue)
		if err != nil {
			s.mu.Unlock()
			return nil, err
		}
		visibility := q.attributes.visibility
		if options.Visibility != nil {
			visibility = *options.Visibility
		}
		messages := s.take(q, options.Maximum, options.MaximumBytes, visibility, time.Now())
		arrival, deleted := q.arrival, q.deleted
		s.mu.Unlock()
		if len(messages) > 0 || options.Wait <= 0 {
			return messages, nil
		}
		select {
		case <-arrival:
		case <-deleted:
		case <-over:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.closed:
			return nil, errClosed
		}
	}
}

// delivery finds the message of a delivery; nil where a later one replaced it. The lock is held.
func (s *Service) delivery(queueName, receiptHandle string) (*queue, *stored, error) {
	q, err := s.find(queueName)
	if err != nil {
		return nil, nil, err
	}
	if !receiptIsOf(q.name, receiptHandle) {
		return nil, nil, &contentError{
			"ReceiptHandleIsInvalid", fmt.Sprintf("The input receipt handle %q is not a valid receipt handle.", receiptHandle),
		}
	}
	return q, q.receipts[receiptHandle], nil
}

// Delete removes the message of a delivery. A handle that a later delivery replaced deletes nothing
// and is no error, as on AWS.
func (s *Service) Delete(queue, receiptHandle string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, m, err := s.delivery(queue, receiptHandle)
	if err != nil {
		return err
	}
	if m != nil {
		q.forget(m)
	}
	return nil
}

// changeVisibility hides a message in flight for that long from now on; 0 shows it at once.
func (s *Service) changeVisibility(queue, receiptHandle string, visibility time.Duration) error {
	if visibility < 0 || visibility > maximumVisibility {
		return &contentError{"InvalidParameterValue",
			fmt.Sprintf(
				"Value %.0f for parameter VisibilityTimeout is invalid. Reason: VisibilityTimeout must be >= 0 and <= 43200.",
				visibility.Seconds())}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, m, err := s.delivery(queue, receiptHandle)
	if err != nil {
		return err
	}
	now := time.Now()
	q.surface(now)
	if m == nil || !m.inFlight {
		return &contentError{"MessageNotInflight", "The specified message isn't in flight."}
	}
	q.rehide(m, now.Add(visibility))
	q.surface(now)
	s.arm(q, now)
	return nil
}

// find takes a queue's name, ARN or URL.
func (s *Service) find(queue string) (*queue, error) {
	name := nameOf(queue)
	if q := s.queues[name]; q != nil && (name == queue || s.ownsReference(queue, name)) {
		return q, nil
	}
	return nil, fmt.Errorf("queue %q: %w", queue, ErrNoQueue)
}

func (s *Service) ownsReference(queue, name string) bool {
	return queue == s.arn(name) || strings.HasSuffix(queue, "/"+s.options.AccountID+"/"+name)
}

func (s *Service) deadLetterQueue(q *queue) *queue {
	if q.attributes.redrive == nil {
		return nil
	}
	dead, err := s.find(q.attributes.redrive.DeadLetterTargetARN)
	if err != nil {
		slog.Warn("dead-letter queue is gone; its source keeps delivering", "queue", q.name, "deadLetterQueue",
			q.attributes.redrive.DeadLetterTargetARN)
		return nil
	}
	return dead
}

func (s *Service) arn(name string) string {
	return fmt.Sprintf("arn:aws:sqs:%s:%s:%s", s.options.Region, s.options.AccountID, name)
}

func (s *Service) url(name string) string {
	return fmt.Sprintf("%s/%s/%s", strings.TrimSuffix(s.options.Endpoint(), "/"), s.options.AccountID, name)
}

// GiveUp moves a delivered message to the dead-letter queue whatever its receive count, or deletes
// it if there is none. Lambda does so with a message that it will not process.
func (s *Service) GiveUp(queue, receiptHandle string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(queue)
	if err != nil {
		return err
	}
	m := q.receipts[receiptHandle]
	if m == nil {
		return nil
	}
	q.forget(m)
	if dead := s.deadLetterQueue(q); dead != nil {
		now := time.Now()
		moved := &stored{Message: m.Message}
		moved.DeadLetterSource, moved.ReceiptHandle = q.arn, ""
		s.add(dead, moved, now, now)
	}
	return nil
}
