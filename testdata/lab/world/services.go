package world

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/arc"
	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
	"github.com/whittle-dev/whittle/testdata/lab/cloudwatch"
	"github.com/whittle-dev/whittle/testdata/lab/dashboard"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/eks"
	"github.com/whittle-dev/whittle/testdata/lab/eventbridge"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/lambda"
	"github.com/whittle-dev/whittle/testdata/lab/logs"
	"github.com/whittle-dev/whittle/testdata/lab/machine"
	"github.com/whittle-dev/whittle/testdata/lab/pricing"
	"github.com/whittle-dev/whittle/testdata/lab/quotas"
	"github.com/whittle-dev/whittle/testdata/lab/s3"
	"github.com/whittle-dev/whittle/testdata/lab/savingsplans"
	"github.com/whittle-dev/whittle/testdata/lab/scheduler"
	"github.com/whittle-dev/whittle/testdata/lab/sqs"
	"github.com/whittle-dev/whittle/testdata/lab/ssm"
	"github.com/whittle-dev/whittle/testdata/lab/steering"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// bootstrapQualifier is CDK's own: `cdk bootstrap` uses it in the names of its resources.
const bootstrapQualifier = "hnb659fds"

// memoryOverhead is the share of a machine's memory that its node does not have.
const memoryOverhead = 0.07

// services creates the account with all its services and opens its endpoint.
func (w *World) services(log *slog.Logger) error {
	var err error
	w.server = wire.NewServer()
	if takes := w.options.Latency.AWS; takes != nil {
		w.server.Delay(takes)
	}
	w.closers = append(w.closers, w.server.Close)
	if w.identity, err = identity.New(AccountID, Region); err != nil {
		return err
	}
	if err := w.identity.Bootstrap(bootstrapQualifier); err != nil {
		return err
	}
	objects, err := s3.New(filepath.Join(w.options.Directory, "s3"),
		s3.BootstrapBucket(bootstrapQualifier, AccountID, Region))
	if err != nil {
		return err
	}
	parameters := ssm.New(AccountID, Region)
	parameters.Bootstrap(bootstrapQualifier)

	w.logs = logs.New(AccountID, Region)
	w.alarms = cloudwatch.New()
	w.alarms.People = cloudwatch.People{AccountID: AccountID, Region: Region}
	for _, name := range w.options.Alarms {
		w.alarms.Make(name, true)
	}
	queues := sqs.Options{AccountID: AccountID, Region: Region, Endpoint: w.server.URL}
	var jitter scheduler.Jitter
	var delivery eventbridge.Delivery
	if mode := w.options.Unkind; mode != nil {
		queues.Delivery, jitter, delivery = mode.Delivery(), mode.Jitter(), mode.Events()
		w.identity.SetPropagation(mode.Propagation())
		w.server.SetFaults(mode.Faults())
	}
	w.queues = sqs.New(queues)
	w.closers = append(w.closers, w.queues.Close)
	clockOf, err := w.makeClocks()
	if err != nil {
		return err
	}
	w.Lambda = lambda.New(lambda.Options{
		AccountID: AccountID, Region: Region, Directory: filepath.Join(w.options.Directory, "lambda"), Endpoint: w.server.URL,
		Objects: objects, Sessions: w.identity, Queues: w.queues, Logs: w.logs, Access: w.identity, Clock: clockOf,
	})
	w.closers = append(w.closers, w.Lambda.Close)
	bus := eventbridge.New(eventbridge.Options{
		AccountID: AccountID, Region: Region, Queues: w.queues, Delivery: delivery,
	})
	w.closers = append(w.closers, bus.Close)
	w.bus, w.alarms.People.Announce = bus, func(ctx context.Context, change cloudwatch.Change) {
		bus.Put(ctx, eventbridge.Event{
			Source: "aws.cloudwatch", DetailType: "CloudWatch Alarm State Change", Time: change.Time,
			Resources: []string{change.ARN}, Detail: change.Detail,
		})
	}
	schedules := scheduler.New(scheduler.Options{
		AccountID: AccountID, Region: Region, Queues: w.queues, Functions: w.Lambda, Access: w.identity,
		Jitter: jitter,
	})
	w.closers = append(w.closers, schedules.Close)

	if err := w.machines(log, parameters, bus); err != nil {
		return err
	}
	w.Quotas = quotas.New()
	w.ARC = arc.New("use1-az1", "use1-az2", "use1-az3")
	if w.SavingsPlans, err = savingsplans.New(AccountID, Region); err != nil {
		return err
	}
	prices, err := pricing.New(Region, nil)
	if err != nil {
		return err
	}
	w.stacks = cloudformation.New(cloudformation.Config{
		AccountID: AccountID, Region: Region,
		Templates: objects, Functions: installer{w.Lambda}, BaseURL: w.server.URL,
	})
	w.closers = append(w.closers, w.stacks.Close)

	for _, service := range []interface{ Register(*wire.Server) }{
		w.identity, objects, parameters, w.logs, w.queues, w.Lambda, bus, schedules, w.EC2, w.clusters, prices, w.stacks,
		w.ARC, w.Quotas, w.SavingsPlans, w.alarms, steering.New(w.EC2, w.Machines),
	} {
		service.Register(w.server)
	}
	for _, service := range []interface {
		RegisterTypes(*cloudformation.Service)
	}{w.identity, w.logs, w.queues, w.Lambda, bus, schedules, w.EC2, w.clusters, w.alarms} {
		service.RegisterTypes(w.stacks)
	}
	page, err := dashboard.Handler(w.options.Cluster, w.console)
	if err != nil {
		return err
	}
	w.server.Mount(dashboard.Path, page)
	w.server.Observe(w.observe)
	_, err = w.server.Listen()
	return err
}

// machines creates EC2, the machines behind its instances, and EKS.
func (w *World) machines(log *slog.Logger, parameters *ssm.Service, bus *eventbridge.Service) error {
	timing := machine.FastTiming()
	timing.Boot, timing.BootMost = w.options.Boot, w.options.BootMost
	mode := w.options.Unkind
	if mode != nil {
		timing = mode.Machines(timing)
	}
	var err error
	w.Machines, err = machine.New(machine.Config{
		Region: Region, Sessions: w.identity, Timing: timing, MemoryOverhead: memoryOverhead,
		Logger: log.With("part", "machine"),
	})
	if err != nil {
		return err
	}
	w.closers = append(w.closers, w.Machines.Close)
	instances := ec2.Config{
		AccountID: AccountID, Region: Region, Machines: w.Machines, Events: eventsOf{bus}, InstanceProfiles: w.identity,
		Parameters: parameters,
		Timing: ec2.Timing{
			Pending: time.Second, ShuttingDown: cmp.Or(w.options.Ending, time.Second), Stopping: time.Second,
		},
		Logger: log.With("part", "ec2"),
	}
	clusters := eks.Config{AccountID: AccountID, Region: Region, Verifier: w.identity}
	if mode != nil {
		instances, clusters = mode.EC2(instances), mode.EKS(clusters)
	}
	if w.EC2, err = ec2.New(instances); err != nil {
		return err
	}
	w.closers = append(w.closers, w.EC2.Close)
	w.identity.SetResourceTags(w.EC2.ResourceTags)
	clusters.Instances = w.EC2
	w.clusters, err = eks.New(clusters)
	return err
}

// installer invokes the functions of custom resources and waits for them. A function that fails
// before it answers fails the stack at once.
type installer struct{ functions *lambda.Service }

func (i installer) InvokeAsync(ctx context.Context, functionARN string, payload []byte) error {
	_, failure, err := i.functions.Invoke(ctx, functionARN, payload)
	if err == nil && failure != "" {
		err = fmt.Errorf("function %s failed: %s", functionARN, failure)
	}
	return err
}

// eventsOf puts EC2's events on the bus.
type eventsOf struct{ bus *eventbridge.Service }

func (e eventsOf) Put(ctx context.Context, event ec2.Event) {
	detail, err := json.Marshal(event.Detail)
	if err != nil {
		slog.Error("an event of EC2 is lost", "detail-type", event.DetailType, "error", err)
		return
	}
	e.bus.Put(ctx, eventbridge.Event{
		Source: event.Source, DetailType: event.DetailType, Time: event.Time, Resources: event.Resources, Detail: detail,
	})
}

// observe records fleet calls and refused calls.
func (w *World) observe(call wire.CallRecord) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.count(call)
	if call.Service == "ec2" && call.Action == "CreateFleet" {
		w.fleetCalls = append(w.fleetCalls, call.Time)
	}
	if call.Status < 400 {
		return
	}
	w.slog.Warn("call failed", "service", call.Service, "action", call.Action, "caller", call.CallerARN, "code",
		call.ErrorCode, "error", call.ErrorMessage)
	// A right that depends on an object's tags ends with the object. So IAM refuses the second deletion,
	// by the repetition of a call whose answer was lost or by another invocation.
	if slices.Contains([]string{"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}, call.ErrorCode) &&
		!strings.Contains(call.ErrorMessage, identity.NotInForce) &&
		!strings.Contains(call.ErrorMessage, identity.NoResource) {
		w.refusals = append(w.refusals,
			fmt.Sprintf("%s %s by %s: %s", call.Service, call.Action, call.CallerARN, call.ErrorMessage))
	}
}

// Refusals returns the calls that the caller's policies did not allow.
func (w *World) Refusals() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.Clone(w.refusals)
}

// FleetCalls returns the times of CreateFleet calls.
func (w *World) FleetCalls() []time.Time {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.Clone(w.fleetCalls)
}
