package main

import (
	"context"
	"log/slog"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// tellOverlays writes on each NodeOverlay whether it counts, where it does not say so
// yet. What cannot be written is logged: the plan does not depend on it.
func (r *run) tellOverlays(ctx context.Context, overlays []api.NodeOverlay, problems []catalog.OverlayProblem) {
	ignored := map[string]catalog.OverlayProblem{}
	for _, problem := range problems {
		ignored[problem.Overlay] = problem
	}
	for i := range overlays {
		overlay := &overlays[i]
		valid := metav1.Condition{Type: api.ConditionTypeValidationSucceeded, Status: metav1.ConditionTrue, ObservedGeneration: overlay.Generation}
		if problem, bad := ignored[overlay.Name]; bad {
			valid.Status, valid.Reason, valid.Message = metav1.ConditionFalse, problem.Reason, problem.Message
		}
		conditions := append([]metav1.Condition(nil), overlay.Status.Conditions...)
		changed := api.SetCondition(&conditions, valid, r.now())
		if api.SetReady(&conditions, api.NodeOverlayReadyDependents(), overlay.Generation, r.now()) {
			changed = true
		}
		if !changed {
			continue
		}
		if valid.Status == metav1.ConditionFalse {
			slog.WarnContext(ctx, "nodeoverlay is ignored", "NodeOverlay", overlay.Name, "reason", valid.Reason, "error", valid.Message)
		}
		if err := r.client.PatchNodeOverlayStatus(ctx, overlay.Name, map[string]any{"status": map[string]any{"conditions": conditions}}); err != nil {
			slog.WarnContext(ctx, "the status of a nodeoverlay is not written", "NodeOverlay", overlay.Name, "error", err)
		}
	}
}
