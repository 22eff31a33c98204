package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/infra/local/sqs"
)

// mapping polls a queue for a function, as https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html describes.
//
// It begins with five pollers (fewer if MaximumConcurrency is lower). A poller long-polls, invokes the function with what it got, and
// deletes it after a success; when the last waiting poller has got work another one joins, up to MaximumConcurrency or the account's
// limit, and those beyond five leave when they find the queue empty. AWS adds pollers more slowly.
type mapping struct {
	service  *Service
	id       string
	function *function
	ctx      context.Context
	cancel   context.CancelFunc

	// Guarded by the service's lock.
	settings mappingSettings
	state    string
	modified time.Time
	pollers  int
	waiting  int
}

type mappingSettings struct {
	queueARN           string
	batchSize          int
	window             time.Duration
	reportItemFailures bool
	maximumConcurrency int // 0: not set
	enabled            bool
}

const (
	firstPollers = 5
	longPoll     = 20 * time.Second
	// batchBytes leaves room in the payload of 6 MB for what the event says around the bodies and for their escaping.
	batchBytes = maximumPayload / 2
)

func (m *mappingSettings) complete() error {
	if m.batchSize == 0 {
		m.batchSize = 10
	}
	switch {
	case !strings.HasPrefix(m.queueARN, "arn:aws:sqs:"):
		return fmt.Errorf("EventSourceArn %q: only SQS queues are event sources here", m.queueARN)
	case m.batchSize < 1 || m.batchSize > 10_000:
		return fmt.Errorf("BatchSize is %d; it must be from 1 to 10000", m.batchSize)
	case m.window < 0 || m.window > 300*time.Second:
		return fmt.Errorf("MaximumBatchingWindowInSeconds is %.0f; it must be from 0 to 300", m.window.Seconds())
	case m.batchSize > 10 && m.window < time.Second:
		return fmt.Errorf("BatchSize is %d; above 10, MaximumBatchingWindowInSeconds must be at least 1", m.batchSize)
	case m.maximumConcurrency != 0 && (m.maximumConcurrency < 2 || m.maximumConcurrency > 1000):
		return fmt.Errorf("ScalingConfig.MaximumConcurrency is %d; it must be from 2 to 1000", m.maximumConcurrency)
	}
	return nil
}

// addMapping checks what Lambda checks (the role's rights, the visibility timeout) and begins to poll.
func (s *Service) addMapping(f *function, id string, settings mappingSettings) (*mapping, error) {
	if err := settings.complete(); err != nil {
		return nil, err
	}
	configuration := f.settings()
	visibility, err := s.options.Queues.VisibilityTimeout(settings.queueARN)
	if err != nil {
		return nil, err
	}
	if visibility < configuration.Timeout {
		return nil, fmt.Errorf("queue %s: its visibility timeout of %.0f seconds is less than the timeout of function %s, %.0f seconds; set it to six times as much",
			settings.queueARN, visibility.Seconds(), f.name, configuration.Timeout.Seconds())
	}
	for _, action := range []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"} {
		if err := s.allowed(configuration.Role, action, settings.queueARN); err != nil {
			return nil, fmt.Errorf("the function's execution role does not let Lambda poll the queue: %w", err)
		}
	}
	m := &mapping{service: s, id: id, function: f, settings: settings, modified: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.mappings {
		if other.function == f && other.settings.queueARN == settings.queueARN {
			return nil, fmt.Errorf("an event source mapping of %s to function %s exists already: %s", settings.queueARN, f.name, other.id)
		}
	}
	s.mappings[id] = m
	m.begin()
	return m, nil
}

// begin starts the first pollers of an enabled mapping; the caller holds the service's lock.
func (m *mapping) begin() {
	m.ctx, m.cancel = context.WithCancel(m.service.ctx)
	if !m.settings.enabled {
		m.state = "Disabled"
		m.cancel()
		return
	}
	m.state = "Enabled"
	for range min(firstPollers, m.most()) {
		m.addPoller()
	}
}

// most is how many pollers the mapping may have; the caller holds the service's lock.
func (m *mapping) most() int {
	if m.settings.maximumConcurrency > 0 {
		return m.settings.maximumConcurrency
	}
	return accountConcurrency
}

func (m *mapping) addPoller() {
	if m.service.closed {
		return
	}
	m.service.work.Add(1)
	m.pollers++
	ctx, settings := m.ctx, m.settings
	go func() {
		defer m.service.work.Done()
		m.poll(ctx, settings)
	}()
}

// change gives the mapping other settings: its pollers end after their batch and new ones begin.
func (m *mapping) change(settings mappingSettings) error {
	if err := settings.complete(); err != nil {
		return err
	}
	m.service.mu.Lock()
	defer m.service.mu.Unlock()
	m.cancel()
	m.settings, m.modified = settings, time.Now()
	m.begin()
	return nil
}

// remove stops polling; a batch under way is finished.
func (m *mapping) remove() {
	m.service.mu.Lock()
	defer m.service.mu.Unlock()
	m.cancel()
	delete(m.service.mappings, m.id)
}

func (m *mapping) poll(ctx context.Context, settings mappingSettings) {
	defer func() {
		m.service.mu.Lock()
		m.pollers--
		m.service.mu.Unlock()
	}()
	for {
		m.service.mu.Lock()
		m.waiting++
		m.service.mu.Unlock()
		batch, err := m.receive(ctx, settings)
		m.service.mu.Lock()
		m.waiting--
		more := len(batch) > 0 && m.waiting == 0 && m.pollers < m.most() && ctx.Err() == nil
		if more {
			m.addPoller()
		}
		surplus := len(batch) == 0 && m.pollers > firstPollers
		m.service.mu.Unlock()
		if err != nil {
			if ctx.Err() == nil {
				slog.Warn("event source mapping stopped", "function", m.function.name, "queue", settings.queueARN, "error", err)
			}
			return
		}
		if len(batch) > 0 {
			m.process(settings, batch)
		}
		if surplus || ctx.Err() != nil {
			return
		}
	}
}

// receive waits for messages, and with a batching window for more of them.
func (m *mapping) receive(ctx context.Context, settings mappingSettings) ([]sqs.Message, error) {
	queues := m.service.options.Queues
	batch, err := queues.Receive(ctx, settings.queueARN, sqs.ReceiveOptions{Maximum: settings.batchSize, MaximumBytes: batchBytes, Wait: longPoll})
	if err != nil || len(batch) == 0 {
		return nil, err
	}
	end := time.Now().Add(settings.window)
	for settings.window > 0 && len(batch) < settings.batchSize {
		size := 0
		for _, message := range batch {
			size += len(message.Body)
		}
		rest := time.Until(end)
		if rest <= 0 || size >= batchBytes {
			break
		}
		more, err := queues.Receive(ctx, settings.queueARN, sqs.ReceiveOptions{Maximum: settings.batchSize - len(batch), MaximumBytes: batchBytes - size, Wait: rest})
		if err != nil {
			// What was received is hidden already and has to be processed.
			break
		}
		batch = append(batch, more...)
	}
	return batch, nil
}

// process invokes the function with a batch and deletes what succeeded. What failed stays hidden until its visibility timeout.
func (m *mapping) process(settings mappingSettings, batch []sqs.Message) {
	s := m.service
	batch = m.withoutLoops(settings, batch)
	if len(batch) == 0 {
		return
	}
	visibility, err := s.options.Queues.VisibilityTimeout(settings.queueARN)
	if err != nil {
		return
	}
	waiting, cancel := context.WithTimeout(s.ctx, visibility)
	defer cancel()
	traces := make([]string, len(batch))
	for i, message := range batch {
		traces[i] = message.TraceHeader
	}
	payload, err := m.event(settings, batch)
	if err != nil {
		slog.Error("batch could not be written as an event", "function", m.function.name, "error", err)
		return
	}
	out, err := s.run(waiting, m.function, request{trigger: settings.queueARN, payload: payload, traces: traces, records: len(batch), wait: true})
	if err != nil {
		if s.ctx.Err() == nil {
			slog.Warn("batch was not processed", "function", m.function.name, "queue", settings.queueARN, "error", err)
		}
		return
	}
	if out.failure != nil {
		return
	}
	failed := map[string]bool{}
	if settings.reportItemFailures {
		if failed, err = itemFailures(out.payload, batch); err != nil {
			slog.Warn("the whole batch failed", "function", m.function.name, "queue", settings.queueARN, "error", err)
			return
		}
	}
	for _, message := range batch {
		if failed[message.ID] {
			continue
		}
		if err := s.options.Queues.Delete(settings.queueARN, message.ReceiptHandle); err != nil && !errors.Is(err, sqs.ErrNoQueue) {
			slog.Warn("processed message was not deleted", "queue", settings.queueARN, "messageId", message.ID, "error", err)
		}
	}
}

// withoutLoops gives up messages whose chain of events has run through the function too often.
func (m *mapping) withoutLoops(settings mappingSettings, batch []sqs.Message) []sqs.Message {
	kept := make([]sqs.Message, 0, len(batch))
	for _, message := range batch {
		if lineageCount(message.TraceHeader, m.function.arn) < maximumLoop {
			kept = append(kept, message)
			continue
		}
		slog.Warn("recursive loop stopped", "function", m.function.name, "queue", settings.queueARN, "messageId", message.ID)
		if err := m.service.options.Queues.GiveUp(settings.queueARN, message.ReceiptHandle); err != nil {
			slog.Warn("looping message was not given up", "queue", settings.queueARN, "error", err)
		}
	}
	return kept
}

// eventAttribute is a message attribute as SQS events have it.
type eventAttribute struct {
	StringValue      string   `json:"stringValue,omitempty"`
	BinaryValue      []byte   `json:"binaryValue,omitempty"`
	StringListValues []string `json:"stringListValues"`
	BinaryListValues [][]byte `json:"binaryListValues"`
	DataType         string   `json:"dataType"`
}

// eventRecord is one message of the event, https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
type eventRecord struct {
	MessageID         string                    `json:"messageId"`
	ReceiptHandle     string                    `json:"receiptHandle"`
	Body              string                    `json:"body"`
	Attributes        map[string]string         `json:"attributes"`
	MessageAttributes map[string]eventAttribute `json:"messageAttributes"`
	MD5OfBody         string                    `json:"md5OfBody"`
	EventSource       string                    `json:"eventSource"`
	EventSourceARN    string                    `json:"eventSourceARN"`
	AWSRegion         string                    `json:"awsRegion"`
}

func (m *mapping) event(settings mappingSettings, batch []sqs.Message) ([]byte, error) {
	records := make([]eventRecord, len(batch))
	for i, message := range batch {
		attributes := map[string]eventAttribute{}
		for name, a := range message.Attributes {
			attributes[name] = eventAttribute{a.StringValue, a.BinaryValue, []string{}, [][]byte{}, a.DataType}
		}
		records[i] = eventRecord{
			MessageID: message.ID, ReceiptHandle: message.ReceiptHandle, Body: message.Body, Attributes: message.SystemAttributes(),
			MessageAttributes: attributes, MD5OfBody: message.BodyMD5(), EventSource: "aws:sqs", EventSourceARN: settings.queueARN,
			AWSRegion: m.service.options.Region,
		}
	}
	return json.Marshal(map[string]any{"Records": records})
}

// itemFailures reads which messages of the batch failed. No answer, null, {} and an empty list mean none; anything that is not of the
// documented form, an empty or an unknown identifier means all, given as an error.
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
func itemFailures(payload []byte, batch []sqs.Message) (map[string]bool, error) {
	failed := map[string]bool{}
	if len(strings.TrimSpace(string(payload))) == 0 {
		return failed, nil
	}
	var answer *struct {
		BatchItemFailures []struct {
			ItemIdentifier *string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(payload, &answer); err != nil {
		return nil, fmt.Errorf("the function's answer has no batchItemFailures of the documented form: %w", err)
	}
	if answer == nil {
		return failed, nil
	}
	known := map[string]bool{}
	for _, message := range batch {
		known[message.ID] = true
	}
	for _, failure := range answer.BatchItemFailures {
		switch {
		case failure.ItemIdentifier == nil || *failure.ItemIdentifier == "":
			return nil, errors.New("batchItemFailures has an empty itemIdentifier")
		case !known[*failure.ItemIdentifier]:
			return nil, fmt.Errorf("batchItemFailures names %q, which is not in the batch", *failure.ItemIdentifier)
		}
		failed[*failure.ItemIdentifier] = true
	}
	return failed, nil
}
