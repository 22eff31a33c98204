package provision

import (
	"context"
	"log/slog"

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
