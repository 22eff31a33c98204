package lambda

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/sqs"
)

// Objects is where the code archives are.
type Objects interface {
	Object(bucket, key string) ([]byte, error)
}

// Sessions returns a sandbox the credentials of its function's role.
type Sessions interface {
	Session(roleARN, sessionName string) (identity.Credentials, error)
}

// Access evaluates a role's policies. Without one everything is allowed.
type Access interface {
	Allowed(roleARN, action, resource string, conditions map[string][]string) (allowed bool, why string)
}

// Queues is the part of the queue service that event source mappings use.
type Queues interface {
	Receive(ctx context.Context, queue string, options sqs.ReceiveOptions) ([]sqs.Message, error)
	Delete(queue, receiptHandle string) error
	GiveUp(queue, receiptHandle string) error
	VisibilityTimeout(queue string) (time.Duration, error)
}

// Logs takes the functions' output and Lambda's reports.
type Logs interface {
	Append(group, stream string, at time.Time, line string, mayMakeGroup bool)
}

// Clock is one that a function's program reads instead of the machine's.
type Clock interface {
	// Setting is the environment variable that names the clock for the program.
	Setting() string
	// Ahead is by how much it is ahead of the machine's.
	Ahead() time.Duration
}

// Options are the service's dependencies.
type Options struct {
	AccountID string
	Region    string
	// Directory is where code is unpacked and sandboxes have their temporary folders.
	Directory string
	// Endpoint returns the local server's URL, each sandbox's AWS_ENDPOINT_URL.
	Endpoint func() string
	Objects  Objects
	Sessions Sessions
	Queues   Queues
	Logs     Logs
	Access   Access
	// Clock returns the clock of a function's sandboxes; nil for the machine's own.
	Clock func(function string) Clock
}

var (
	errNotFound  = errors.New("function not found")
	errThrottled = errors.New("rate exceeded")
	errClosed    = errors.New("the lambda service is closed")
	errTooLarge  = errors.New("request too large")
)

// keptInvocations bounds the memory of past invocations; the oldest give way.
const keptInvocations = 100_000

// Service holds functions, their sandboxes and event source mappings.
type Service struct {
	options Options
	ctx     context.Context
	cancel  context.CancelFunc
	work    sync.WaitGroup

	// asyncRetryDelays are the pauses before the second and third attempt of an event: one and two
	// minutes as documented at
	// https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
	asyncRetryDelays []time.Duration
	idleTime         time.Duration
	concurrency      int // of each function
	// longPoll is how long a poll waits for a message: SQS's maximum.
	longPoll time.Duration

	mu          sync.Mutex
	closed      bool
	functions   map[string]*function
	deleted     []*function // whose invocations may go on
	mappings    map[string]*mapping
	invocations []Invocation
	observers   []func(Invocation)
	polls       int
}

// New returns a service without functions. Close ends all that it started.
func New(options Options) *Service {
	ctx, cancel := context.WithCancel(context.Background())
	return &Service{
		options: options, ctx: ctx, cancel: cancel,
		asyncRetryDelays: []time.Duration{time.Minute, 2 * time.Minute},
		idleTime:         5 * time.Minute, longPoll: 20 * time.Second, concurrency: accountConcurrency,
		functions: map[string]*function{}, mappings: map[string]*mapping{},
	}
}

// Close stops polling, kills every sandbox and waits for all processes and goroutines. Running
// invocations fail.
func (s *Service) Close() error {
	s.mu.Lock()
	s.closed = true
	s.cancel()
	functions := slices.AppendSeq(s.deleted, maps.Values(s.functions))
	s.mu.Unlock()
	for _, f := range functions {
		f.retire()
	}
	s.work.Wait()
	return nil
}

// Kill ends a process of the function that has an invocation under way, as a crash would, and
// reports whether there was one.
func (s *Service) Kill(function string) bool {
	f, err := s.find(function)
	if err != nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for sb := range f.busy {
		sb.kill()
		return true
	}
	return false
}

// begin counts a goroutine that Close waits for; false once the service is closed.
func (s *Service) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Add(1)
	return true
}

// Invocations returns the invocations so far, in the order in which they ended, at most the latest
// 100,000.
func (s *Service) Invocations() []Invocation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.invocations)
}

// Polls counts the polls of event source mappings so far. SQS bills each as a request.
func (s *Service) Polls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.polls
}

// Observe adds a listener that is called, one call at a time in order, with each finished
// invocation. It must return quickly and must not call the service.
func (s *Service) Observe(listener func(Invocation)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observers = append(s.observers, listener)
}

func (s *Service) record(i Invocation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.invocations) >= keptInvocations {
		s.invocations = slices.Clone(s.invocations[keptInvocations/10:])
	}
	s.invocations = append(s.invocations, i)
	for _, observe := range s.observers {
		observe(i)
	}
}

// find takes a function's name, ARN, partial ARN (account:name or account:function:name), each with
// or without :$LATEST.
func (s *Service) find(reference string) (*function, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.TrimSuffix(reference, ":$LATEST")
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		prefix := name[:i]
		partial := prefix == s.options.AccountID || prefix == s.options.AccountID+":function" ||
			prefix == strings.TrimSuffix(s.arn(""), ":")
		if name = name[i+1:]; !partial {
			return nil, fmt.Errorf("function %q: %w in this account and region (versions and aliases are not simulated)",
				reference, errNotFound)
		}
	}
	if f := s.functions[name]; f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("function %q: %w", s.arn(name), errNotFound)
}

func (s *Service) arn(name string) string {
	return fmt.Sprintf("arn:aws:lambda:%s:%s:function:%s", s.options.Region, s.options.AccountID, name)
}

// allowed asks for a role's right, if somebody knows rights.
func (s *Service) allowed(roleARN, action, resource string) error {
	if s.options.Access == nil {
		return nil
	}
	if allowed, why := s.options.Access.Allowed(roleARN, action, resource, nil); !allowed {
		return fmt.Errorf("role %s may not %s on %s: %s", roleARN, action, resource, why)
	}
	return nil
}

// Configuration is a function's as it is now.
func (s *Service) Configuration(name string) (Configuration, error) {
	f, err := s.find(name)
	if err != nil {
		return Configuration{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.configuration, nil
}
