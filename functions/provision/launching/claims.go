package launching

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/events/own"
	"github.com/whittle-dev/whittle/functions/provision/attempt"
	"github.com/whittle-dev/whittle/functions/provision/intent"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/launch"
)

// parallelWrites is how many objects are written at once.
const parallelWrites = 16

// inParallel calls write for the indexes from 0 to count-1, some at once, and returns their errors.
// One failure stops no other.
func inParallel(count int, write func(i int) error) error {
	failures := make([]error, count)
	var group errgroup.Group
	group.SetLimit(parallelWrites)
	for i := range count {
		group.Go(func() error {
			failures[i] = write(i)
			return nil
		})
	}
	_ = group.Wait() // each write has its own error
	return errors.Join(failures...)
}

// Create completes new claims and writes them: the intent, before anything is asked of EC2. It
// returns the stored claims in the order of claims, with nil for one that could not be written.
func (l *Launcher) Create(
	ctx context.Context, claims []api.NodeClaim, in intent.Context,
) ([]*api.NodeClaim, error) {
	unprepared := intent.Prepare(claims, in)
	stored := make([]*api.NodeClaim, len(claims))
	frozen, err := l.frozen(ctx, claims)
	if err != nil {
		return stored, err
	}
	uncreated := inParallel(len(claims), func(i int) error {
		if frozen[claims[i].Labels[api.NodePoolLabelKey]] {
			return nil
		}
		created, err := l.Client.CreateNodeClaim(ctx, &claims[i])
		if err != nil {
			return fmt.Errorf("creating a nodeclaim of nodepool %q: %w", claims[i].Labels[api.NodePoolLabelKey], err)
		}
		stored[i] = created
		return nil
	})
	for _, claim := range stored {
		if claim != nil {
			l.Tokens.add(launch.Token(claim))
		}
	}
	return stored, errors.Join(uncreated, unprepared)
}

// frozen returns the pools of the claims whose launches a person has frozen since the plan.
func (l *Launcher) frozen(ctx context.Context, claims []api.NodeClaim) (map[string]bool, error) {
	pools := map[string]bool{}
	for i := range claims {
		pool := claims[i].Labels[api.NodePoolLabelKey]
		if _, known := pools[pool]; known {
			continue
		}
		held, err := l.Frozen(ctx, pool)
		if err != nil {
			return nil, err
		}
		if pools[pool] = held != nil; held != nil {
			slog.InfoContext(ctx, "a freeze holds new nodeclaims", "NodePool", pool, "because", held.String())
		}
	}
	return pools, nil
}

// separate takes the claims of a batch out of it, so that each is launched with a token of its own.
func (r *round) separate(ctx context.Context, group *attempt.Group) followed {
	slog.WarnContext(ctx, "a batch is launched one by one: its writing was cut off, or a nodeclaim of it was deleted",
		"batch", group.ID, "nodeclaims", len(group.Waiting), "of", group.Size)
	groups, err := r.repatch(ctx, group.Waiting, attempt.Memory{LeaveBatch: true})
	came := failed(err)
	for _, one := range groups {
		came.tries = append(came.tries, try{claims: one, repeat: true, unlessStopped: true})
	}
	return came
}

// remember writes on the claims what the next pass must know. Their groups follow if they are to be
// launched at once.
func (r *round) remember(ctx context.Context, step attempt.Remember) followed {
	groups, err := r.repatch(ctx, step.Claims, step.Memory)
	came := failed(err)
	if step.AtOnce {
		for _, group := range groups {
			came.tries = append(came.tries, try{claims: group})
		}
	}
	return came
}

// repatch writes the memory on the claims and returns them in their groups. It leaves out claims that
// have changed or gone since they were read. A new token is this pass's own, as that of a new claim.
func (l *Launcher) repatch(ctx context.Context, claims []api.NodeClaim, memory attempt.Memory) ([]launch.Group, error) {
	stored := make([]*api.NodeClaim, len(claims))
	err := inParallel(len(claims), func(i int) (err error) {
		stored[i], err = l.Client.PatchNodeClaim(ctx, claims[i].Name, memory.Patch(&claims[i]))
		return cluster.IgnoreStale(err)
	})
	var changed []api.NodeClaim
	for _, claim := range stored {
		if claim != nil {
			changed = append(changed, *claim)
		}
	}
	groups := launch.Groups(changed)
	if memory.NextToken || memory.LeaveBatch {
		for i := range groups {
			l.Tokens.add(groups[i].Token)
		}
	}
	return groups, err
}

// hold makes sure that the claims have their finalizer. It leaves out claims that have changed or
// gone since they were read.
func (l *Launcher) hold(ctx context.Context, claims []api.NodeClaim) ([]api.NodeClaim, error) {
	var held []api.NodeClaim
	for i := range claims {
		patch := attempt.Hold(&claims[i])
		if patch == nil {
			held = append(held, claims[i])
			continue
		}
		stored, err := l.Client.PatchNodeClaim(ctx, claims[i].Name, patch)
		if err == nil {
			held = append(held, *stored)
		} else if cluster.IgnoreStale(err) != nil {
			return nil, err
		}
	}
	return held, nil
}

// writeInstances writes instances on their claims.
func (r *round) writeInstances(ctx context.Context, step attempt.WriteInstances) followed {
	stored := make([]*api.NodeClaim, len(step.Assignments))
	err := inParallel(len(stored), func(i int) (err error) {
		stored[i], err = r.writeInstance(ctx, &step.Assignments[i])
		return err
	})
	launched := slices.DeleteFunc(stored, func(claim *api.NodeClaim) bool { return claim == nil })
	return followed{outcome: outcome{launched: launched, failed: err}}
}

// writeInstance writes an instance on its claim, and returns the claim as it is then.
func (l *Launcher) writeInstance(ctx context.Context, in *attempt.Assignment) (*api.NodeClaim, error) {
	stored, err := l.Client.PatchNodeClaim(ctx, in.Claim.Name, in.Metadata)
	if err == nil {
		stored, err = l.Client.PatchNodeClaimStatus(ctx, in.Claim.Name, in.Status(stored, l.Now()))
	}
	if err != nil {
		return nil, fmt.Errorf("writing instance %s on nodeclaim %q: %w", in.Instance.ID, in.Claim.Name, err)
	}
	slog.InfoContext(ctx, "launched nodeclaim", "NodeClaim", in.Claim.Name, "provider-id", in.Instance.ProviderID(),
		"instance-type", in.Instance.Type, "zone", in.Instance.Zone, "capacity-type", in.Instance.CapacityType,
		"price", in.Price, "savings", in.Savings.PerHour, "savings-fraction", in.Savings.Fraction)
	l.Record(cluster.Event{
		About: disruption.AboutClaim(stored), Type: corev1.EventTypeNormal, Reason: api.ConditionTypeLaunched,
		Message: fmt.Sprintf("Launched %s, %s in %s, $%.4f/h", in.Instance.Type, in.Instance.CapacityType, in.Instance.Zone,
			in.Price),
	})
	l.Published.Add(own.NodeLaunched{
		Head: own.HeadOf(l.Cluster), InstanceType: in.Instance.Type, Zone: in.Instance.Zone,
		CapacityType: in.Instance.CapacityType, PricePerHour: in.Price, Node: own.Node{
			NodeClaim: in.Claim.Name, NodePool: in.Claim.Labels[api.NodePoolLabelKey], InstanceID: in.Instance.ID,
		},
	})
	return stored, nil
}

// GiveUp deletes claims. Claims that certainly have no instance lose their finalizer first.
func (l *Launcher) GiveUp(ctx context.Context, step attempt.GiveUp) error {
	claims := step.Claims
	var others []string
	for i := range claims[1:] {
		others = append(others, claims[i+1].Name)
	}
	slog.WarnContext(ctx, "giving up nodeclaim",
		"NodeClaim", claims[0].Name, "others", others, "reason", step.Reason, "error", step.Message)
	l.warn(disruption.AboutClaim(&claims[0]), step.Reason, step.Message)
	return inParallel(len(claims), func(i int) error {
		claim := &claims[i]
		if step.Certain {
			_, err := l.Client.PatchNodeClaim(ctx, claim.Name, attempt.Release(claim))
			if err := cluster.IgnoreStale(err); err != nil {
				return err
			}
		}
		return l.Client.DeleteNodeClaim(ctx, claim.Name, claim.UID)
	})
}
