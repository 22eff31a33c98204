package main

import (
	"context"
	"log/slog"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// giveUp gives claims up and says why. Certain tells that no instance was launched for
// them: else their finalizer holds them until lifecycle has made sure of it.
func (l *launching) giveUp(ctx context.Context, claims []api.NodeClaim, reason, why string, certain bool) {
	var others []string
	for i := range claims[1:] {
		others = append(others, claims[i+1].Name)
	}
	slog.WarnContext(ctx, "giving up nodeclaim", "NodeClaim", claims[0].Name, "others", others, "reason", reason, "error", why)
	l.run.record(disruption.AboutClaim(&claims[0]), corev1.EventTypeWarning, reason, limited(why))
	var writing errgroup.Group
	writing.SetLimit(writers)
	for i := range claims {
		writing.Go(func() error {
			l.failed(l.run.abandon(ctx, &claims[i], certain))
			return nil
		})
	}
	_ = writing.Wait() // the failures are gathered: one claim's does not stop another's
}

func (r *run) abandon(ctx context.Context, claim *api.NodeClaim, certain bool) error {
	if certain {
		_, err := r.client.PatchNodeClaim(ctx, claim.Name, map[string]any{"metadata": map[string]any{
			"resourceVersion": claim.ResourceVersion,
			"finalizers":      slices.DeleteFunc(slices.Clone(claim.Finalizers), func(finalizer string) bool { return finalizer == api.TerminationFinalizer }),
		}})
		if err != nil && !cluster.IsConflict(err) && !cluster.IsGone(err) {
			return err
		}
	}
	return r.client.DeleteNodeClaim(ctx, claim.Name, claim.UID)
}
