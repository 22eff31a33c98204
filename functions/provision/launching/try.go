package launching

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/whittle-dev/whittle/functions/provision/attempt"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/launch"
)

// try is one attempt to make for a group.
type try struct {
	claims launch.Group
	// repeat allows one more attempt at once.
	repeat bool
	// unlessStopped leaves the try to the next pass once the round is stopped.
	unlessStopped bool
}

// subject is what the steps of a try are about.
type subject struct {
	Source
	group *attempt.Group
	// repeat allows one more attempt at once.
	repeat bool
}

// followed is what follows from a step.
type followed struct {
	outcome
	// steps are the group's next ones. They come before those that are left.
	steps []attempt.Step
	// tries are the groups to launch next.
	tries []try
	// answered is set by a step that got EC2's answer. Failure is the error of that answer.
	answered bool
	failure  error
}

func failed(err error) followed { return followed{outcome: outcome{failed: err}} }

// launch makes an attempt for the group, and those that follow from it.
func (r *round) launch(ctx context.Context, claims launch.Group) outcome {
	var all outcome
	for tries := []try{{claims: claims, repeat: true}}; len(tries) > 0; {
		next := tries[0]
		tries = tries[1:]
		if next.unlessStopped && r.stopped(ctx) != nil {
			continue
		}
		came, more := r.attempt(ctx, next)
		tries = append(more, tries...)
		all = join(all, came)
	}
	return all
}

// attempt makes one attempt, and returns the tries that follow.
func (r *round) attempt(ctx context.Context, next try) (all outcome, tries []try) {
	in := r.subjectOf(next)
	var failure error
	for steps := attempt.Begin(in.group, in.Class, r.Now()); len(steps) > 0; {
		came := r.carryOut(ctx, in, steps[0], failure)
		steps = append(came.steps, steps[1:]...)
		if came.answered {
			// What EC2 answered is written down in the reserve if need be, because instances run by then.
			ctx, failure = context.WithoutCancel(ctx), came.failure
		}
		if fleet.IsThrottled(came.failed) {
			r.throttled.Store(true)
		}
		tries = append(tries, came.tries...)
		all = join(all, came.outcome)
	}
	return all, tries
}

func (r *round) subjectOf(next try) subject {
	return subject{
		Source: r.facts.SourceOf(&next.claims.Waiting[0]),
		group:  &attempt.Group{Group: next.claims, Fresh: r.Tokens.has(next.claims.Token)},
		repeat: next.repeat,
	}
}

// carryOut carries out one step. The failure is that of EC2's answer.
func (r *round) carryOut(ctx context.Context, in subject, step attempt.Step, failure error) followed {
	switch step := step.(type) {
	case attempt.Request:
		return r.request(ctx, in)
	case attempt.Find:
		return r.find(ctx, in, step)
	case attempt.Separate:
		return r.separate(ctx, in.group)
	case attempt.Remember:
		return r.remember(ctx, step)
	case attempt.WriteInstances:
		return r.writeInstances(ctx, step)
	case attempt.GiveUp:
		return failed(r.GiveUp(ctx, step))
	case attempt.Fail:
		return failed(failure)
	case attempt.PlanAgain:
		return followed{outcome: outcome{short: true}}
	default:
		r.report(ctx, in, step)
	}
	return followed{}
}

// report carries out a step whose failure stops no other, and is no failure of the pass.
func (r *round) report(ctx context.Context, in subject, step attempt.Step) {
	switch step := step.(type) {
	case attempt.LeaveOut:
		r.shortages.leaveOut(step.Short, r.Now())
	case attempt.ClearRefusal:
		r.clearRefusal(ctx, in.Class.Name)
	case attempt.RefuseClass:
		r.refuseClass(ctx, in.group.Waiting[0].Spec.NodeClassRef.Name, step)
	case attempt.ReportFailure:
		r.reportFailure(ctx, step)
	case attempt.Record:
		r.warn(step.About, step.Reason, step.Message)
	}
}

// request builds the group's request and sends it to EC2.
func (r *round) request(ctx context.Context, in subject) followed {
	request, err := r.Addresses.build(launch.Input{
		Claim: in.group.Claim(), Class: in.Class, Types: in.Types, Cluster: r.facts.Joined,
		Unavailable: r.shortages.unavailable(), Now: r.Now(),
	})
	if errors.Is(err, launch.ErrNoOffering) {
		return followed{steps: attempt.NoOffering(in.group, err.Error(), r.Now())}
	}
	if err != nil {
		return followed{steps: attempt.Unbuildable(in.group, err.Error()), outcome: outcome{failed: err}}
	}
	held, err := r.hold(ctx, in.group.Waiting)
	if err == nil {
		err = cluster.LeaseEnded(ctx)
	}
	if err == nil && len(held) > 0 {
		held, err = r.unfrozen(ctx, held)
	}
	if err != nil || len(held) == 0 {
		r.Addresses.settle(&request, nil)
		return failed(err)
	}
	in.group.Waiting = held
	request.Repeated = !in.group.Fresh
	r.Tokens.remove(in.group.Token)
	answer, err := r.Fleet.Launch(ctx, request)
	r.Addresses.settle(&request, countBySubnet(answer.Instances))
	if err != nil && ctx.Err() != nil {
		return failed(err)
	}
	if err == nil && answer.Refused != nil && len(answer.Instances) == 0 && r.leavesNothing(in, answer.Short) {
		// The class may launch nothing at all, so its condition says so. The claims stay, to try again.
		answer.Short, err = nil, fmt.Errorf("%s: %w: %w", request.Name, fleet.ErrRefused, answer.Refused)
	}
	return r.answered(in, answer, err)
}

// unfrozen returns the claims, or none where a freeze holds their launch. It is the last look
// before EC2 is asked. Claims that are held stay: a later pass launches them, or their time ends.
func (r *round) unfrozen(ctx context.Context, claims []api.NodeClaim) ([]api.NodeClaim, error) {
	pool := claims[0].Labels[api.NodePoolLabelKey]
	frozen, err := r.Frozen(ctx, pool)
	if err != nil {
		return nil, err
	}
	if frozen == nil {
		return claims, nil
	}
	slog.InfoContext(ctx, "a freeze holds a launch", "NodeClaim", claims[0].Name, "nodeclaims", len(claims),
		"NodePool", pool, "because", frozen.String())
	return nil, nil
}

// leavesNothing notes what is left out, unless the class then has no available offering, which it
// reports.
func (r *round) leavesNothing(in subject, short []fleet.Shortage) bool {
	now := r.Now()
	return r.shortages.leaveOutUnless(func(out *catalog.Unavailable) bool {
		for i := range in.Types {
			for j := range in.Types[i].Offerings {
				o := &in.Types[i].Offerings[j]
				if o.Available && !out.HasFor(in.Class, o.CapacityType, in.Types[i].Name, o.Zone, now) {
					return false
				}
			}
		}
		return true
	}, shortagesOf(short), now)
}

// find lists the instances of an earlier request for the group.
func (r *round) find(ctx context.Context, in subject, step attempt.Find) followed {
	listed, err := r.Fleet.InstancesOf(ctx, &in.group.Waiting[0])
	if err != nil {
		return failed(err)
	}
	if len(listed) == 0 {
		return followed{steps: step.NotFound}
	}
	answer := found(listed)
	return r.answered(in, answer, unseen(answer, in.group))
}

// found is the answer that the instances of an earlier request are.
func found(listed []fleet.Instance) fleet.Outcome {
	running := slices.DeleteFunc(slices.Clone(listed), func(i fleet.Instance) bool { return i.State == "shutting-down" })
	return fleet.Outcome{Instances: running, Earlier: true}
}

// unseen is the failure of an earlier request that shows fewer instances than the group waits for.
func unseen(answer fleet.Outcome, group *attempt.Group) error {
	if len(answer.Instances) >= len(group.Waiting) {
		return nil
	}
	return fmt.Errorf("%s: %w", group.Token, fleet.ErrUnseen)
}

// answered asks what comes of EC2's answer.
func (r *round) answered(in subject, answer fleet.Outcome, failure error) followed {
	steps, err := attempt.Answered(attempt.Launched{
		Group: in.group, Class: in.Class, Types: in.Types, Owned: r.facts.Owned, Repeat: in.repeat,
		Pool:                 in.Pool,
		CertificateAuthority: r.Client.CertificateAuthority(),
	}, answerOf(answer, failure), r.Now())
	return followed{steps: steps, answered: true, failure: failure, outcome: outcome{failed: err}}
}
