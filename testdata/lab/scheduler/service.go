package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/draw"
	"github.com/whittle-dev/whittle/testdata/lab/sqs"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// principal is the scheduler's service principal.
const principal = "scheduler.amazonaws.com"

// Queues sends to targets.
type Queues interface {
	SendAs(roleARN, queue string, message sqs.Message) error
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
	schedules map[string]*schedule // by name
}

type schedule struct {
	Definition
	timer *time.Timer
	// period is the time between two runs.
	period time.Duration
}

// New returns a service without schedules.
func New(options Options) *Service {
	ctx, cancel := context.WithCancel(context.Background())
	return &Service{options: options, ctx: ctx, cancel: cancel, schedules: map[string]*schedule{}}
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

// put makes a definition the schedule of its name, which must be new or must exist.
func (s *Service) put(d Definition, period time.Duration, mustExist bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("the scheduler is closed")
	}
	old := s.schedules[d.Name]
	switch {
	case mustExist && old == nil:
		return fmt.Errorf("schedule %s %w", d.Name, errNotFound)
	case !mustExist && old != nil:
		return fmt.Errorf("schedule %s %w", d.Name, errConflict)
	}
	if old != nil {
		old.stop()
	}
	sc := &schedule{Definition: d, period: period}
	s.schedules[d.Name] = sc
	s.arm(sc, time.Now())
	return nil
}

// arm sets the timer of the run at a time; the caller holds the lock.
func (s *Service) arm(sc *schedule, next time.Time) {
	if s.closed {
		return
	}
	due := next.Add(s.options.Jitter.of(s.arn(sc.Name), next))
	sc.timer = time.AfterFunc(time.Until(due), func() { s.fire(sc, next) })
}

func (sc *schedule) stop() {
	if sc.timer != nil {
		sc.timer.Stop()
	}
}

func (s *Service) fire(sc *schedule, scheduled time.Time) {
	s.mu.Lock()
	if s.closed || s.schedules[sc.Name] != sc {
		s.mu.Unlock()
		return
	}
	s.work.Add(1)
	defer s.work.Done()
	next := scheduled.Add(sc.period)
	// A machine that slept does not make up for the runs that it missed.
	if late := time.Since(next) - s.options.Jitter.Most; late > 0 {
		next = next.Add(late.Truncate(sc.period) + sc.period)
	}
	s.arm(sc, next)
	s.mu.Unlock()
	if err := s.deliver(sc, scheduled); err != nil {
		slog.Warn("schedule's target did not take its run", "schedule", s.arn(sc.Name), "target", sc.Target.Arn, "error", err)
		s.bury(sc, scheduled, err)
	}
}

// bury sends a run that its target did not take to the dead-letter queue, by the schedule's role.
// https://docs.aws.amazon.com/scheduler/latest/UserGuide/configuring-schedule-dlq.html
func (s *Service) bury(sc *schedule, scheduled time.Time, why error) {
	dead := sc.Target.DeadLetterConfig.Arn
	if dead == "" {
		return
	}
	attributes := map[string]string{
		"SCHEDULE_ARN": s.arn(sc.Name), "TARGET_ARN": sc.Target.Arn, "ERROR_MESSAGE": why.Error(),
	}
	message := sqs.Message{Body: s.input(sc, scheduled), SenderID: principal, Attributes: attributes}
	if err := s.send(sc, dead, message); err != nil {
		slog.Warn("a run is lost", "schedule", s.arn(sc.Name), "deadLetterQueue", dead, "error", err)
	}
}

// deliver hands a run to the target.
func (s *Service) deliver(sc *schedule, scheduled time.Time) error {
	input := s.input(sc, scheduled)
	if isFunction(sc.Target.Arn) {
		return s.options.Functions.InvokeAs(s.ctx, principal, sc.Target.RoleArn, sc.Target.Arn, []byte(input))
	}
	return s.send(sc, sc.Target.Arn, sqs.Message{Body: input, SenderID: principal})
}

// send puts a message into a queue, as far as the schedule's role may.
func (s *Service) send(sc *schedule, queue string, message sqs.Message) error {
	if err := s.allowed(sc.Target.RoleArn, queue); err != nil {
		return err
	}
	return s.options.Queues.SendAs(sc.Target.RoleArn, queue, message)
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

// input is the target's input, or the event that AWS sends without one.
func (s *Service) input(sc *schedule, scheduled time.Time) string {
	if sc.Target.Input != "" {
		return sc.Target.Input
	}
	return fmt.Sprintf(`{"version":"0","id":%q,"detail-type":"Scheduled Event","source":"aws.scheduler","account":%q,`+
		`"time":%q,"region":%q,"resources":[%q],"detail":"{}"}`,
		wire.NewID(), s.options.AccountID, scheduled.UTC().Format(time.RFC3339), s.options.Region, s.arn(sc.Name))
}

func (s *Service) remove(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sc := s.schedules[name]
	if sc == nil {
		return fmt.Errorf("schedule %s %w", name, errNotFound)
	}
	sc.stop()
	delete(s.schedules, name)
	return nil
}

func (s *Service) arn(name string) string {
	return fmt.Sprintf("arn:aws:scheduler:%s:%s:schedule/default/%s", s.options.Region, s.options.AccountID, name)
}
