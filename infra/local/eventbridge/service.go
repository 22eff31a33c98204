package eventbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/infra/local/draw"
	"github.com/whittle-dev/whittle/infra/local/scheduler/expression"
	"github.com/whittle-dev/whittle/infra/local/sqs"
	"github.com/whittle-dev/whittle/infra/local/wire"
)

// principal is the bus's service principal.
const principal = "events.amazonaws.com"

// Queues sends to targets, as their policies allow.
type Queues interface {
	SendFrom(ctx context.Context, service, sourceARN, queue, body string) error
	Send(queue string, message sqs.Message, delay *time.Duration) (sqs.Message, error)
}

// Functions invokes targets as events, as their permissions allow.
type Functions interface {
	InvokeFrom(ctx context.Context, service, sourceARN, functionARN string, payload []byte) error
}

// Options has the service's dependencies.
type Options struct {
	AccountID string
	Region    string
	Queues    Queues
	Functions Functions
	// Delivery is how events come to their targets; zero means once and at once.
	Delivery Delivery
	// Archive is the number of latest events that are kept for inspection; 0 means 1,000.
	Archive int
}

// Delivery says how events come to the targets of their rules. EventBridge delivers at least once, in
// no order, and promises no time.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rule-retry-policy.html
type Delivery struct {
	// Seed chooses the events.
	Seed uint64
	// Twice is the share of deliveries that come once more. Late is the share that comes late: up to
	// MostLate after the event. The second of two is always late.
	Twice, Late float64
	MostLate    time.Duration
}

// delays are the times after which a delivery comes.
func (d Delivery) delays(event, target string) []time.Duration {
	after := func(time string) time.Duration { return draw.Between(d.Seed, 0, d.MostLate, event, target, time) }
	delays := []time.Duration{0}
	if draw.Share(d.Seed, event, target, "late") < d.Late {
		delays[0] = after("first")
	}
	if draw.Share(d.Seed, event, target, "twice") < d.Twice {
		delays = append(delays, after("second"))
	}
	return delays
}

// Event is an event on the bus. Its JSON is the envelope that targets get.
type Event struct {
	// ID, Account, Time and Region are filled in where they are empty.
	ID         string
	DetailType string
	Source     string
	Account    string
	Time       time.Time
	Region     string
	Resources  []string
	// Detail is a JSON object; empty means {}.
	Detail json.RawMessage
}

// MarshalJSON writes the envelope in AWS's order, the time in whole seconds.
func (e Event) MarshalJSON() ([]byte, error) {
	resources, detail := e.Resources, e.Detail
	if resources == nil {
		resources = []string{}
	}
	if len(detail) == 0 {
		detail = json.RawMessage("{}")
	}
	return json.Marshal(struct {
		Version    string          `json:"version"`
		ID         string          `json:"id"`
		DetailType string          `json:"detail-type"`
		Source     string          `json:"source"`
		Account    string          `json:"account"`
		Time       string          `json:"time"`
		Region     string          `json:"region"`
		Resources  []string        `json:"resources"`
		Detail     json.RawMessage `json:"detail"`
	}{
		"0", e.ID, e.DetailType, e.Source, e.Account, e.Time.UTC().Format("2006-01-02T15:04:05Z"), e.Region, resources,
		detail,
	})
}

// archived is a past event with its deliveries.
type archived struct {
	Event Event
	// Matched are the names of the rules that took it.
	Matched []string
	// Failures say which deliveries failed, and why.
	Failures []string
}

var errNotFound = errors.New("does not exist")

// Service is the default event bus.
type Service struct {
	options Options
	ctx     context.Context
	cancel  context.CancelFunc
	work    sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	rules   map[string]*rule
	archive []archived
}

type rule struct {
	name, description string
	pattern           *pattern
	patternText       string
	scheduleText      string
	schedule          expression.Expression
	enabled           bool
	created           time.Time
	timer             *time.Timer
	targets           []Target
}

// New returns a bus without rules.
func New(options Options) *Service {
	if options.Archive == 0 {
		options.Archive = 1000
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Service{options: options, ctx: ctx, cancel: cancel, rules: map[string]*rule{}}
}

// Close stops the scheduled rules and waits for deliveries under way.
func (s *Service) Close() error {
	s.mu.Lock()
	s.closed = true
	s.cancel()
	for _, r := range s.rules {
		r.stop()
	}
	s.mu.Unlock()
	s.work.Wait()
	return nil
}

func (r *rule) stop() {
	if r.timer != nil {
		r.timer.Stop()
	}
}

// Put delivers an event to the targets of every enabled rule that takes it, and returns those
// rules' names in order. Deliveries are done when it returns, except late ones. Those that failed are
// in the log, and in the archive unless they were late.
func (s *Service) Put(ctx context.Context, e Event) (matched []string) {
	s.complete(&e)
	text, err := json.Marshal(e)
	if err != nil {
		slog.Error("event cannot be written", "source", e.Source, "detailType", e.DetailType, "error", err)
		return nil
	}
	s.mu.Lock()
	var taking []*rule
	for _, r := range s.rules {
		if r.pattern == nil || !r.enabled {
			continue
		}
		// The envelope is a JSON object, so Match cannot fail.
		if ok, _ := r.pattern.Match(text); ok {
			taking = append(taking, r.copy())
		}
	}
	s.mu.Unlock()
	slices.SortFunc(taking, func(a, b *rule) int { return strings.Compare(a.name, b.name) })
	var failures []string
	for _, r := range taking {
		matched = append(matched, r.name)
		for _, target := range r.targets {
			failures = append(failures, s.deliverSome(ctx, r, target, e.ID, text)...)
		}
	}
	s.keep(archived{e, matched, failures})
	return matched
}

// deliverSome delivers the event to the target as often and as late as the options say. It returns
// the failures of deliveries that are not late.
func (s *Service) deliverSome(
	ctx context.Context, r *rule, target Target, id string, event []byte,
) (failures []string) {
	for _, delay := range s.options.Delivery.delays(id, r.name+"/"+target.ID) {
		if delay == 0 {
			failures = append(failures, s.deliverOnce(ctx, r, target, event)...)
			continue
		}
		s.mu.Lock()
		if !s.closed {
			s.work.Go(func() {
				select {
				case <-s.ctx.Done():
				case <-time.After(delay):
					s.deliverOnce(s.ctx, r, target, event)
				}
			})
		}
		s.mu.Unlock()
	}
	return failures
}

// copy returns what a delivery may use without the lock.
func (r *rule) copy() *rule {
	c := *r
	c.targets = slices.Clone(r.targets)
	return &c
}

func (s *Service) complete(e *Event) {
	if e.ID == "" {
		e.ID = wire.NewID()
	}
	if e.Account == "" {
		e.Account = s.options.AccountID
	}
	if e.Region == "" {
		e.Region = s.options.Region
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
}

func (s *Service) keep(a archived) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.archive) >= s.options.Archive {
		s.archive = slices.Clone(s.archive[len(s.archive)-s.options.Archive+1:])
	}
	s.archive = append(s.archive, a)
}

// Events returns the latest events, oldest first.
func (s *Service) Events() []archived {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.archive)
}

// deliver sends the event to all targets of a rule and returns the failures.
func (s *Service) deliver(ctx context.Context, r *rule, event []byte) (failures []string) {
	for _, target := range r.targets {
		failures = append(failures, s.deliverOnce(ctx, r, target, event)...)
	}
	return failures
}

// deliverOnce sends the event to a target and returns the failure, if any.
func (s *Service) deliverOnce(ctx context.Context, r *rule, target Target, event []byte) []string {
	err := s.deliverTo(ctx, r, target, event)
	if err == nil {
		return nil
	}
	slog.Warn("event was not delivered", "rule", r.name, "target", target.Arn, "error", err)
	return []string{fmt.Sprintf("rule %s, target %s: %v", r.name, target.ID, err)}
}

func (s *Service) deliverTo(ctx context.Context, r *rule, target Target, event []byte) error {
	input, err := target.input(event)
	if err == nil {
		if strings.HasPrefix(target.Arn, "arn:aws:lambda:") {
			err = s.options.Functions.InvokeFrom(ctx, principal, s.arn(r.name), target.Arn, input)
		} else {
			err = s.options.Queues.SendFrom(ctx, principal, s.arn(r.name), target.Arn, string(input))
		}
	}
	if err == nil || target.DeadLetterConfig == nil || target.DeadLetterConfig.Arn == "" {
		return err
	}
	text := func(value string) sqs.Attribute { return sqs.Attribute{DataType: "String", StringValue: value} }
	_, lost := s.options.Queues.Send(target.DeadLetterConfig.Arn,
		sqs.Message{Body: string(event), SenderID: principal, Attributes: map[string]sqs.Attribute{
			"RULE_ARN": text(s.arn(r.name)), "TARGET_ARN": text(target.Arn), "ERROR_CODE": text("TARGET_REFUSED"),
			"ERROR_MESSAGE": text(err.Error()),
		}}, nil)
	return errors.Join(err, lost)
}

// arm sets a scheduled rule's timer; the caller holds the lock. EventBridge counts a rate from the
// rule's creation, the first run being one period later.
func (s *Service) arm(r *rule, after time.Time) {
	if r.scheduleText == "" || !r.enabled || s.closed {
		return
	}
	next := r.schedule.Next(r.created, after)
	if next.IsZero() {
		return
	}
	r.timer = time.AfterFunc(time.Until(next), func() { s.fire(r, next) })
}

func (s *Service) fire(r *rule, scheduled time.Time) {
	s.mu.Lock()
	if s.closed || s.rules[r.name] != r {
		s.mu.Unlock()
		return
	}
	s.work.Add(1)
	defer s.work.Done()
	if now := time.Now(); now.After(scheduled) {
		s.arm(r, now)
	} else {
		s.arm(r, scheduled)
	}
	taking := r.copy()
	s.mu.Unlock()
	e := Event{DetailType: "Scheduled Event", Source: "aws.events", Time: scheduled, Resources: []string{s.arn(r.name)}}
	s.complete(&e)
	text, err := json.Marshal(e)
	if err != nil {
		slog.Error("scheduled event cannot be written", "rule", r.name, "error", err)
		return
	}
	s.keep(archived{e, []string{r.name}, s.deliver(s.ctx, taking, text)})
}

func (s *Service) find(name string) (*rule, error) {
	if r := s.rules[name]; r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("rule %s %w on EventBus default", name, errNotFound)
}

func (s *Service) arn(name string) string {
	return fmt.Sprintf("arn:aws:events:%s:%s:rule/%s", s.options.Region, s.options.AccountID, name)
}
