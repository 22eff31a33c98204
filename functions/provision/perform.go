package provision

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/events/own"
	"github.com/whittle-dev/whittle/functions/provision/attempt"
	"github.com/whittle-dev/whittle/functions/provision/intent"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/status"
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

// create writes new claims: the intent, before anything is asked of EC2. It returns the stored
// claims in the order of claims, with nil for one that could not be written.
func (r *pass) create(ctx context.Context, snapshot *plan.Snapshot, claims []api.NodeClaim) ([]*api.NodeClaim, error) {
	unprepared := intent.Prepare(claims, intent.Context{
		Pools: r.poolsOf(snapshot),
		Types: func(claim *api.NodeClaim) []catalog.InstanceType {
			return typesFor(claim, snapshot, r.view.Offer.ClassTypes)
		},
		NewID: newBatchID,
	})
	stored := make([]*api.NodeClaim, len(claims))
	uncreated := inParallel(len(claims), func(i int) error {
		created, err := r.client.CreateNodeClaim(ctx, &claims[i])
		if err != nil {
			return fmt.Errorf("creating a nodeclaim of nodepool %q: %w", claims[i].Labels[api.NodePoolLabelKey], err)
		}
		stored[i] = created
		return nil
	})
	for _, claim := range stored {
		if claim != nil {
			r.fresh.add(launch.Token(claim))
		}
	}
	return stored, errors.Join(uncreated, unprepared)
}

// separate takes the claims of a batch out of it, so that each is launched with a token of its own.
func (r *pass) separate(ctx context.Context, group *attempt.Group) ([]launch.Group, error) {
	slog.WarnContext(ctx, "a batch is launched one by one: its writing was cut off, or a nodeclaim of it was deleted",
		"batch", group.ID, "nodeclaims", len(group.Waiting), "of", group.Size)
	return r.repatch(ctx, group.Waiting, attempt.Memory{LeaveBatch: true})
}

// repatch writes the memory on the claims and returns them in their groups. It leaves out claims that
// have changed or gone since they were read. A new token is this pass's own, as that of a new claim.
func (r *pass) repatch(ctx context.Context, claims []api.NodeClaim, memory attempt.Memory) ([]launch.Group, error) {
	changed := make([]*api.NodeClaim, len(claims))
	err := inParallel(len(claims), func(i int) error {
		stored, err := r.client.PatchNodeClaim(ctx, claims[i].Name, memory.Patch(&claims[i]))
		if err != nil {
			return ignoreMoved(err)
		}
		changed[i] = stored
		return nil
	})
	groups := launch.Groups(present(changed))
	if memory.NextToken || memory.LeaveBatch {
		for i := range groups {
			r.fresh.add(groups[i].Token)
		}
	}
	return groups, err
}

// hold makes sure that the claims have their finalizer. It leaves out claims that have changed or
// gone since they were read.
func (r *pass) hold(ctx context.Context, claims []api.NodeClaim) ([]api.NodeClaim, error) {
	var held []api.NodeClaim
	for i := range claims {
		patch := attempt.Hold(&claims[i])
		if patch == nil {
			held = append(held, claims[i])
			continue
		}
		stored, err := r.client.PatchNodeClaim(ctx, claims[i].Name, patch)
		if err == nil {
			held = append(held, *stored)
		} else if ignoreMoved(err) != nil {
			return nil, err
		}
	}
	return held, nil
}

// writeInstance writes an instance on its claim, and returns the claim as it is then.
func (r *pass) writeInstance(ctx context.Context, in *attempt.Assignment) (*api.NodeClaim, error) {
	if _, err := r.client.PatchNodeClaim(ctx, in.Claim.Name, in.Metadata); err != nil {
		return nil, fmt.Errorf("writing instance %s on nodeclaim %q: %w", in.Instance.ID, in.Claim.Name, err)
	}
	stored, err := r.client.PatchNodeClaimStatus(ctx, in.Claim.Name, in.Status)
	if err != nil {
		return nil, fmt.Errorf("writing instance %s on nodeclaim %q: %w", in.Instance.ID, in.Claim.Name, err)
	}
	slog.InfoContext(ctx, "launched nodeclaim", "NodeClaim", in.Claim.Name, "provider-id", in.Instance.ProviderID(),
		"instance-type", in.Instance.Type, "zone", in.Instance.Zone, "capacity-type", in.Instance.CapacityType,
		"price", in.Price, "savings", in.Savings.PerHour, "savings-fraction", in.Savings.Fraction)
	r.published.Add(own.NodeLaunched{
		Head: own.HeadOf(r.cluster), InstanceType: in.Instance.Type, Zone: in.Instance.Zone,
		CapacityType: in.Instance.CapacityType, PricePerHour: in.Price, Node: own.Node{
			NodeClaim: in.Claim.Name, NodePool: in.Claim.Labels[api.NodePoolLabelKey], InstanceID: in.Instance.ID,
		},
	})
	return stored, nil
}

// measure counts the launches, and how long after its claim was written each was made.
func (r *pass) measure(launched []*api.NodeClaim) {
	if len(launched) == 0 {
		return
	}
	took := metrics.Value{Name: metrics.LaunchSeconds}
	for _, claim := range launched {
		took.Numbers = append(took.Numbers, r.now().Sub(claim.CreationTimestamp.Time).Seconds())
	}
	r.metrics.Write(metrics.Count(metrics.Launches, float64(len(launched))), took)
}

// reportFailure reports a failed attempt on its claims. The launch does not depend on it, so that a
// claim that cannot be written is only logged.
func (r *pass) reportFailure(ctx context.Context, step attempt.ReportFailure) {
	claims := step.Claims
	level := slog.LevelInfo
	if !step.Expected {
		level = slog.LevelWarn
		r.metrics.Write(metrics.Count(metrics.LaunchFailures, float64(len(claims))))
		r.recordWarning(disruption.AboutClaim(&claims[0]), step.Reason, step.Message)
		failed := own.LaunchFailed{
			Head: own.HeadOf(r.cluster), NodePool: claims[0].Labels[api.NodePoolLabelKey],
			Reason: step.Reason, Message: step.Message,
		}
		for i := range claims {
			failed.NodeClaims = append(failed.NodeClaims, claims[i].Name)
		}
		r.published.Add(failed)
	}
	slog.Log(ctx, level, "failed launching nodeclaim",
		"NodeClaim", claims[0].Name, "nodeclaims", len(claims), "reason", step.Reason, "error", step.Message)
	_ = inParallel(len(claims), func(i int) error {
		claim := &claims[i]
		patch := attempt.FailureStatus(claim, step.Reason, step.Message, r.now())
		if patch == nil {
			return nil
		}
		stored, err := r.client.PatchNodeClaimStatus(ctx, claim.Name, patch)
		if err == nil {
			*claim = *stored
		} else if ignoreMoved(err) != nil {
			slog.WarnContext(ctx, "the status of a nodeclaim is not written", "NodeClaim", claim.Name, "error", err)
		}
		return nil
	})
}

// giveUp deletes claims. Claims that certainly have no instance lose their finalizer first.
func (r *pass) giveUp(ctx context.Context, step attempt.GiveUp) error {
	claims := step.Claims
	var others []string
	for i := range claims[1:] {
		others = append(others, claims[i+1].Name)
	}
	slog.WarnContext(ctx, "giving up nodeclaim",
		"NodeClaim", claims[0].Name, "others", others, "reason", step.Reason, "error", step.Message)
	r.recordWarning(disruption.AboutClaim(&claims[0]), step.Reason, step.Message)
	return inParallel(len(claims), func(i int) error {
		claim := &claims[i]
		if step.Certain {
			_, err := r.client.PatchNodeClaim(ctx, claim.Name, attempt.Release(claim))
			if err := ignoreMoved(err); err != nil {
				return err
			}
		}
		return r.client.DeleteNodeClaim(ctx, claim.Name, claim.UID)
	})
}

func (r *pass) recordWarning(about corev1.ObjectReference, reason, message string) {
	r.record(warning(about, reason, message))
}

// refuseClass writes on a class which of its conditions is not true.
func (r *pass) refuseClass(ctx context.Context, name string, step attempt.RefuseClass) {
	r.updateClass(ctx, name, func(class *api.EC2NodeClass) ([]metav1.Condition, bool) {
		r.recordWarning(aboutClass(class), step.Reason, step.Message)
		return nodeclass.Refuse(class, nodeclass.Refusal{
			Condition: step.Condition, Reason: api.ReasonLaunchRefused, Message: attempt.Cut(step.Message),
		}, r.now())
	})
}

// clearRefusal takes back what refuseClass wrote.
func (r *pass) clearRefusal(ctx context.Context, name string) {
	r.updateClass(ctx, name, func(class *api.EC2NodeClass) ([]metav1.Condition, bool) {
		return nodeclass.ClearRefusals(class, r.now())
	})
}

// updateClass changes the conditions of a class. It reads the class again, because this pass may
// have written it. On a conflict the other writer has seen the same facts. The launch does not
// depend on the status, so that a failure is only logged.
func (r *pass) updateClass(
	ctx context.Context, name string, conditionsOf func(*api.EC2NodeClass) ([]metav1.Condition, bool),
) {
	classes, err := r.client.NodeClasses(ctx)
	for i := range classes {
		class := &classes[i]
		if class.Name != name {
			continue
		}
		conditions, changed := conditionsOf(class)
		if !changed {
			return
		}
		_, err = r.client.PatchNodeClassStatus(ctx, class.Name, map[string]any{
			"metadata": map[string]any{"resourceVersion": class.ResourceVersion},
			"status":   map[string]any{"conditions": conditions},
		})
	}
	if ignoreMoved(err) != nil {
		slog.WarnContext(ctx, "the status of an ec2nodeclass is not written", "EC2NodeClass", name, "error", err)
	}
}

// writeOverlays writes the statuses of NodeOverlays. The plan does not depend on them, so that a
// failure is only logged.
func (r *pass) writeOverlays(ctx context.Context, statuses []overlayStatus) {
	for _, one := range statuses {
		if one.problem != "" {
			slog.WarnContext(ctx, "nodeoverlay is ignored",
				"NodeOverlay", one.name, "reason", one.reason, "error", one.problem)
		}
		if err := r.client.PatchNodeOverlayStatus(ctx, one.name, one.patch); err != nil {
			slog.WarnContext(ctx, "the status of a nodeoverlay is not written", "NodeOverlay", one.name, "error", err)
		}
	}
}

// publish writes the last plan of the look into the status, for people. The pods have their nodes
// by then, so that a failure is only logged.
func (r *pass) publish(ctx context.Context) {
	if r.shown == nil {
		return
	}
	if err := status.PutPlan(context.WithoutCancel(ctx), r.client, *r.shown); err != nil {
		slog.WarnContext(ctx, "the plan is not shown in the status", "error", err)
	}
}

// ignoreMoved drops the error about an object that has changed or gone since it was read.
func ignoreMoved(err error) error {
	if cluster.IsConflict(err) || cluster.IsGone(err) {
		return nil
	}
	return err
}
