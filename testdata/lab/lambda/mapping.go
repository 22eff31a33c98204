package lambda

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/sqs"
)

// mapping polls a queue for a function, as
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html describes.
//
// A poller long-polls, invokes the function with the messages, and deletes them after a success.
// The mapping begins with five pollers, or fewer if MaximumConcurrency is lower. When the last
// waiting poller has got messages, another one joins: the first five at once, the next ones at 300
// a minute, up to MaximumConcurrency or the account's limit. A poller that finds the queue empty
// leaves, down to two pollers. With MaximumConcurrency five remain, because that setting turns the
// reduction off. https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html gives the
// numbers, but not the time of the reduction.
type mapping struct {
	service  *Service
	id       string
	function *function

	// Guarded by the service's lock.
	settings mappingSettings
	pollers  *pollers
}

// pollers are a mapping's pollers with its current settings. Those with earlier settings may still
// be at work.
type pollers struct {
	mapping  *mapping
	settings mappingSettings
	ctx      context.Context
	cancel   context.CancelFunc

	// Guarded by the service's lock.
	all, waiting int
	// joined is when the last one beyond the first five joins.
	joined time.Time
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
	quietPollers = 2
	// betweenPollers makes 300 pollers a minute.
	betweenPollers = 200 * time.Millisecond
	// batchBytes leaves room in the payload of 6 MB for the rest of the event and for escaping.
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

// addMapping makes Lambda's checks (the role's rights, the visibility timeout) and begins to poll.
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
		return nil, fmt.Errorf("queue %s: its visibility timeout of %.0f seconds is less than the timeout of function %s, "+
			"%.0f seconds; set it to six times as much",
			settings.queueARN, visibility.Seconds(), f.name, configuration.Timeout.Seconds())
	}
	for _, action := range []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"} {
		if err := s.allowed(configuration.Role, action, settings.queueARN); err != nil {
			return nil, fmt.Errorf("the function's execution role does not let Lambda poll the queue: %w", err)
		}
	}
	m := &mapping{service: s, id: id, function: f, settings: settings}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.mappings {
		if other.function == f && other.settings.queueARN == settings.queueARN {
			return nil, fmt.Errorf("an event source mapping of %s to function %s exists already: %s", settings.queueARN, f.name,
				other.id)
		}
	}
	s.mappings[id] = m
	m.begin()
	return m, nil
}

// begin starts the first pollers of an enabled mapping; the caller holds the service's lock.
func (m *mapping) begin() {
	ctx, cancel := context.WithCancel(m.service.ctx)
	m.pollers = &pollers{mapping: m, settings: m.settings, ctx: ctx, cancel: cancel}
	if !m.settings.enabled {
		cancel()
		return
	}
	for range min(firstPollers, m.pollers.most()) {
		m.pollers.add(time.Now())
	}
}

// most is the maximum number of pollers.
func (p *pollers) most() int {
	if p.settings.maximumConcurrency > 0 {
		return p.settings.maximumConcurrency
	}
	return accountConcurrency
}

// least is the number of pollers that stay at an empty queue.
func (p *pollers) least() int {
	if p.settings.maximumConcurrency > 0 {
		return min(firstPollers, p.settings.maximumConcurrency)
	}
	return quietPollers
}

// join adds a poller to those that are there; the caller holds the service's lock.
func (p *pollers) join() {
	begins := time.Now()
	if p.all >= firstPollers {
		if next := p.joined.Add(betweenPollers); next.After(begins) {
			begins = next
		}
		p.joined = begins
	}
	p.add(begins)
}

// add adds a poller, which counts as waiting already before it begins; the caller holds the
// service's lock.
func (p *pollers) add(begins time.Time) {
	if p.mapping.service.closed {
		return
	}
	p.mapping.service.work.Add(1)
	p.all++
	p.waiting++
	go func() {
		defer p.mapping.service.work.Done()
		select {
		case <-time.After(time.Until(begins)):
		case <-p.ctx.Done():
		}
		p.poll()
	}()
}

// change returns the mapping other settings: its pollers end after their batch and new ones begin.
func (m *mapping) change(settings mappingSettings) error {
	if err := settings.complete(); err != nil {
		return err
	}
	m.service.mu.Lock()
	defer m.service.mu.Unlock()
	m.pollers.cancel()
	m.settings = settings
	m.begin()
	return nil
}

// remove stops polling; a batch under way is finished.
func (m *mapping) remove() {
	m.service.mu.Lock()
	defer m.service.mu.Unlock()
	m.pollers.cancel()
	delete(m.service.mappings, m.id)
}

// poll is one poller, which counts as waiting when it begins.
func (p *pollers) poll() {
	m := p.mapping
	for {
		batch, err := m.receive(p.ctx, p.settings)
		ended := p.received(len(batch), err)
		if err != nil && p.ctx.Err() == nil {
			slog.Warn("event source mapping stopped", "function", m.function.name, "queue", p.settings.queueARN, "error", err)
		}
		if len(batch) > 0 {
			m.process(p.settings, batch)
			ended = !p.waitAgain()
		}
		if ended {
			return
		}
	}
}

// received subtracts a poller from those that wait, and starts another one if none is left waiting.
// A poller that found nothing and is not needed leaves instead.
func (p *pollers) received(messages int, failure error) (ended bool) {
	p.mapping.service.mu.Lock()
	defer p.mapping.service.mu.Unlock()
	if messages > 0 {
		p.waiting--
		if p.waiting == 0 && p.all < p.most() && p.ctx.Err() == nil {
			p.join()
		}
		return false
	}
	if failure != nil || p.ctx.Err() != nil || p.all > p.least() {
		p.waiting--
		p.all--
		return true
	}
	return false
}

// waitAgain counts a poller among those that wait, or out of all if the mapping has ended or got
// other settings.
func (p *pollers) waitAgain() bool {
	p.mapping.service.mu.Lock()
	defer p.mapping.service.mu.Unlock()
	if p.ctx.Err() != nil {
		p.all--
		return false
	}
	p.waiting++
	return true
}

// receive waits for messages, and with a batching window for more of them.
func (m *mapping) receive(ctx context.Context, settings mappingSettings) ([]sqs.Message, error) {
	batch, err := m.ask(ctx, settings.queueARN,
		sqs.ReceiveOptions{Maximum: settings.batchSize, MaximumBytes: batchBytes, Wait: m.service.longPoll})
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
		more, err := m.ask(ctx, settings.queueARN,
			sqs.ReceiveOptions{Maximum: settings.batchSize - len(batch), MaximumBytes: batchBytes - size, Wait: rest})
		if err != nil {
			// The received messages are hidden already and must be processed.
			break
		}
		batch = append(batch, more...)
	}
	return batch, nil
}

func (m *mapping) ask(ctx context.Context, queueARN string, options sqs.ReceiveOptions) ([]sqs.Message, error) {
	m.service.mu.Lock()
	m.service.polls++
	m.service.mu.Unlock()
	return m.service.options.Queues.Receive(ctx, queueARN, options)
}

// process invokes the function with a batch and deletes the successful messages. The others stay
// hidden until their visibility timeout.
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
	out, err := s.run(waiting, m.function,
		request{trigger: settings.queueARN, payload: payload, traces: traces, records: len(batch), wait: true})
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
		if err := s.options.Queues.Delete(settings.queueARN, message.ReceiptHandle); err != nil &&
			!errors.Is(err, sqs.ErrNoQueue) {
			slog.Warn("processed message was not deleted", "queue", settings.queueARN, "messageId", message.ID, "error", err)
		}
	}
}

// withoutLoops drops messages whose chain of events has run through the function too often.
func (m *mapping) withoutLoops(settings mappingSettings, batch []sqs.Message) []sqs.Message {
	kept := make([]sqs.Message, 0, len(batch))
	for _, message := range batch {
		if !m.function.loops(message.TraceHeader) {
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

// StopPolling disables every event source mapping, so that only direct invocations remain.
func (s *Service) StopPolling() error {
	s.mu.Lock()
	mappings := slices.Collect(maps.Values(s.mappings))
	s.mu.Unlock()
	var failed []error
	for _, m := range mappings {
		s.mu.Lock()
		settings := m.settings
		s.mu.Unlock()
		settings.enabled = false
		failed = append(failed, m.change(settings))
	}
	return errors.Join(failed...)
}
