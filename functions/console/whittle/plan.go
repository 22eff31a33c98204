package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/console/manifests"
	"github.com/whittle-dev/whittle/functions/console/report"
	"github.com/whittle-dev/whittle/functions/console/rollout"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/shared/sight"
)

// planned is a plan with its inputs.
type planned struct {
	from     *source
	view     *sight.View
	plan     *plan.Plan
	took     time.Duration
	problems []report.PoolProblem
	// prices says where the prices come from.
	prices string
}

// showPlan plans for the pending pods and shows the plan. It launches nothing.
func showPlan(
	ctx context.Context, arguments []string, now func() time.Time, in io.Reader, out, problems io.Writer,
) error {
	flags, err := parsePlanFlags("plan", noWords, arguments, problems)
	if err != nil {
		return err
	}
	if flags.consolidate {
		return flags.showConsolidation(ctx, now, in, out, problems)
	}
	made, err := flags.plan(ctx, now, in, problems)
	if err != nil {
		return err
	}
	shown := made.report()
	if len(flags.against) > 0 {
		if err := flags.showDiff(ctx, now, in, shown, out, problems); err != nil {
			return err
		}
		return flags.judge(len(made.plan.Unplaced), made.plan.BilledPerHour())
	}
	if err := made.show(shown, &flags.output, out, problems); err != nil {
		return err
	}
	return flags.judge(len(made.plan.Unplaced), made.plan.BilledPerHour())
}

// showDiff shows what changes from the plan of other files to this one.
func (f *planFlags) showDiff(
	ctx context.Context, now func() time.Time, in io.Reader, after *report.Plan, out, problems io.Writer,
) error {
	other := *f
	other.files = f.against
	before, err := other.plan(ctx, now, in, problems)
	if err != nil {
		return fmt.Errorf("-diff: %w", err)
	}
	diff := report.DiffOf(before.report(), after)
	diff.Assumed = after.Assumed
	switch {
	case f.output.isForPrograms():
		return f.output.write(out, diff, "nodes")
	case f.output.kind == formMarkdown:
		return diff.WriteMarkdown(out)
	}
	return diff.WriteTable(out, styleOf(out))
}

// report is the plan for people and programs.
func (m *planned) report() *report.Plan {
	shown := report.Of(m.plan, m.took, m.prices)
	shown.Hold(m.view.Held)
	shown.Assume(m.from.assumed)
	return shown
}

// show prints the plan.
func (m *planned) show(shown *report.Plan, output *form, out, problems io.Writer) error {
	for _, text := range rollout.Open(m.view.Objects.NodePools, m.view.Objects.NodeClasses, m.view.Now) {
		warn(problems, text)
	}
	if output.isForPrograms() {
		for _, problem := range m.problems {
			warn(problems, fmt.Sprintf("nodepool %q can open no node: %s", problem.NodePool, problem.Problem))
		}
		return output.write(out, shown, "nodes")
	}
	return shown.WriteTable(out, m.view.Snapshot, m.problems, output.kind == formWide, styleOf(out))
}

// judge returns the verdict that the flags ask for, or nil. price is that of the new nodes in $/h.
func (f *planFlags) judge(unplaced int, price float64) error {
	switch {
	case f.exitCode && unplaced > 0:
		return &verdict{codeUnplaced, fmt.Sprintf("%d pods have no place", unplaced)}
	case f.maxPrice > 0 && price > f.maxPrice:
		return &verdict{codeDear, fmt.Sprintf("the new nodes cost $%.4f/h, more than $%.4f/h", price, f.maxPrice)}
	}
	return nil
}

func warn(problems io.Writer, text string) { fmt.Fprintf(problems, "whittle: %s\n", text) }

// plan reads the inputs that the flags name, and plans as provision does.
func (f *planFlags) plan(
	ctx context.Context, now func() time.Time, in io.Reader, problems io.Writer,
) (*planned, error) {
	from, err := f.read(ctx, now(), in, problems)
	if err != nil {
		return nil, err
	}
	made := &planned{from: from}
	if made.view, err = sight.Read(ctx, from.reader, from.settings, now()); err != nil {
		return nil, from.mend(err)
	}
	from.warn(made.view, problems)
	identify(made.view.Snapshot)
	made.prices = from.prices(made.view.Catalog, now())
	runtime.GC() // what reading has left behind is not the planner's to clear away
	began := time.Now()
	made.plan = planning.Solve(made.view.Snapshot)
	made.took = time.Since(began)
	if fault := made.plan.Fault(); fault != "" {
		warn(problems, "the plan leaves pods out because of a defect: "+fault)
	}
	made.problems = report.PoolProblems(made.view.Snapshot)
	return made, nil
}

// identify gives a UID to pods without one. It follows the assembly, for which a UID means that the
// pod is in a cluster.
func identify(s *plan.Snapshot) {
	give := func(pods []corev1.Pod) {
		for i := range pods {
			if pod := &pods[i]; pod.UID == "" {
				pod.UID = manifests.StableUID("Pod", pod.Namespace, pod.Name)
			}
		}
	}
	give(s.Pods)
	for i := range s.Nodes {
		give(s.Nodes[i].Pods)
	}
}
