package main

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/status"
)

// publish writes the pass's plan down for people. It is no reason to fail: the pods have
// what they need by now.
func (r *run) publish(ctx context.Context) {
	if r.shown == nil {
		return
	}
	if err := status.PutPlan(context.WithoutCancel(ctx), r.client, *r.shown); err != nil {
		slog.WarnContext(ctx, "the plan is not shown in the status", "error", err)
	}
}

// summary is the plan as people are shown it, its new nodes that are alike together.
func summary(decided *plan.Plan, pods int, now time.Time) *status.Plan {
	type alike struct{ pool, instanceType, capacityType, zone string }
	groups := map[alike]*status.Nodes{}
	for i := range decided.NodeClaims {
		planned := &decided.NodeClaims[i]
		key := alike{pool: planned.NodeClaim.Labels[api.NodePoolLabelKey]}
		if len(planned.Offerings) > 0 {
			first := planned.Offerings[0]
			key.instanceType, key.capacityType, key.zone = first.InstanceType, first.CapacityType, first.Zone
		}
		group := groups[key]
		if group == nil {
			group = &status.Nodes{NodePool: key.pool, InstanceType: key.instanceType, CapacityType: key.capacityType, Zone: key.zone}
			groups[key] = group
		}
		group.Count++
		group.Pods += len(planned.Pods)
		group.PricePerHour += planned.PricePerHour
	}
	shown := &status.Plan{
		Time: now.UTC().Truncate(time.Second), Pods: pods, Existing: len(decided.Nominations), Unplaced: len(decided.Unplaced),
		Nodes: make([]status.Nodes, 0, len(groups)), PricePerHour: decided.PricePerHour, LowerBoundPerHour: decided.LowerBoundPerHour,
	}
	for _, group := range groups {
		shown.Nodes = append(shown.Nodes, *group)
	}
	slices.SortFunc(shown.Nodes, func(a, b status.Nodes) int {
		return cmp.Or(cmp.Compare(b.PricePerHour, a.PricePerHour), cmp.Compare(a.NodePool, b.NodePool), cmp.Compare(a.InstanceType, b.InstanceType),
			cmp.Compare(a.CapacityType, b.CapacityType), cmp.Compare(a.Zone, b.Zone))
	})
	return shown
}
