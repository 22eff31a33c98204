package ec2

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/infra/local/wire"
	"github.com/whittle-dev/whittle/testdata/instancetypes"
)

// Machines is what runs on the instances.
type Machines interface {
	// InstanceChanged is called for every new state of every instance, in order and from one goroutine. It must not block: instances of all
	// states wait behind it.
	InstanceChanged(Instance)
	// ConsoleOutput is what the machine wrote to its serial console, empty for an instance that never ran.
	ConsoleOutput(instanceID string) string
}

// Events puts an event on the account's default EventBridge bus.
type Events interface {
	Put(ctx context.Context, event Event)
}

// InstanceProfiles finds the role of an IAM instance profile.
type InstanceProfiles interface {
	// RoleOfInstanceProfile takes the name or the ARN of a profile; found is false where there is no such profile, or none with a role.
	RoleOfInstanceProfile(nameOrARN string) (roleARN string, found bool)
}

// Parameters takes the SSM parameters under which AWS publishes images.
type Parameters interface {
	Set(name, value, kind string)
}

// Config is what the service needs. Everything but AccountID and Region may be left out.
type Config struct {
	AccountID, Region string
	// InstanceTypes are the types on offer, in the package's order. Nil means all of the table in testdata/instancetypes.
	InstanceTypes []instancetypes.InstanceType
	Machines      Machines
	Events        Events
	// InstanceProfiles may be nil: then every profile that is named exists, without a role.
	InstanceProfiles InstanceProfiles
	Parameters       Parameters
	Timing           Timing
	// Seed varies how much room the capacity pools have.
	Seed   uint64
	Logger *slog.Logger
}

// Timing says how long things take. A zero field means at once, except KeepTerminated.
type Timing struct {
	// Pending is the time from launch to running.
	Pending time.Duration
	// ShuttingDown is the time from the call to terminated, Stopping to stopped.
	ShuttingDown, Stopping time.Duration
	// KeepTerminated is how long a terminated instance is still described. 0 means an hour, as EC2 keeps them.
	KeepTerminated time.Duration
	// Visibility is the time from launch until DescribeInstances knows the instance.
	Visibility time.Duration
}

// Service is the local EC2 of one account and region.
type Service struct {
	config   Config
	log      *slog.Logger
	handlers map[string]handler
	types    []instancetypes.InstanceType
	typeOf   map[string]*instancetypes.InstanceType

	outbox  *outbox
	timers  *timers
	console func(instanceID string) string

	mu        sync.Mutex
	timing    Timing
	identity  identifiers
	vpc       *vpc
	images    map[string]*Image
	templates map[string]*launchTemplate // by id
	instances map[string]*instance
	tokens    map[string]*tokenUse
	capacity  *capacity
	throttles []*throttle
}

// New makes the service with its default VPC. Close it.
func New(config Config) (*Service, error) {
	types := config.InstanceTypes
	if types == nil {
		var err error
		if types, err = instancetypes.All(); err != nil {
			return nil, fmt.Errorf("reading the table of instance types: %w", err)
		}
	}
	if config.AccountID == "" || config.Region == "" {
		return nil, fmt.Errorf("config names account %q and region %q: both are needed", config.AccountID, config.Region)
	}
	if config.Timing.KeepTerminated == 0 {
		config.Timing.KeepTerminated = time.Hour
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		config: config, log: config.Logger, types: types, typeOf: make(map[string]*instancetypes.InstanceType, len(types)),
		timers: newTimers(), timing: config.Timing,
		images: map[string]*Image{}, templates: map[string]*launchTemplate{}, instances: map[string]*instance{}, tokens: map[string]*tokenUse{},
		capacity: newCapacity(config.Seed), console: func(string) string { return "" },
	}
	for i := range types {
		s.typeOf[types[i].Name] = &types[i]
	}
	if config.Machines != nil {
		s.console = config.Machines.ConsoleOutput
	}
	s.vpc = newVPC(&s.identity, config.Region)
	s.handlers = s.actions()
	s.outbox = newOutbox(s.deliver)
	return s, nil
}

// Close stops every timer and delivers what has been said so far.
func (s *Service) Close() error {
	s.timers.close()
	s.outbox.close()
	return nil
}

// Register answers the server's calls to EC2.
func (s *Service) Register(server *wire.Server) { server.Register("ec2", s) }

// Serve answers one call.
func (s *Service) Serve(ctx context.Context, c *wire.Call) (*wire.Response, error) {
	serve, ok := s.handlers[c.Action]
	if !ok {
		return nil, refuse("InvalidAction", "The action %s is not valid for this web service: the local EC2 does not hold it", c.Action)
	}
	if err := s.throttled(c.Action); err != nil {
		return nil, err
	}
	return serve(ctx, c)
}

type handler func(ctx context.Context, c *wire.Call) (*wire.Response, error)

// answer makes a handler of a method that takes the decoded request and gives the result to encode.
func answer[In any](method func(c *wire.Call, in *In) (any, error)) handler {
	return func(_ context.Context, c *wire.Call) (*wire.Response, error) {
		in := new(In)
		if err := decode(c, in); err != nil {
			return nil, err
		}
		// The server has asked for the caller's rights by now, which is all that a dry run checks besides the parameters' form.
		if c.Form.Get("DryRun") == "true" {
			return nil, wire.Errorf(codeDryRunOperation, http.StatusPreconditionFailed, "Request would have succeeded, but DryRun flag is set.")
		}
		out, err := method(c, in)
		if err != nil {
			return nil, err
		}
		return wire.EC2XML(c, out)
	}
}

func (s *Service) actions() map[string]handler {
	return map[string]handler{
		"CreateFleet":                    answer(s.createFleet),
		"CreateLaunchTemplate":           answer(s.createLaunchTemplate),
		"CreateLaunchTemplateVersion":    answer(s.createLaunchTemplateVersion),
		"CreateTags":                     answer(s.createTags),
		"DeleteLaunchTemplate":           answer(s.deleteLaunchTemplate),
		"DeleteTags":                     answer(s.deleteTags),
		"DescribeAvailabilityZones":      answer(s.describeAvailabilityZones),
		"DescribeCapacityReservations":   answer(s.describeCapacityReservations),
		"DescribeImages":                 answer(s.describeImages),
		"DescribeInstanceStatus":         answer(s.describeInstanceStatus),
		"DescribeInstanceTypeOfferings":  answer(s.describeInstanceTypeOfferings),
		"DescribeInstanceTypes":          answer(s.describeInstanceTypes),
		"DescribeInstances":              answer(s.describeInstances),
		"DescribeLaunchTemplates":        answer(s.describeLaunchTemplates),
		"DescribeLaunchTemplateVersions": answer(s.describeLaunchTemplateVersions),
		"DescribePlacementGroups":        answer(s.describePlacementGroups),
		"DescribeRegions":                answer(s.describeRegions),
		"DescribeSecurityGroups":         answer(s.describeSecurityGroups),
		"DescribeSpotPriceHistory":       answer(s.describeSpotPriceHistory),
		"DescribeSubnets":                answer(s.describeSubnets),
		"DescribeTags":                   answer(s.describeTags),
		"DescribeVolumes":                answer(s.describeVolumes),
		"DescribeVpcs":                   answer(s.describeVpcs),
		"GetConsoleOutput":               answer(s.getConsoleOutput),
		"RunInstances":                   answer(s.runInstances),
		"StartInstances":                 answer(s.startInstances),
		"StopInstances":                  answer(s.stopInstances),
		"TerminateInstances":             answer(s.terminateInstances),
	}
}
