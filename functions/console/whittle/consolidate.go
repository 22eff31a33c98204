package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/whittle-dev/whittle/functions/console/report"
	"github.com/whittle-dev/whittle/shared/consolidation"
)

// showConsolidation shows the moves of consolidation, and makes none.
func (f *planFlags) showConsolidation(
	ctx context.Context, now func() time.Time, in io.Reader, out, problems io.Writer,
) error {
	f.details = true
	start := now()
	made, err := f.read(ctx, start, in, problems)
	if err != nil {
		return err
	}
	for _, pool := range made.unusable {
		warn(problems, fmt.Sprintf("nodepool %q can open no node: %s", pool.NodePool, pool.Message))
	}
	s := &consolidation.Snapshot{Cluster: made.snapshot, Budgets: made.objects.PodDisruptionBudgets, Now: start}
	var unread []consolidation.Problem
	s.Allowed, unread = consolidation.Allowances(s)
	runtime.GC()
	began := time.Now()
	decided := consolidation.Solve(s)
	took := time.Since(began)
	for _, problem := range append(unread, decided.Problems...) {
		warn(problems, fmt.Sprintf("nodepool %q: %s", problem.NodePool, problem.Message))
	}
	shown := report.ConsolidationOf(decided, took, made.prices)
	if isForPrograms(f.output) {
		return write(out, f.output, shown)
	}
	return shown.WriteTable(out, styleOf(out))
}
