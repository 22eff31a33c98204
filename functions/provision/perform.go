package provision

import (
	"context"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/whittle-dev/whittle/functions/provision/intent"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/status"
)

// parallelWrites is how many events are written at once.
const parallelWrites = 16

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

// extend adds pods to the lists of nodes that are on their way, at most parallelWrites at a time. A claim that has
// changed keeps its list until the next pass. Without it the scheduler places the pods, so that a failure is only
// logged.
func (r *pass) extend(ctx context.Context, latecomers []intent.Latecomer) {
	var group errgroup.Group
	group.SetLimit(parallelWrites)
	for _, one := range latecomers {
		group.Go(func() error {
			_, err := r.client.PatchNodeClaim(ctx, one.Claim.Name, map[string]any{"metadata": map[string]any{
				"resourceVersion": one.Claim.ResourceVersion,
				"annotations":     map[string]any{api.NominatedPodsAnnotationKey: one.List},
			}})
			if err != nil && !cluster.IsConflict(err) && !cluster.IsGone(err) {
				slog.WarnContext(ctx, "pods are not added to a node on its way",
					"NodeClaim", one.Claim.Name, "pods", one.Pods, "error", err)
			}
			return nil
		})
	}
	_ = group.Wait() // its functions return no error
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
