package main

import (
	"context"
	"log/slog"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/plan"
)

// solve asks the planner, and says what came of it.
func (r *run) solve(ctx context.Context, snapshot *plan.Snapshot) *plan.Plan {
	start := r.now()
	decided := plan.Solve(snapshot)
	slog.InfoContext(ctx, "computed new nodeclaim(s) to fit pod(s)",
		"pods", len(snapshot.Pods), "nodeclaims", len(decided.NodeClaims), "nominations", len(decided.Nominations), "unplaced", len(decided.Unplaced),
		"price", decided.PricePerHour, "bound", decided.LowerBoundPerHour, "duration", r.now().Sub(start).String())
	if len(decided.NodeClaims) > 0 {
		r.metrics.Write(metrics.Count(metrics.PlanDollars, decided.PricePerHour), metrics.Count(metrics.PlanBoundDollars, decided.LowerBoundPerHour))
		r.shown = summary(decided, len(snapshot.Pods), start)
	}
	return decided
}

// show plans as ever, logs the plan, and does nothing of it.
func (r *run) show(ctx context.Context, snapshot *plan.Snapshot) {
	if len(snapshot.Pods) == 0 {
		return
	}
	decided := r.solve(ctx, snapshot)
	for i := range decided.NodeClaims {
		planned := &decided.NodeClaims[i]
		slog.InfoContext(ctx, "dry run: would create nodeclaim", "NodePool", planned.NodeClaim.Labels[api.NodePoolLabelKey],
			"instance-types", planned.InstanceTypes[:min(len(planned.InstanceTypes), 5)], "pods", len(planned.Pods), "price", planned.PricePerHour)
	}
	r.explain(ctx, decided) // in the log: events are dropped as all writes are
}

// measure counts what was launched, and how long after its claim was written.
func (r *run) measure(launched []*api.NodeClaim) {
	if len(launched) == 0 {
		return
	}
	took := metrics.Value{Name: metrics.LaunchSeconds}
	for _, claim := range launched {
		took.Numbers = append(took.Numbers, r.now().Sub(claim.CreationTimestamp.Time).Seconds())
	}
	r.metrics.Write(metrics.Count(metrics.Launches, float64(len(launched))), took)
}
