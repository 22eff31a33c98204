package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/infra/local/draw"
	"github.com/whittle-dev/whittle/infra/local/scheduler/expression"
	"github.com/whittle-dev/whittle/infra/local/sqs"
	"github.com/whittle-dev/whittle/infra/local/wire"
)

// principal is the scheduler's service principal.
const principal = "scheduler.amazonaws.com"

const defaultGroup = "default"

// Queues sends to targets and dead-letter queues.
type Queues interface {
	Send(queue string, message sqs.Message, delay *time.Duration) (sqs.Message, error)
}

// Functions invokes a function as an event with a role's right to do so.
type Functions interface {
	InvokeAs(ctx context.Context, service, roleARN, functionARN string, payload []byte) error
}

// Access evaluates a role's policies. Without one everything is allowed.
type Access interface {
	Allowed(roleARN, action, resource string, conditions map[string][]string) (allowed bool, why string)
}

// Options has the service's dependencies.
type Options struct {
	AccountID string
	Region    string
	Queues    Queues
	Functions Functions
	Access    Access
	Jitter    Jitter
}

// Jitter delays each run. EventBridge Scheduler runs a schedule at any time within its minute.
// https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule.html
type Jitter struct {
	// Seed chooses the delays.
	Seed uint64
	// Most is the longest delay.
	Most time.Duration
}

// of is the delay of one run.
func (j Jitter) of(arn string, scheduled time.Time) time.Duration {
	return draw.Between(j.Seed, 0, j.Most, arn, scheduled.UTC().Format(time.RFC3339))
}

// Run is one time that a schedule ran.
type Run struct {
	Schedule  string // ARN
	Target    string // ARN
	Scheduled time.Time
	Err       error // why the target did not take it
}

const keptRuns = 1000

var (
	errNotFound = errors.New("does not exist")
	errConflict = errors.New("already exists")
)

// Service holds the schedules.
type Service struct {
	options Options
	ctx     context.Context
	cancel  context.CancelFunc
	work    sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	groups    map[string]*group
	schedules map[string]*schedule // by group/name
	runs      []Run
}

type group struct {
	name    string
	created time.Time
}

type schedule struct {
	Definition
	created, modified, start time.Time
	expression               expression.Expression
	// latest is the time for which the schedule ran last.
	latest time.Time
	timer  *time.Timer
}

// New returns a service with the group named default.
func New(options Options) *Service {
	ctx, cancel := context.WithCancel(context.Background())
	return &Service{
		options: options, ctx: ctx, cancel: cancel, schedules: map[string]*schedule{},
		groups: map[string]*group{defaultGroup: {name: defaultGroup, created: time.Now()}},
	}
}

// Close stops all schedules and waits for the runs under way.
func (s *Service) Close() error {
	s.mu.Lock()
	s.closed = true
	s.cancel()
	for _, sc := range s.schedules {
		sc.stop()
	}
	s.mu.Unlock()
	s.work.Wait()
	return nil
}

// Runs returns the latest runs, at most 1,000.
func (s *Service) Runs() []Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.runs)
}

var validName = regexp.MustCompile(`^[0-9a-zA-Z_.-]{1,64}$`)

// put checks a definition and makes it the schedule of its name, which must be new or must exist.
func (s *Service) put(d Definition, mustExist bool) (*schedule, error) {
	if d.GroupName == "" {
		d.GroupName = defaultGroup
	}
	parsed, err := d.check()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the scheduler is closed")
	}
	if s.groups[d.GroupName] == nil {
		return nil, fmt.Errorf("schedule group %s %w", d.GroupName, errNotFound)
	}
	key := d.GroupName + "/" + d.Name
	old := s.schedules[key]
	switch {
	case mustExist && old == nil:
		return nil, fmt.Errorf("schedule %s %w", key, errNotFound)
	case !mustExist && old != nil:
		return nil, fmt.Errorf("schedule %s %w", key, errConflict)
	}
	now := time.Now()
	sc := &schedule{Definition: d, created: now, modified: now, start: now, expression: parsed}
	if d.StartDate != nil {
		sc.start = d.StartDate.Time
	}
	if old != nil {
		old.stop()
		sc.created = old.created
	}
	s.schedules[key] = sc
	// The moment before the start: a rate's first run is its start.
	s.arm(sc, later(sc.start, now).Add(-1))
	return sc, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// arm sets the timer for the first run after a time; the caller holds the lock.
func (s *Service) arm(sc *schedule, after time.Time) {
	if sc.State == "DISABLED" || s.closed {
		return
	}
	next := sc.expression.Next(sc.start, after)
	if next.IsZero() || sc.EndDate != nil && next.After(sc.EndDate.Time) {
		return
	}
	due := next.Add(s.options.Jitter.of(s.arn(sc), next))
	sc.timer = time.AfterFunc(time.Until(due), func() { s.fire(sc, next) })
}

func (sc *schedule) stop() {
	if sc.timer != nil {
		sc.timer.Stop()
	}
}

func (s *Service) fire(sc *schedule, scheduled time.Time) {
	s.mu.Lock()
	if s.closed || s.schedules[sc.GroupName+"/"+sc.Name] != sc {
		s.mu.Unlock()
		return
	}
	s.work.Add(1)
	defer s.work.Done()
	sc.latest = scheduled
	s.arm(sc, later(scheduled, time.Now().Add(-s.options.Jitter.Most)))
	s.mu.Unlock()
	err := s.deliver(sc, scheduled)
	if err != nil {
		slog.Warn("schedule's target did not take its run", "schedule", s.arn(sc), "target", sc.Target.Arn, "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.runs) >= keptRuns {
		s.runs = slices.Clone(s.runs[keptRuns/10:])
	}
	s.runs = append(s.runs, Run{Schedule: s.arn(sc), Target: sc.Target.Arn, Scheduled: scheduled, Err: err})
	if sc.ActionAfterCompletion == "DELETE" && sc.expression.Next(sc.start, scheduled).IsZero() {
		delete(s.schedules, sc.GroupName+"/"+sc.Name)
	}
}

// deliver hands a run to the target, and to its dead-letter queue if the target does not take it.
func (s *Service) deliver(sc *schedule, scheduled time.Time) error {
	input := s.input(sc, scheduled)
	var err error
	if isFunction(sc.Target.Arn) {
		err = s.options.Functions.InvokeAs(s.ctx, principal, sc.Target.RoleArn, sc.Target.Arn, []byte(input))
	} else if err = s.allowed(sc.Target.RoleArn, sc.Target.Arn); err == nil {
		_, err = s.options.Queues.Send(sc.Target.Arn, sqs.Message{Body: input, SenderID: principal}, nil)
	}
	dead := sc.Target.DeadLetterConfig
	if err == nil || dead == nil || dead.Arn == "" {
		return err
	}
	text := func(value string) sqs.Attribute { return sqs.Attribute{DataType: "String", StringValue: value} }
	lost := s.allowed(sc.Target.RoleArn, dead.Arn)
	if lost == nil {
		_, lost = s.options.Queues.Send(dead.Arn,
			sqs.Message{Body: input, SenderID: principal, Attributes: map[string]sqs.Attribute{
				"SCHEDULE_ARN": text(s.arn(sc)), "TARGET_ARN": text(sc.Target.Arn), "ERROR_CODE": text("TargetRefused"),
				"ERROR_MESSAGE": text(err.Error()),
			}}, nil)
	}
	return errors.Join(err, lost)
}

func (s *Service) allowed(roleARN, queueARN string) error {
	if s.options.Access == nil {
		return nil
	}
	if allowed, why := s.options.Access.Allowed(roleARN, "sqs:SendMessage", queueARN, nil); !allowed {
		return fmt.Errorf("role %s may not sqs:SendMessage on %s: %s", roleARN, queueARN, why)
	}
	return nil
}

// input is the target's input with the documented context attributes filled in, or the event that
// AWS sends without one.
// https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html
func (s *Service) input(sc *schedule, scheduled time.Time) string {
	moment := scheduled.UTC().Format(time.RFC3339)
	id := wire.NewID()
	if sc.Target.Input == "" {
		return fmt.Sprintf(`{"version":"0","id":%q,"detail-type":"Scheduled Event","source":"aws.scheduler","account":%q,`+
			`"time":%q,"region":%q,"resources":[%q],"detail":"{}"}`,
			id, s.options.AccountID, moment, s.options.Region, s.arn(sc))
	}
	return strings.NewReplacer(
		"<aws.scheduler.schedule-arn>", s.arn(sc), "<aws.scheduler.scheduled-time>", moment,
		"<aws.scheduler.execution-id>", id, "<aws.scheduler.attempt-number>", "1",
	).Replace(sc.Target.Input)
}

func (s *Service) find(groupName, name string) (*schedule, error) {
	if groupName == "" {
		groupName = defaultGroup
	}
	if sc := s.schedules[groupName+"/"+name]; sc != nil {
		return sc, nil
	}
	return nil, fmt.Errorf("schedule %s/%s %w", groupName, name, errNotFound)
}

func (s *Service) remove(groupName, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sc, err := s.find(groupName, name)
	if err != nil {
		return err
	}
	sc.stop()
	delete(s.schedules, sc.GroupName+"/"+name)
	return nil
}

func (s *Service) addGroup(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("schedule group name %q: letters, digits, ., _ and -, at most 64", name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.groups[name] != nil {
		return fmt.Errorf("schedule group %s %w", name, errConflict)
	}
	s.groups[name] = &group{name: name, created: time.Now()}
	return nil
}

// removeGroup takes the group's schedules with it, as on AWS.
func (s *Service) removeGroup(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case name == defaultGroup:
		return errors.New("the group default cannot be deleted")
	case s.groups[name] == nil:
		return fmt.Errorf("schedule group %s %w", name, errNotFound)
	}
	delete(s.groups, name)
	maps.DeleteFunc(s.schedules, func(_ string, sc *schedule) bool {
		if sc.GroupName == name {
			sc.stop()
		}
		return sc.GroupName == name
	})
	return nil
}

func (s *Service) arn(sc *schedule) string {
	return fmt.Sprintf("arn:aws:scheduler:%s:%s:schedule/%s/%s", s.options.Region, s.options.AccountID, sc.GroupName,
		sc.Name)
}

func (s *Service) groupARN(name string) string {
	return fmt.Sprintf("arn:aws:scheduler:%s:%s:schedule-group/%s", s.options.Region, s.options.AccountID, name)
}
