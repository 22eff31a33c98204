package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/functions/console/report"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/shared/sight"
)

// consolidated is what consolidation decides, with its inputs.
type consolidated struct {
	fleet    *sight.Fleet
	snapshot *consolidation.Input
	plan     *consolidation.Plan
	took     time.Duration
}

// consolidate reads the fleet, and searches for moves as disrupt does.
func (s *source) consolidate(ctx context.Context, now time.Time) (*consolidated, error) {
	made := &consolidated{}
	var err error
	if made.fleet, err = sight.ReadFleet(ctx, s.reader, s.settings, now); err != nil {
		return nil, s.mend(err)
	}
	if err := s.showReleases(ctx, made.fleet.Objects, now); err != nil {
		return nil, s.mend(err)
	}
	if made.snapshot, err = made.fleet.Consolidation(ctx, now); err != nil {
		return nil, s.mend(err)
	}
	identify(made.snapshot.Cluster)
	runtime.GC() // what reading has left behind is not the search's to clear away
	began := time.Now()
	made.plan = consolidation.Solve(made.snapshot)
	made.took = time.Since(began)
	return made, nil
}

// showConsolidation shows the moves of consolidation, and makes none.
func (f *planFlags) showConsolidation(
	ctx context.Context, now func() time.Time, in io.Reader, out, problems io.Writer,
) error {
	start := now()
	from, err := f.read(ctx, start, in, problems)
	if err != nil {
		return err
	}
	made, err := from.consolidate(ctx, start)
	if err != nil {
		return err
	}
	for _, pool := range made.snapshot.Cluster.UnusablePools {
		warn(problems, fmt.Sprintf("nodepool %q can open no node: %s", pool.NodePool, pool.Message))
	}
	for _, problem := range made.problems(start) {
		warn(problems, problem)
	}
	shown := report.ConsolidationOf(made.plan, made.took, from.prices(made.fleet.Known(), start))
	shown.Assume(from.assumed)
	if f.output.isForPrograms() {
		err = f.output.write(out, shown, "moves")
	} else {
		err = shown.WriteTable(out, styleOf(out))
	}
	if err != nil || !f.exitCode && f.maxPrice == 0 {
		return err
	}
	// The pending pods get their places before any move, so that their nodes are new nodes too.
	first := planning.Solve(made.snapshot.Cluster)
	price := first.BilledPerHour()
	for _, move := range shown.Moves {
		for i := range move.Launch {
			price += move.Launch[i].PricePerHour
		}
	}
	return f.judge(len(first.Unplaced), price)
}

// problems are what keeps pools from being consolidated: budgets, and settings that cannot be read.
func (c *consolidated) problems(now time.Time) []string {
	var texts []string
	_, closed := c.fleet.Seen.Allowances(api.DisruptionReasonUnderutilized, now)
	for _, notice := range closed {
		texts = append(texts, problemText(notice))
	}
	slices.Sort(texts)
	for _, problem := range c.plan.Problems {
		texts = append(texts, fmt.Sprintf("nodepool %q: %s", problem.NodePool, problem.Message))
	}
	return texts
}

func problemText(notice disruption.Notice) string {
	return fmt.Sprintf("nodepool %q: %s", notice.Pool.Name, notice.Message)
}
