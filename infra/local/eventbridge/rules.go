package eventbridge

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/infra/local/scheduler/expression"
)

// ruleDefinition is a rule as API and template write it, without its targets.
type ruleDefinition struct {
	Name, Description, EventPattern, ScheduleExpression, State, EventBusName string
}

var validName = regexp.MustCompile(`^[.\-_A-Za-z0-9]{1,64}$`)

// errPattern marks a pattern that is not valid, which has an error code of its own.
var errPattern = errors.New("Event pattern is not valid")

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
	if s.closed {
		return errors.New("the event bus is closed")
	}
	if old := s.rules[d.Name]; old != nil {
		old.stop()
		if targets == nil {
			r.targets = old.targets
		}
	}
	s.rules[d.Name] = r
	s.arm(r, r.created)
	return nil
}

// newRule reads a definition.
func newRule(d ruleDefinition) (*rule, error) {
	if !validName.MatchString(d.Name) {
		return nil, fmt.Errorf("rule name %q: letters, digits, ., _ and -, at most 64", d.Name)
	}
	r := &rule{
		name: d.Name, description: d.Description, patternText: d.EventPattern, scheduleText: d.ScheduleExpression,
		created: time.Now(),
	}
	switch d.State {
	case "", "ENABLED", "ENABLED_WITH_ALL_CLOUDTRAIL_MANAGEMENT_EVENTS":
		r.enabled = true
	case "DISABLED":
	default:
		return nil, fmt.Errorf("rule %s: State is %q; it must be ENABLED or DISABLED", d.Name, d.State)
	}
	if d.EventPattern == "" && d.ScheduleExpression == "" {
		return nil, fmt.Errorf("rule %s: it needs EventPattern or ScheduleExpression", d.Name)
	}
	if d.EventPattern != "" {
		pattern, err := parsePattern([]byte(d.EventPattern))
		if err != nil {
			return nil, fmt.Errorf("%w. Reason: rule %s: %w", errPattern, d.Name, err)
		}
		r.pattern = pattern
	}
	if d.ScheduleExpression != "" {
		schedule, err := expression.Parse(d.ScheduleExpression, time.UTC)
		if err != nil {
			return nil, fmt.Errorf("rule %s: %w", d.Name, err)
		}
		if !schedule.At.IsZero() {
			return nil, fmt.Errorf("rule %s: ScheduleExpression %q: rules take rate and cron; at is for EventBridge Scheduler",
				d.Name, d.ScheduleExpression)
		}
		r.schedule = schedule
	}
	return r, nil
}

func checkTargets(rule string, targets []Target) error {
	seen := map[string]bool{}
	for _, target := range targets {
		if err := target.check(); err != nil {
			return fmt.Errorf("rule %s: %w", rule, err)
		}
		if seen[target.ID] {
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

func (s *Service) setEnabled(name string, enabled bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.find(name)
	if err != nil {
		return err
	}
	r.stop()
	r.enabled = enabled
	s.arm(r, time.Now())
	return nil
}

func (s *Service) removeRule(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rules[name]; r != nil {
		r.stop()
		delete(s.rules, name)
	}
}
