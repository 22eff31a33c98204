package ec2

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Machines simulates the machines behind the instances.
type Machines interface {
	// InstanceChanged is called for every new state and every reboot of every instance, in order and
	// from one goroutine. It must not block: instances of all states wait behind it.
	InstanceChanged(Instance)
	// ConsoleOutput returns the text on the machine's serial console, empty for an instance that
	// never ran.
	ConsoleOutput(instanceID string) string
}

// Events puts an event on the account's default EventBridge bus.
type Events interface {
	Put(ctx context.Context, event Event)
}

// InstanceProfiles finds the role of an IAM instance profile.
type InstanceProfiles interface {
	// RoleOfInstanceProfile takes a profile's name or ARN. found is false for an unknown profile
	// and for one without a role.
	RoleOfInstanceProfile(nameOrARN string) (roleARN string, found bool)
}

// Parameters takes the SSM parameters under which AWS publishes images.
type Parameters interface {
	Set(name, value string)
}

// Config has the service's dependencies. Only AccountID and Region are required.
type Config struct {
	AccountID, Region string
	// InstanceTypes are the types on offer, in the package's order. Nil means all of the table in
	// shared/catalog/builtin.
	InstanceTypes []builtin.InstanceType
	// LocalZones are the names of Local Zones that the account has enabled, as us-east-1-dfw-1a. They offer a
	// part of the families.
	LocalZones []string
	Machines   Machines
	Events     Events
	// InstanceProfiles may be nil: then every profile that is named exists, without a role.
	InstanceProfiles InstanceProfiles
	Parameters       Parameters
	Timing           Timing
	Consistency      Consistency
	Bursts           Bursts
	// SilentRepeats is the setting of SilenceRepeats.
	SilentRepeats bool
	// Now is the time by which replicas learn changes; nil means time.Now.
	Now func() time.Time
	// Seed varies how much room the capacity pools have.
	Seed   uint64
	Logger *slog.Logger
}

// Timing has the durations of EC2's steps. A zero field means at once, except KeepTerminated and
// those of capacity blocks.
type Timing struct {
	// Pending is the time from launch to running.
	Pending time.Duration
	// ShuttingDown is the time from the call to terminated, Stopping to stopped.
	ShuttingDown, Stopping time.Duration
	// KeepTerminated is how long EC2 describes a terminated instance. 0 means an hour, as on EC2.
	KeepTerminated time.Duration
	// Visibility is the time from launch until DescribeInstances knows the instance.
	Visibility time.Duration
	// BlockWarning and BlockReclaim are the times before a capacity block's end at which EC2 warns
	// its instances and begins to end them. 0 means 40 and 30 minutes.
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-how.html
	BlockWarning, BlockReclaim time.Duration
}

// Service is the local EC2 of one account and region.
type Service struct {
	config   Config
	log      *slog.Logger
	handlers map[string]handler
	types    []builtin.InstanceType
	typeOf   map[string]*builtin.InstanceType

	outbox  *outbox
	timers  *timers
	console func(instanceID string) string
	began   time.Time

	mu     sync.Mutex
	timing Timing
	// consistency is the lag of calls; views counts them.
	consistency Consistency
	views       int
	identity    identifiers
	vpc         *vpc
	images      map[string]*Image
	templates   map[string]*launchTemplate // by id
	instances   map[string]*instance
	tokens      map[string]*tokenUse
	// fleets are the answers to CreateFleet, by the fleet's id.
	fleets map[string]*madeFleet
	// silentRepeats makes a repeated CreateFleet name no instances and no errors.
	silentRepeats bool
	capacity      *capacity
	throttles     []*throttle
	buckets       []*bucket
	failures      []*CallFailure
	refusals      []Refusal
	// pending are grants of calls under way that have no instance yet.
	pending      map[*grant]struct{}
	reservations map[string]*capacityReservation
	// purchases are the Reserved Instances, in the order in which they were bought.
	purchases       []ReservedInstances
	placementGroups map[string]*placementGroup
}

// New makes the service with its default VPC. Close it.
func New(config Config) (*Service, error) {
	types := config.InstanceTypes
	if types == nil {
		var err error
		if types, err = builtin.All(); err != nil {
			return nil, fmt.Errorf("reading the table of instance types: %w", err)
		}
	}
	if config.AccountID == "" || config.Region == "" {
		return nil, fmt.Errorf("config names account %q and region %q: both are needed", config.AccountID, config.Region)
	}
	if config.Timing.KeepTerminated == 0 {
		config.Timing.KeepTerminated = time.Hour
	}
	if config.Timing.BlockWarning == 0 {
		config.Timing.BlockWarning = 40 * time.Minute
	}
	if config.Timing.BlockReclaim == 0 {
		config.Timing.BlockReclaim = 30 * time.Minute
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		config: config, log: config.Logger, types: types, typeOf: make(map[string]*builtin.InstanceType, len(types)),
		timers: newTimers(), timing: config.Timing, consistency: config.Consistency,
		began: time.Now(), silentRepeats: config.SilentRepeats,
		images: map[string]*Image{}, templates: map[string]*launchTemplate{}, instances: map[string]*instance{},
		tokens:  map[string]*tokenUse{},
		fleets:  map[string]*madeFleet{},
		pending: map[*grant]struct{}{}, reservations: map[string]*capacityReservation{},
		placementGroups: map[string]*placementGroup{},
		capacity:        newCapacity(config.Seed), console: func(string) string { return "" },
	}
	s.types = inLocalZones(types, config.LocalZones)
	for i := range s.types {
		s.typeOf[s.types[i].Name] = &s.types[i]
	}
	if config.Machines != nil {
		s.console = config.Machines.ConsoleOutput
	}
	s.vpc = newVPC(&s.identity, config.Region, config.LocalZones)
	s.handlers = s.actions()
	s.outbox = newOutbox(s.deliver)
	return s, nil
}

// Close stops every timer and delivers the pending notices.
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
		return nil, refuse("InvalidAction", "The action %s is not valid for this web service: the local EC2 does not hold it",
			c.Action)
	}
	if err := s.throttled(c.Action); err != nil {
		return nil, err
	}
	failure, done := s.failing(c.Action)
	if failure != nil && !done {
		return nil, failure
	}
	response, err := serve(ctx, c)
	if failure != nil && err == nil {
		return nil, failure
	}
	return response, err
}

type handler func(ctx context.Context, c *wire.Call) (*wire.Response, error)

// answer makes a handler of a method that takes the decoded request and gives the result to encode.
func answer[In any](method func(c *wire.Call, in *In) (any, error)) handler {
	return answerOrRehearse(method, func(*wire.Call, *In) error { return nil })
}

// answerOrRehearse is answer for an action whose dry run checks more than the form of the
// parameters: rehearse finds what the action would refuse.
func answerOrRehearse[In any](method func(c *wire.Call, in *In) (any, error),
	rehearse func(c *wire.Call, in *In) error) handler {
	return func(_ context.Context, c *wire.Call) (*wire.Response, error) {
		in := new(In)
		if err := decode(c, in); err != nil {
			return nil, err
		}
		// The server has asked for the caller's rights by now.
		if c.Form.Get("DryRun") == "true" {
			if err := rehearse(c, in); err != nil {
				return nil, err
			}
			return nil, wire.Errorf(codeDryRunOperation, http.StatusPreconditionFailed,
				"Request would have succeeded, but DryRun flag is set.")
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
		"CancelCapacityReservation":      answer(s.cancelCapacityReservation),
		"CreateCapacityReservation":      answer(s.createCapacityReservation),
		"CreatePlacementGroup":           answer(s.createPlacementGroup),
		"CreateFleet":                    answerOrRehearse(s.createFleet, s.rehearseFleet),
		"CreateLaunchTemplate":           answerOrRehearse(s.createLaunchTemplate, s.rehearseLaunchTemplate),
		"CreateLaunchTemplateVersion":    answer(s.createLaunchTemplateVersion),
		"CreateTags":                     answer(s.createTags),
		"DeleteLaunchTemplate":           answer(s.deleteLaunchTemplate),
		"DeleteTags":                     answer(s.deleteTags),
		"DescribeAvailabilityZones":      answer(s.describeAvailabilityZones),
		"DescribeCapacityReservations":   answer(s.describeCapacityReservations),
		"DescribeFleets":                 answer(s.describeFleets),
		"DescribeImages":                 answer(s.describeImages),
		"DescribeInstanceStatus":         answer(s.describeInstanceStatus),
		"DescribeInstanceTypeOfferings":  answer(s.describeInstanceTypeOfferings),
		"DescribeInstanceTypes":          answer(s.describeInstanceTypes),
		"DescribeInstances":              answer(s.describeInstances),
		"DescribeLaunchTemplates":        answer(s.describeLaunchTemplates),
		"DescribeLaunchTemplateVersions": answer(s.describeLaunchTemplateVersions),
		"DescribePlacementGroups":        answer(s.describePlacementGroups),
		"DescribeReservedInstances":      answer(s.describeReservedInstances),
		"DescribeRouteTables":            answer(s.describeRouteTables),
		"DescribeSecurityGroups":         answer(s.describeSecurityGroups),
		"DescribeSpotPriceHistory":       answer(s.describeSpotPriceHistory),
		"DescribeSubnets":                answer(s.describeSubnets),
		"DescribeVolumes":                answer(s.describeVolumes),
		"DescribeVpcEndpoints":           answer(s.describeVpcEndpoints),
		"DescribeVpcs":                   answer(s.describeVpcs),
		"GetConsoleOutput":               answer(s.getConsoleOutput),
		"RebootInstances":                answer(s.rebootInstances),
		"RunInstances":                   answerOrRehearse(s.runInstances, s.rehearseRun),
		"StartInstances":                 answer(s.startInstances),
		"StopInstances":                  answer(s.stopInstances),
		"TerminateInstances":             answer(s.terminateInstances),
	}
}
