package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/whittle-dev/whittle/functions/provision/attempt"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/plan"
)

// parallelLaunches is how many fleets are asked for at once. EC2 allows a few calls a second.
const parallelLaunches = 4

// errThrottled ends a round of launches after EC2 has throttled one of them.
var errThrottled = errors.New("EC2 asks for fewer calls")

// launchAll makes an attempt for each group, and writes down what comes of it. It returns whether
// EC2 was short of capacity for one of them.
func (r *pass) launchAll(ctx context.Context, snapshot *plan.Snapshot, groups []launch.Group) (short bool, err error) {
	if len(groups) == 0 {
		return false, nil
	}
	r.refreshAddresses(ctx, snapshot.NodeClasses)
	l := &launching{pass: r, snapshot: snapshot, owned: owned(snapshot)}
	var group errgroup.Group
	group.SetLimit(parallelLaunches)
	for i := range groups {
		// The next invocation finds the claims that are left. After throttling EC2 would only
		// refuse them.
		if stop := l.stopped(ctx); stop != nil {
			l.fail(fmt.Errorf("%d of %d launches are left: %w", len(groups)-i, len(groups), stop))
			break
		}
		group.Go(func() error {
			l.launch(ctx, groups[i], true)
			return nil
		})
	}
	_ = group.Wait() // fail gathers the errors: one group's stops no other
	r.measure(l.launched)
	for _, stored := range l.launched {
		r.launched[stored.Name] = stored
		replaceClaim(snapshot, stored)
	}
	if len(l.marks.Until) > 0 {
		// The write may use the reserve: the next invocation must not ask for the same.
		l.fail(inventory.MarkUnavailable(context.WithoutCancel(ctx), r.client, &l.marks, r.now()))
	}
	return l.short, errors.Join(l.failures...)
}

// launching is one round of launches, some at once.
type launching struct {
	pass     *pass
	snapshot *plan.Snapshot
	owned    map[string]bool // instances that claims had when the round began

	mutex     sync.Mutex
	launched  []*api.NodeClaim
	marks     catalog.Unavailable
	short     bool
	throttled bool
	failures  []error
}

// subject is what an attempt is about.
type subject struct {
	group *attempt.Group
	class *api.EC2NodeClass // nil when it does not exist
	types []catalog.InstanceType
	// repeat allows one more attempt at once.
	repeat bool
	// failure is the error of EC2's answer.
	failure error
}

// launch makes one attempt for a group.
func (l *launching) launch(ctx context.Context, claims launch.Group, repeat bool) {
	first := &claims.Waiting[0]
	in := subject{
		group:  &attempt.Group{Group: claims, Fresh: l.pass.fresh.has(claims.Token)},
		class:  classOf(first.Spec.NodeClassRef, l.snapshot.NodeClasses),
		types:  typesFor(first, l.snapshot, l.pass.view.Offer.ClassTypes),
		repeat: repeat,
	}
	l.perform(ctx, in, attempt.Begin(in.group, in.class, l.pass.now()))
}

// perform carries out the steps in their order. It returns the groups that are to be launched once
// more at once.
func (l *launching) perform(ctx context.Context, in subject, steps []attempt.Step) (again []launch.Group) {
	r := l.pass
	for _, step := range steps {
		switch step := step.(type) {
		case attempt.Request:
			l.request(ctx, in)
		case attempt.Find:
			l.find(ctx, in, step)
		case attempt.Separate:
			l.separate(ctx, in)
		case attempt.LeaveOut:
			l.leaveOut(step)
		case attempt.ClearRefusal:
			r.clearRefusal(ctx, in.class.Name)
		case attempt.RefuseClass:
			r.refuseClass(ctx, in.group.Waiting[0].Spec.NodeClassRef.Name, step)
		case attempt.WriteInstances:
			l.writeInstances(ctx, step)
		case attempt.ReportFailure:
			r.reportFailure(ctx, step)
		case attempt.Remember:
			again = l.remember(ctx, step)
		case attempt.GiveUp:
			l.fail(r.giveUp(ctx, step))
		case attempt.Fail:
			l.fail(in.failure)
		case attempt.PlanAgain:
			l.planAgain()
		case attempt.Record:
			r.recordWarning(step.About, step.Reason, step.Message)
		}
	}
	return again
}

// request builds the group's request and sends it to EC2.
func (l *launching) request(ctx context.Context, in subject) {
	r := l.pass
	request, err := r.addresses.build(launch.Input{
		Claim: in.group.Claim(), Class: in.class, Types: in.types, Cluster: *r.joined, Unavailable: l.unavailable(),
		Now: r.now(),
	})
	if errors.Is(err, launch.ErrNoOffering) {
		l.perform(ctx, in, attempt.NoOffering(in.group, err.Error(), r.now()))
		return
	}
	if err != nil {
		l.perform(ctx, in, attempt.Unbuildable(in.group, err.Error()))
		l.fail(err)
		return
	}
	in.group.Waiting, err = r.hold(ctx, in.group.Waiting)
	if err == nil {
		err = cluster.LeaseEnded(ctx)
	}
	if err != nil || len(in.group.Waiting) == 0 {
		l.fail(err)
		r.addresses.settle(&request, nil)
		return
	}
	request.Repeated = !in.group.Fresh
	r.fresh.remove(in.group.Token)
	outcome, err := r.fleet.Launch(ctx, request)
	r.addresses.settle(&request, countBySubnet(outcome.Instances))
	if err != nil && ctx.Err() != nil {
		l.fail(err)
		return
	}
	l.answered(ctx, in, outcome, err)
}

// find lists the instances of an earlier request for the group.
func (l *launching) find(ctx context.Context, in subject, step attempt.Find) {
	found, err := l.pass.fleet.InstancesOf(ctx, &in.group.Waiting[0])
	if err != nil {
		l.fail(err)
		return
	}
	if len(found) == 0 {
		l.perform(ctx, in, step.NotFound)
		return
	}
	running := slices.DeleteFunc(found, func(i fleet.Instance) bool { return i.State == "shutting-down" })
	var unseen error
	if len(running) < len(in.group.Waiting) {
		unseen = fmt.Errorf("%s: %w", in.group.Token, fleet.ErrUnseen)
	}
	l.answered(ctx, in, fleet.Outcome{Instances: running, Earlier: true}, unseen)
}

// answered writes down EC2's answer. It uses the reserve if need be, because instances run by then.
func (l *launching) answered(ctx context.Context, in subject, outcome fleet.Outcome, failure error) {
	in.failure = failure
	steps, err := attempt.Answered(attempt.Launched{
		Group: in.group, Class: in.class, Types: in.types, Owned: l.owned, Repeat: in.repeat,
		Pool:                 poolOf(&in.group.Waiting[0], l.snapshot.NodePools),
		CertificateAuthority: l.pass.client.CertificateAuthority(),
	}, answerOf(outcome, failure), l.pass.now())
	l.fail(err)
	for _, group := range l.perform(context.WithoutCancel(ctx), in, steps) {
		l.launch(ctx, group, false)
	}
}

// separate launches the claims of a batch one by one.
func (l *launching) separate(ctx context.Context, in subject) {
	groups, err := l.pass.separate(ctx, in.group)
	l.fail(err)
	for _, group := range groups {
		if l.stopped(ctx) != nil {
			return
		}
		l.launch(ctx, group, true)
	}
}

// remember writes on the claims what the next pass must know. It returns their groups if they are to
// be launched at once.
func (l *launching) remember(ctx context.Context, step attempt.Remember) []launch.Group {
	groups, err := l.pass.repatch(ctx, step.Claims, step.Memory)
	l.fail(err)
	if !step.AtOnce {
		return nil
	}
	return groups
}

func (l *launching) writeInstances(ctx context.Context, step attempt.WriteInstances) {
	l.fail(inParallel(len(step.Assignments), func(i int) error {
		stored, err := l.pass.writeInstance(ctx, &step.Assignments[i])
		if err == nil {
			l.mutex.Lock()
			l.launched = append(l.launched, stored)
			l.mutex.Unlock()
		}
		return err
	}))
}

// fail gathers errors of the round. Throttling stops the launches that have not begun.
func (l *launching) fail(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.failures = append(l.failures, err)
	l.throttled = l.throttled || fleet.IsThrottled(err)
}

func (l *launching) planAgain() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.short = true
}

// stopped is why no more is asked for in this round. It is nil while the round goes on.
func (l *launching) stopped(ctx context.Context) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.throttled {
		return errThrottled
	}
	return ctx.Err()
}

// leaveOut leaves offerings out of this round and of later launches.
func (l *launching) leaveOut(step attempt.LeaveOut) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, shortage := range step.Short {
		until := l.pass.now().Add(shortage.For)
		l.marks.LeaveOut(shortage.Key, until)
		l.pass.reader.unavailable.LeaveOut(shortage.Key, until)
	}
}

// unavailable are the offerings that EC2 has been short of until now.
func (l *launching) unavailable() *catalog.Unavailable {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.pass.reader.unavailable.Clone()
}

// answerOf is what package attempt decides by.
func answerOf(outcome fleet.Outcome, err error) attempt.Answer {
	answer := attempt.Answer{Earlier: outcome.Earlier}
	for _, instance := range outcome.Instances {
		answer.Instances = append(answer.Instances, attempt.Instance{
			ID: instance.ID, Type: instance.InstanceType, Zone: instance.Zone, CapacityType: instance.CapacityType,
			ReservationID: instance.ReservationID, ImageID: instance.ImageID,
		})
	}
	for _, shortage := range outcome.Short {
		answer.Short = append(answer.Short, attempt.Shortage{
			Key: shortage.Key, For: shortage.For, Code: shortage.Code, Reason: shortage.Reason(), Advice: shortage.Advice(),
		})
	}
	if err == nil {
		return answer
	}
	answer.Failure = &attempt.Failure{
		Message: err.Error(), Ended: errors.Is(err, fleet.ErrRefused), Unseen: errors.Is(err, fleet.ErrUnseen),
	}
	if known := fleet.FailureIn(err); known != nil {
		answer.Failure.Reason, answer.Failure.Class, answer.Failure.Message = known.Reason, known.Condition, known.Error()
	}
	return answer
}

func countBySubnet(instances []fleet.Instance) map[string]int {
	counts := map[string]int{}
	for _, instance := range instances {
		counts[instance.SubnetID]++
	}
	return counts
}
