package eventbridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
)

// ruleDefinition is a rule as the API writes it, without its targets.
type ruleDefinition struct {
	Name, Description, EventPattern, EventBusName, State string
	// ScheduleExpression is refused.
	ScheduleExpression string
}

// Target is where a rule sends its events, or a constant input instead of them.
type Target struct {
	ID    string `json:"Id"`
	Arn   string
	Input string
	// DeadLetterConfig is the queue for events that the target does not take.
	DeadLetterConfig struct{ Arn string }
	// RetryPolicy is accepted and never used: the local queues refuse for a lack of rights alone, after
	// which EventBridge does not try again.
	RetryPolicy struct{ MaximumEventAgeInSeconds, MaximumRetryAttempts int }
}

var validName = regexp.MustCompile(`^[.\-_A-Za-z0-9]{1,64}$`)

var (
	errNotFound = errors.New("does not exist")
	// errPattern marks a pattern that is not valid, which has an error code of its own.
	errPattern = errors.New("Event pattern is not valid")
)

func (s *Service) checkBus(name string) error {
	if name == "" || name == "default" ||
		name == fmt.Sprintf("arn:aws:events:%s:%s:event-bus/default", s.options.Region, s.options.AccountID) {
		return nil
	}
	return fmt.Errorf("event bus %s %w; only the default bus is simulated", name, errNotFound)
}

// maximumTargets is the number of targets that a rule may have.
const maximumTargets = 5

// putRule makes or changes a rule; its targets stay, unless others are given.
func (s *Service) putRule(d ruleDefinition, targets *[]Target) error {
	if err := s.checkBus(d.EventBusName); err != nil {
		return err
	}
	r, err := newRule(d)
	if err != nil {
		return err
	}
	if targets != nil {
		if err := checkTargets(d.Name, *targets); err != nil {
			return err
		}
		r.targets = slices.Clone(*targets)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.rules[d.Name]; old != nil && targets == nil {
		r.targets = old.targets
	}
	s.rules[d.Name] = r
	return nil
}

// newRule reads a definition.
func newRule(d ruleDefinition) (*rule, error) {
	switch {
	case !validName.MatchString(d.Name):
		return nil, fmt.Errorf("rule name %q: letters, digits, ., _ and -, at most 64", d.Name)
	case d.State != "" && d.State != "ENABLED":
		return nil, fmt.Errorf("rule %s: the State %s is not simulated by the local AWS", d.Name, d.State)
	case d.ScheduleExpression != "":
		return nil, fmt.Errorf("rule %s: ScheduleExpression is not simulated by the local AWS", d.Name)
	case d.EventPattern == "":
		return nil, fmt.Errorf("rule %s: it needs EventPattern", d.Name)
	}
	pattern, err := parsePattern([]byte(d.EventPattern))
	if err != nil {
		return nil, fmt.Errorf("%w. Reason: rule %s: %w", errPattern, d.Name, err)
	}
	return &rule{name: d.Name, pattern: pattern}, nil
}

// readTargets reads targets of the API or of a template. The error names what is not simulated.
func readTargets(rule string, given []map[string]any) ([]Target, error) {
	targets := make([]Target, len(given))
	for i, properties := range given {
		if err := cloudformation.Decode(properties, &targets[i]); err != nil {
			return nil, fmt.Errorf("rule %s, target %v: %w", rule, properties["Id"], err)
		}
	}
	return targets, nil
}

func checkTargets(rule string, targets []Target) error {
	seen := map[string]bool{}
	for _, target := range targets {
		switch {
		case target.ID == "":
			return fmt.Errorf("rule %s: a target needs an Id", rule)
		case !strings.HasPrefix(target.Arn, "arn:aws:sqs:"):
			return fmt.Errorf("rule %s, target %s: Arn %q: the local bus's targets are SQS queues", rule, target.ID, target.Arn)
		case target.DeadLetterConfig.Arn != "" && !strings.HasPrefix(target.DeadLetterConfig.Arn, "arn:aws:sqs:"):
			return fmt.Errorf("rule %s, target %s: DeadLetterConfig.Arn %q is not a queue's", rule, target.ID,
				target.DeadLetterConfig.Arn)
		case target.Input != "" && !json.Valid([]byte(target.Input)):
			return fmt.Errorf("rule %s, target %s: Input is not JSON", rule, target.ID)
		case seen[target.ID]:
			return fmt.Errorf("rule %s: two targets have the Id %s", rule, target.ID)
		}
		seen[target.ID] = true
	}
	if len(targets) > maximumTargets {
		return fmt.Errorf("rule %s: %d targets; a rule has at most %d", rule, len(targets), maximumTargets)
	}
	return nil
}

// putTargets adds targets to a rule or replaces those of the same Id.
func (s *Service) putTargets(name string, targets []Target) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.find(name)
	if err != nil {
		return err
	}
	all := slices.Clone(r.targets)
	for _, target := range targets {
		if i := slices.IndexFunc(all, func(t Target) bool { return t.ID == target.ID }); i >= 0 {
			all[i] = target
		} else {
			all = append(all, target)
		}
	}
	if err := checkTargets(name, all); err != nil {
		return err
	}
	r.targets = all
	return nil
}

func (s *Service) removeTargets(name string, ids []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.find(name)
	if err != nil {
		return err
	}
	r.targets = slices.DeleteFunc(slices.Clone(r.targets), func(t Target) bool { return slices.Contains(ids, t.ID) })
	return nil
}

func (s *Service) removeRule(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rules, name)
}

// find returns a rule; the lock is held.
func (s *Service) find(name string) (*rule, error) {
	if r := s.rules[name]; r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("rule %s %w on EventBus default", name, errNotFound)
}
