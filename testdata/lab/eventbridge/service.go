package eventbridge

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/draw"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// principal is the bus's service principal.
const principal = "events.amazonaws.com"

// Queues sends to targets, as their policies allow.
type Queues interface {
	SendFrom(ctx context.Context, service, sourceARN, queue, body string, attributes map[string]string) error
}

// Options has the service's dependencies.
type Options struct {
	AccountID string
	Region    string
	Queues    Queues
	// Delivery is how events come to their targets; zero means once and at once.
	Delivery Delivery
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

// Service is the default event bus.
type Service struct {
	options Options
	ctx     context.Context
	cancel  context.CancelFunc
	work    sync.WaitGroup

	mu     sync.Mutex
	closed bool
	rules  map[string]*rule
}

type rule struct {
	name    string
	pattern pattern
	targets []Target
}

// New returns a bus without rules.
func New(options Options) *Service {
	ctx, cancel := context.WithCancel(context.Background())
	return &Service{options: options, ctx: ctx, cancel: cancel, rules: map[string]*rule{}}
}

// Close drops late deliveries and waits for those under way.
func (s *Service) Close() error {
	s.mu.Lock()
	s.closed = true
	s.cancel()
	s.mu.Unlock()
	s.work.Wait()
	return nil
}

// Put delivers an event to the targets of every rule that takes it, and returns those rules' names in
// order. Deliveries are done when it returns, except late ones. Those that failed are in the log.
func (s *Service) Put(ctx context.Context, e Event) (matched []string) {
	s.complete(&e)
	text, err := json.Marshal(e)
	if err != nil {
		slog.Error("event cannot be written", "source", e.Source, "detailType", e.DetailType, "error", err)
		return nil
	}
	s.mu.Lock()
	var taking []rule
	for _, name := range slices.Sorted(maps.Keys(s.rules)) {
		// The envelope is a JSON object, so match cannot fail.
		if ok, _ := s.rules[name].pattern.match(text); ok {
			// The targets of a rule are replaced and never changed, so that a copy needs no lock.
			taking = append(taking, *s.rules[name])
		}
	}
	s.mu.Unlock()
	for _, r := range taking {
		matched = append(matched, r.name)
		for _, target := range r.targets {
			s.deliverSome(ctx, r.name, target, e.ID, text)
		}
	}
	return matched
}

// deliverSome delivers the event to the target as often and as late as the options say.
func (s *Service) deliverSome(ctx context.Context, rule string, target Target, id string, event []byte) {
	for _, delay := range s.options.Delivery.delays(id, rule+"/"+target.ID) {
		if delay == 0 {
			s.deliver(ctx, rule, target, event)
			continue
		}
		s.mu.Lock()
		if !s.closed {
			s.work.Go(func() {
				select {
				case <-s.ctx.Done():
				case <-time.After(delay):
					s.deliver(s.ctx, rule, target, event)
				}
			})
		}
		s.mu.Unlock()
	}
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

// deliver sends the event, or the target's own input, to a target. Where the target refuses it, it sends
// the event to the target's dead-letter queue, whose policy decides as well.
func (s *Service) deliver(ctx context.Context, rule string, target Target, event []byte) {
	input := string(event)
	if target.Input != "" {
		input = target.Input
	}
	if err := s.options.Queues.SendFrom(ctx, principal, s.arn(rule), target.Arn, input, nil); err != nil {
		slog.Warn("event was not delivered", "rule", rule, "target", target.Arn, "error", err)
		dead := target.DeadLetterConfig.Arn
		if dead == "" {
			return
		}
		// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rule-dlq.html
		why := map[string]string{
			"RULE_ARN": s.arn(rule), "TARGET_ARN": target.Arn, "ERROR_CODE": "NO_PERMISSIONS", "ERROR_MESSAGE": err.Error(),
		}
		if err := s.options.Queues.SendFrom(ctx, principal, s.arn(rule), dead, string(event), why); err != nil {
			slog.Warn("event is lost", "rule", rule, "deadLetterQueue", dead, "error", err)
		}
	}
}

func (s *Service) arn(name string) string {
	return fmt.Sprintf("arn:aws:events:%s:%s:rule/%s", s.options.Region, s.options.AccountID, name)
}
