package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/nodecost"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/testdata/peer/karpenter"
	"github.com/whittle-dev/whittle/testdata/peer/report"
	"github.com/whittle-dev/whittle/testdata/peer/workload"
)

// patience is how long Whittle's repetitions on one workload go on.
const patience = 10 * time.Second

// nodeFee is the fee for each node in the column with one, in US dollars an hour. Agents of monitoring
// and security cost that much.
const nodeFee = 0.03

// comparison says what to compare, and how thoroughly.
type comparison struct {
	types []catalog.InstanceType
	// extras are what each node costs beside its instance, in US dollars an hour. Whittle plans by
	// them, and both sides pay them.
	extras float64
	// limit is the time after which Karpenter's search is ended.
	limit time.Duration
	// workers is the number of Karpenter's goroutines.
	workers int
	// repetitions of ours and of Karpenter's; the median by wall time counts.
	repetitions, karpenterRepetitions int
}

// defaultExtras returns the price of the volumes that nodes of the workloads' class have, in US
// dollars an hour.
func defaultExtras() float64 { return nodecost.Extras(nil, workload.NodeClass(), nil) }

// row plans one snapshot with both planners. The snapshot is made anew for each plan, so that
// neither meets what the other or an earlier plan has left.
func (c *comparison) row(
	ctx context.Context,
	w workload.Workload,
	pods int,
	capacityTypes []string,
) (report.Row, error) {
	row := report.Row{
		Workload:      w.Name,
		Description:   w.Description,
		Features:      w.Features,
		CapacityTypes: capacityTypes,
		Pods:          pods,
	}
	snapshot := func(extras float64) *plan.Snapshot {
		return w.Snapshot(pods, capacityTypes, catalog.WithExtras(c.types, extras))
	}
	for start := time.Now(); len(row.Whittle) < c.repetitions && (len(row.Whittle) == 0 || time.Since(start) < patience); {
		s := snapshot(c.extras)
		var p *plan.Plan
		outcome := report.Outcome{Cost: measure(func() { p = planning.Solve(s) })}
		outcome.Nodes, outcome.PricePerHour, outcome.LeftOut = len(p.NodeClaims), p.PricePerHour, len(p.Unplaced)
		row.LowerBoundPerHour = p.LowerBoundPerHour
		row.Whittle = append(row.Whittle, outcome)
		row.LeftOutByWhittle = nil
		for i := range p.Unplaced {
			row.LeftOutByWhittle = append(row.LeftOutByWhittle, fmt.Sprintf("%s: %s", p.Unplaced[i].Pod, p.Unplaced[i].Reasons))
		}
	}
	priced := planning.Solve(snapshot(c.extras + nodeFee))
	row.WithFee = report.WithFee{
		Whittle: priced.PricePerHour, LowerBound: priced.LowerBoundPerHour, LeftOut: len(priced.Unplaced),
	}
	for range c.karpenterRepetitions {
		// Karpenter knows the instances' prices only. Its nodes cost the extras all the same.
		in, err := karpenter.NewInput(ctx, snapshot(0), c.workers)
		if err != nil {
			return report.Row{}, fmt.Errorf("handing %q to Karpenter: %w", w.Name, err)
		}
		var results *karpenter.Results
		cost := measure(func() { results, err = in.Solve(ctx, c.limit) })
		if err != nil {
			return report.Row{}, fmt.Errorf("planning %q with Karpenter: %w", w.Name, err)
		}
		p, err := results.Plan(ctx)
		if err != nil {
			return report.Row{}, fmt.Errorf("pricing Karpenter's plan for %q: %w", w.Name, err)
		}
		nodes := float64(len(p.NodeClaims))
		row.Karpenter = append(row.Karpenter, report.Outcome{
			Cost: cost, Nodes: len(p.NodeClaims), PricePerHour: p.PricePerHour() + nodes*c.extras, LeftOut: pods - p.Placed,
			TimedOut: p.TimedOut,
		})
		row.WithFee.Karpenter = p.PricePerHour() + nodes*(c.extras+nodeFee)
		row.LeftOutByKarpenter = nil
		for name, reason := range p.LeftOut {
			row.LeftOutByKarpenter = append(row.LeftOutByKarpenter, name+": "+reason)
		}
		slices.Sort(row.LeftOutByKarpenter)
		// A plan that runs into the limit once will do so again.
		if p.TimedOut {
			break
		}
	}
	return row, nil
}
