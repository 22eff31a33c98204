package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/buffer"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/gang"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/console/instancetypes"
	"github.com/whittle-dev/whittle/functions/console/manifests"
	"github.com/whittle-dev/whittle/functions/console/report"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// planned is a plan with its inputs.
type planned struct {
	objects  *snapshot.Objects
	snapshot *plan.Snapshot
	plan     *plan.Plan
	took     time.Duration
	problems []report.PoolProblem
	// prices says where the prices come from.
	prices string
	// ignored are the invalid NodeOverlays.
	ignored []catalog.OverlayProblem
	// unusable are the pools of a cluster that get no nodes. pools are all pools.
	unusable []plan.UnusablePool
	pools    []api.NodePool
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
	shown := report.Of(made.plan, made.took, made.prices)
	if len(flags.against) > 0 {
		if err := flags.showDiff(ctx, now, in, shown, out, problems); err != nil {
			return err
		}
		return flags.judge(made.plan)
	}
	if err := made.show(shown, flags.output, out, problems); err != nil {
		return err
	}
	return flags.judge(made.plan)
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
	diff := report.DiffOf(report.Of(before.plan, before.took, before.prices), after)
	if isForPrograms(f.output) {
		return write(out, f.output, diff)
	}
	return diff.WriteTable(out, styleOf(out))
}

// show prints the plan.
func (m *planned) show(shown *report.Plan, form string, out, problems io.Writer) error {
	if isForPrograms(form) {
		for _, problem := range m.problems {
			warn(problems, fmt.Sprintf("nodepool %q can open no node: %s", problem.NodePool, problem.Problem))
		}
		return write(out, form, shown)
	}
	return shown.WriteTable(out, m.snapshot, m.problems, form == formWide, styleOf(out))
}

// judge returns the verdict that the flags ask for, or nil.
func (f *planFlags) judge(made *plan.Plan) error {
	switch {
	case f.exitCode && len(made.Unplaced) > 0:
		return &verdict{codeUnplaced, fmt.Sprintf("%d pods have no place", len(made.Unplaced))}
	case f.maxPrice > 0 && made.PricePerHour > f.maxPrice:
		return &verdict{codeDear, fmt.Sprintf("the new nodes cost $%.4f/h, more than $%.4f/h", made.PricePerHour, f.maxPrice)}
	}
	return nil
}

func warn(problems io.Writer, text string) { fmt.Fprintf(problems, "whittle: %s\n", text) }

// plan reads the inputs that the flags name, and plans.
func (f *planFlags) plan(
	ctx context.Context, now func() time.Time, in io.Reader, problems io.Writer,
) (*planned, error) {
	made, err := f.read(ctx, now(), in, problems)
	if err != nil {
		return nil, err
	}
	runtime.GC() // what reading has left behind is not the planner's to clear away
	began := time.Now()
	made.plan = gang.Whole(planner.Solve)(made.snapshot)
	made.took = time.Since(began)
	made.problems = report.PoolProblems(made.snapshot)
	return made, nil
}

// read reads the inputs that the flags name.
func (f *planFlags) read(ctx context.Context, start time.Time, in io.Reader, problems io.Writer) (*planned, error) {
	made := &planned{}
	table, err := f.table(ctx, in, start)
	if err != nil {
		return nil, err
	}
	if len(f.files) > 0 {
		if err := f.readFiles(made, table, start, in, problems); err != nil {
			return nil, err
		}
	} else {
		client, err := connect(f.kubeconfig, f.kubecontext)
		if err != nil {
			return nil, err
		}
		if err := f.readCluster(ctx, made, client, table, start, problems); err != nil {
			return nil, mend(err, client.Endpoint)
		}
	}
	made.snapshot.PreferencePolicy, made.snapshot.MinValuesPolicy = f.policy, f.minValuesPolicy
	for _, overlay := range made.ignored {
		warn(problems, fmt.Sprintf("nodeoverlay %q counts for nothing: %s", overlay.Overlay, overlay.Message))
	}
	for i := range made.objects.NodePools {
		if _, err := made.objects.NodePools[i].NodeFee(); err != nil {
			warn(problems, err.Error())
		}
	}
	return made, nil
}

// readFiles reads the objects from manifests.
func (f *planFlags) readFiles(
	m *planned, table *instancetypes.Table, now time.Time, in io.Reader, problems io.Writer,
) error {
	read, err := manifests.Read(f.files, in)
	if err != nil {
		return err
	}
	for _, warning := range read.Warnings {
		warn(problems, warning)
	}
	if f.strict && len(read.Warnings) > 0 {
		return fmt.Errorf("-strict: %d warnings are errors", len(read.Warnings))
	}
	if f.verbose {
		for _, skipped := range read.Skipped {
			warn(problems, skipped)
		}
	}
	m.objects = &read.Objects
	f.spread.Apply(m.objects.Pods, read.Selectors)
	m.pools = slices.Clone(m.objects.NodePools)
	if err := m.evaluateExpressions(table, problems); err != nil {
		return err
	}
	m.assemble(table, now)
	m.snapshot.Gangs = plan.GangsOf(read.PodGroups)
	m.snapshot.Pods = append(m.snapshot.Pods, buffer.Pods(read.Buffers)...)
	return nil
}

// evaluateExpressions evaluates the kubelet expressions of the classes. The pools of a class with a
// wrong one get no nodes.
func (m *planned) evaluateExpressions(table *instancetypes.Table, problems io.Writer) error {
	for i := range m.objects.NodeClasses {
		class := &m.objects.NodeClasses[i]
		problem, err := table.Evaluate(class)
		if err != nil {
			return fmt.Errorf("EC2NodeClass %q: %w", class.Name, err)
		}
		if problem == "" {
			continue
		}
		problem = fmt.Sprintf("EC2NodeClass %q: %s", class.Name, problem)
		warn(problems, problem)
		m.objects.NodePools = slices.DeleteFunc(m.objects.NodePools, func(pool api.NodePool) bool {
			if classOf(&pool, m.objects.NodeClasses) != class {
				return false
			}
			m.unusable = append(m.unusable, plan.UnusablePool{NodePool: pool.Name, Message: problem})
			return true
		})
	}
	return nil
}

// assemble builds the snapshot. It applies overlays itself, so that it can report the invalid ones.
func (m *planned) assemble(table *instancetypes.Table, now time.Time) {
	types, ignored := catalog.Overlays(m.objects.NodePools, func(pool *api.NodePool) []catalog.InstanceType {
		return table.Of(pool, classOf(pool, m.objects.NodeClasses))
	}, m.objects.NodeOverlays)
	m.ignored = ignored
	objects := *m.objects
	objects.NodeOverlays = nil
	m.snapshot = snapshot.Assemble(
		&objects, func(pool *api.NodePool) []catalog.InstanceType { return types[pool.Name] },
		func(pool *api.NodePool) float64 { return table.Extras(pool, classOf(pool, m.objects.NodeClasses)) }, now,
	)
	m.prices = table.Prices
	m.snapshot.UnusablePools = m.unusable
	m.snapshot.WellKnownLabels, m.snapshot.MaximumTypes = table.WellKnownLabels, table.MaximumTypes
	identify(m.snapshot)
}

// classOf returns the pool's EC2NodeClass, or nil if classes lacks it.
func classOf(pool *api.NodePool, classes []api.EC2NodeClass) *api.EC2NodeClass {
	ref := pool.Spec.Template.Spec.NodeClassRef
	if ref == nil || cmp.Or(ref.Group, api.AWSGroup) != api.AWSGroup ||
		cmp.Or(ref.Kind, api.EC2NodeClassKind) != api.EC2NodeClassKind {
		return nil
	}
	for i := range classes {
		if classes[i].Name == ref.Name {
			return &classes[i]
		}
	}
	return nil
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
