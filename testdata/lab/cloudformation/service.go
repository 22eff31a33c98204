package cloudformation

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// ObjectStore is where templates given by URL are read from.
type ObjectStore interface {
	// Object returns the bytes of an object.
	Object(bucket, key string) ([]byte, error)
}

// Invoker hands the event of a custom resource to the function behind its service token.
type Invoker interface {
	// InvokeAsync may return before the function has ended (nil: the answer comes by ResponseURL),
	// or wait for it. An error, whenever it comes, fails the resource at once unless its answer has
	// arrived.
	InvokeAsync(ctx context.Context, functionARN string, payload []byte) error
}

// Config has the dependencies of a Service. Templates and Functions may be nil. Templates that need
// them then fail with a reason.
type Config struct {
	AccountID string
	Region    string
	Templates ObjectStore
	Functions Invoker
	// BaseURL returns where the local AWS listens, for the ResponseURL of custom resources.
	BaseURL func() string
	// Settle is how long DescribeStacks delays an answer about a single stack while an operation is
	// under way. The cdk command line asks every five seconds; with the delay it learns of the end
	// at once. Zero means 45 seconds, negative no delay.
	Settle time.Duration
}

// defaultSettle stays below the minute after which the aws command line gives up on an answer.
const defaultSettle = 45 * time.Second

// errCancelled is the reason of resources that were under way when another one failed.
var errCancelled = errors.New("resource creation cancelled")

// errClosed ends operations under way when the service is closed.
var errClosed = errors.New("the local AWS is shutting down")

// Service is the simulated CloudFormation of one account and region.
type Service struct {
	config Config
	ctx    context.Context
	cancel context.CancelCauseFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	types   map[string]ResourceType
	stacks  map[string]*stack // by name; those that exist
	past    map[string]*stack // by id; those that were deleted
	counts  map[string]int    // incarnations by stack name
	answers map[string]chan customAnswer
	serial  int
}

// New makes a CloudFormation without stacks that knows custom resources and AWS::CDK::Metadata.
// Close it when done.
func New(config Config) *Service {
	if config.Settle == 0 {
		config.Settle = defaultSettle
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	s := &Service{
		config: config, ctx: ctx, cancel: cancel,
		types: map[string]ResourceType{}, stacks: map[string]*stack{}, past: map[string]*stack{}, counts: map[string]int{},
		answers: map[string]chan customAnswer{},
	}
	s.RegisterType("AWS::CDK::Metadata", inert{})
	s.RegisterType("AWS::CloudFormation::CustomResource", &customResource{service: s})
	return s
}

// Close cancels operations under way and waits for them.
func (s *Service) Close() error {
	s.cancel(errClosed)
	s.work.Wait()
	return nil
}

// Register makes the service answer at the server.
func (s *Service) Register(server *wire.Server) {
	server.Register("cloudformation", s.actions())
	server.Mount(customResourcePath, s.customResourceHandler())
}

// RegisterType makes t answer for the resources of a type, such as "AWS::SQS::Queue".
func (s *Service) RegisterType(name string, t ResourceType) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.types[name] = t
}

// typeOf returns the implementation of a resource type.
func (s *Service) typeOf(name string) (ResourceType, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.types[name]
	if !ok && strings.HasPrefix(name, "Custom::") {
		t, ok = s.types["AWS::CloudFormation::CustomResource"]
	}
	return t, ok
}

// find returns the stack of a name or an id; the lock is held. A deleted stack is found by its id
// only.
func (s *Service) find(nameOrID string) *stack {
	if st, ok := s.stacks[nameOrID]; ok {
		return st
	}
	for _, st := range s.stacks {
		if st.id == nameOrID {
			return st
		}
	}
	return s.past[nameOrID]
}

// knownTypes lists the registered types for messages.
func (s *Service) knownTypes() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(s.types)), ", ")
}

// inert is a resource that nothing must be done for.
type inert struct{}

func (inert) Create(_ context.Context, r Request) (Result, error) {
	return Result{PhysicalID: r.PhysicalID}, nil
}

func (inert) Update(_ context.Context, r Request) (Result, error) {
	return Result{PhysicalID: r.PhysicalID}, nil
}

func (inert) Delete(context.Context, Request) error { return nil }
