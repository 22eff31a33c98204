package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/metrics"
)

// refused says on the claims why they have no instance, and makes way for another try.
func (l *launching) refused(ctx context.Context, group launch.Group, claims []api.NodeClaim, failure error) []launch.Group {
	r := l.run
	l.failed(failure)
	unseen := errors.Is(failure, fleet.ErrUnseen)
	if unseen && r.now().Sub(claims[0].CreationTimestamp.Time) >= unseenFor {
		l.giveUp(ctx, claims, api.ReasonLaunchFailed, failure.Error(), false)
		return nil
	}
	reason, message := api.ReasonLaunchFailed, failure.Error()
	known := fleet.FailureIn(failure)
	if known != nil {
		reason, message = known.Reason, known.Error()
		l.refuse(ctx, claims[0].Spec.NodeClassRef, known)
	}
	l.tell(ctx, claims, reason, message)
	if known == nil && !errors.Is(failure, fleet.ErrRefused) {
		return nil // AWS was busy, did not answer, or has not shown what it launched: the same again
	}
	// The same token would give the same answer for as long as EC2 remembers it. A batch
	// stays one only as a whole: its size is part of the request.
	change := func(claim *api.NodeClaim) map[string]any {
		changed := map[string]any{api.AttemptAnnotationKey: strconv.Itoa(attempt(claim) + 1)}
		if group.ID != "" && len(claims) < group.Size {
			changed[api.BatchAnnotationKey] = nil
		}
		return changed
	}
	changed := make([]*api.NodeClaim, len(claims))
	var writing errgroup.Group
	writing.SetLimit(writers)
	for i := range claims {
		writing.Go(func() error {
			var err error
			changed[i], err = r.annotate(ctx, &claims[i], change(&claims[i]))
			l.failed(err)
			return nil
		})
	}
	_ = writing.Wait() // the failures are gathered: one claim's does not stop another's
	return launch.Groups(present(changed))
}

// unbuilt tells that a request cannot even be made: what is wrong is in the claim or
// its class.
func (l *launching) unbuilt(ctx context.Context, claims []api.NodeClaim, err error) {
	l.tell(ctx, claims, api.ReasonLaunchFailed, err.Error())
	l.failed(err)
}

// tell writes the condition Launched of the claims, which says Unknown as long as
// another try may succeed, and an event on the first of them. What cannot be written
// is logged: the launch does not depend on it.
func (l *launching) tell(ctx context.Context, claims []api.NodeClaim, reason, message string) {
	r := l.run
	r.metrics.Write(metrics.Count(metrics.LaunchFailures, float64(len(claims))))
	slog.WarnContext(ctx, "failed launching nodeclaim", "NodeClaim", claims[0].Name, "nodeclaims", len(claims), "reason", reason, "error", message)
	r.record(disruption.AboutClaim(&claims[0]), corev1.EventTypeWarning, reason, limited(message))
	var writing errgroup.Group
	writing.SetLimit(writers)
	for i := range claims {
		writing.Go(func() error {
			claim := &claims[i]
			conditions := slices.Clone(claim.Status.Conditions)
			unknown := metav1.Condition{
				Type: api.ConditionTypeLaunched, Status: metav1.ConditionUnknown, Reason: reason, Message: limited(message), ObservedGeneration: claim.Generation,
			}
			if !api.SetCondition(&conditions, unknown, r.now()) {
				return nil
			}
			api.SetReady(&conditions, api.NodeClaimReadyDependents(), claim.Generation, r.now())
			stored, err := r.client.PatchNodeClaimStatus(ctx, claim.Name, map[string]any{
				"metadata": map[string]any{"resourceVersion": claim.ResourceVersion}, "status": map[string]any{"conditions": conditions},
			})
			if err == nil {
				*claim = *stored
			} else if !cluster.IsConflict(err) && !cluster.IsGone(err) {
				slog.WarnContext(ctx, "the status of a nodeclaim is not written", "NodeClaim", claim.Name, "error", err)
			}
			return nil
		})
	}
	_ = writing.Wait()
}
