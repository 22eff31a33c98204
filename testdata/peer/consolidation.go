package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/testdata/peer/karpenter"
	"github.com/whittle-dev/whittle/testdata/peer/report"
)

// garbage is the percentage of garbage that Whittle's functions let gather: both sides have it.
const garbage = 400

// mostRuns bounds how often Whittle is asked for one fleet. It ends by itself before.
const mostRuns = 20

// consolidations compares what becomes of fleets that are not worth their price.
type consolidations struct {
	types []catalog.InstanceType
	// limit is how much processor time Karpenter's methods may take to decide for one fleet.
	limit   time.Duration
	workers int
	// rest is how often Whittle is asked again about a fleet that it has found at rest.
	rest int
	// fleets are the names of the kinds, sizes how many nodes they have.
	fleets []string
	sizes  []int
}

func chooseFleets(names string) ([]string, error) {
	var all, chosen []string
	for _, fleet := range consolidationtest.Fleets() {
		all = append(all, fleet.Name)
	}
	if names == "" {
		return all, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("no fleet %q: there are %s", name, strings.Join(all, ", "))
		}
		chosen = append(chosen, name)
	}
	return chosen, nil
}

func chooseNodes(text string) ([]int, error) {
	var chosen []int
	for part := range strings.SplitSeq(text, ",") {
		size, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || size < 1 {
			return nil, fmt.Errorf("%q is not a number of nodes", part)
		}
		chosen = append(chosen, size)
	}
	return chosen, nil
}

// compare writes a line for each fleet as it is done, and gives the rows.
func (c *consolidations) compare(ctx context.Context, out io.Writer) ([]report.Consolidation, error) {
	var rows []report.Consolidation
	for _, fleet := range consolidationtest.Fleets() {
		if !slices.Contains(c.fleets, fleet.Name) {
			continue
		}
		for _, size := range c.sizes {
			row, err := c.row(ctx, &fleet, size)
			if err != nil {
				return nil, fmt.Errorf("fleet %q of %d nodes: %w", fleet.Name, size, err)
			}
			rows = append(rows, row)
			fmt.Fprintln(out, row.String())
		}
	}
	return rows, nil
}

func (c *consolidations) row(
	ctx context.Context,
	fleet *consolidationtest.Fleet,
	size int,
) (report.Consolidation, error) {
	before := fleet.Make(size, c.types)
	row := report.Consolidation{
		Fleet:        fleet.Name,
		Description:  fleet.Description,
		Nodes:        size,
		PricePerHour: consolidationtest.Price(before),
	}
	alone := *before
	alone.Nodes = nil
	for i := range before.Nodes {
		alone.Pods = append(alone.Pods, before.Nodes[i].Pods...)
	}
	row.Pods = len(alone.Pods)
	row.LowerBoundPerHour = planning.Solve(&alone).LowerBoundPerHour
	var err error
	var path []reached
	if row.Whittle, path, err = consolidateOurs(before, c.rest); err != nil {
		return row, err
	}
	if row.Karpenter, err = c.consolidateTheirs(ctx, fleet.Make(size, c.types)); err != nil {
		return row, err
	}
	row.MovedToPrice = movedTo(path, row.Karpenter.PricePerHour)
	return row, nil
}

// reached is what a fleet costs in US dollars an hour once so many pods have been moved.
type reached struct {
	price float64
	moved int
}

// movedTo is how many pods had been moved when the fleet first cost no more than the price; -1 if
// it never did.
func movedTo(path []reached, price float64) int {
	for _, at := range path {
		if at.price <= price*(1+1e-9) {
			return at.moved
		}
	}
	return -1
}

// consolidateOurs plans and carries out until there is nothing more to do, and then asks again. An
// hour goes by between two runs, so that all has settled. The path is what the fleet costs before
// the first move and after each.
func consolidateOurs(s *plan.Snapshot, rest int) (done report.Consolidated, path []reached, err error) {
	price := consolidationtest.Price(s)
	path = []reached{{price, 0}}
	for run := range mostRuns {
		now := consolidationtest.Now.Add(time.Duration(run) * time.Hour)
		var p *consolidation.Plan
		cost := measureMemory(func() { p = consolidation.Solve(&consolidation.Input{Cluster: s, Now: now}) })
		done.Wall, done.CPU, done.Slowest = done.Wall+cost.Wall, done.CPU+cost.CPU, max(done.Slowest, cost.Wall)
		done.SlowestCPU = max(done.SlowestCPU, cost.CPU)
		done.Memory = max(done.Memory, cost.Memory)
		if run == 0 {
			done.First = cost.Wall
		}
		if len(p.Moves) == 0 {
			done.PricePerHour, done.NodesLeft = consolidationtest.Price(s), len(s.Nodes)
			return done, path, atRest(s, now, rest)
		}
		done.Decisions++
		for i := range p.Moves {
			m := &p.Moves[i]
			done.Moved, done.Removed, done.Launched = done.Moved+m.PodsMoved, done.Removed+len(
				m.Delete,
			), done.Launched+len(
				m.Launch,
			)
			s = consolidationtest.CarryOut(s, m, fmt.Sprintf("run-%d-%d", run, i), now)
			price -= m.SavedPerHour
			path = append(path, reached{price, done.Moved})
		}
	}
	return done, path, errors.New("whittle does not come to rest")
}

// atRest asks again about a fleet in which nothing is to be moved, its lists in another order each
// time, and later each time.
func atRest(s *plan.Snapshot, now time.Time, runs int) error {
	random := rand.New(rand.NewPCG(1, 2))
	for run := range runs {
		again := *s
		again.Nodes = slices.Clone(s.Nodes)
		random.Shuffle(len(again.Nodes), func(i, j int) { again.Nodes[i], again.Nodes[j] = again.Nodes[j], again.Nodes[i] })
		now = now.Add(time.Minute)
		if p := consolidation.Solve(&consolidation.Input{Cluster: &again, Now: now}); len(p.Moves) > 0 {
			return fmt.Errorf("a fleet at rest is moved when it is looked at once more, the %d. time", run+1)
		}
	}
	return nil
}

func (c *consolidations) consolidateTheirs(ctx context.Context, s *plan.Snapshot) (report.Consolidated, error) {
	var done report.Consolidated
	in, err := karpenter.NewConsolidation(ctx, s, c.workers)
	if err != nil {
		return done, err
	}
	for {
		cpu := cpuTime()
		took, more, err := in.Step(ctx)
		if err != nil {
			return done, err
		}
		used := cpuTime() - cpu
		done.Wall, done.CPU, done.Slowest, done.SlowestCPU = done.Wall+took, done.CPU+used, max(
			done.Slowest,
			took,
		), max(
			done.SlowestCPU,
			used,
		)
		if done.First == 0 {
			done.First = took
		}
		if done.Unfinished = more && done.CPU >= c.limit; !more || done.Unfinished {
			break
		}
	}
	done.Decisions, done.Moved, done.Removed, done.Launched = in.Commands, in.Moved, in.Removed, in.Launched
	done.PricePerHour, done.NodesLeft = in.PricePerHour(), in.Nodes()
	return done, nil
}

// run compares, and writes consolidation.md into the folder.
func (c *consolidations) run(ctx context.Context, arguments []string, folder string, out io.Writer) error {
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	rows, err := c.compare(ctx, out)
	if err != nil || folder == "" {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making the report's folder: %w", err)
	}
	r := report.New(
		len(c.types),
		c.limit,
		c.workers,
		slices.DeleteFunc(
			slices.Clone(arguments),
			func(a string) bool { return strings.TrimLeft(a, "-") == "consolidation" },
		),
	)
	if err := os.WriteFile(filepath.Join(folder, "consolidation.md"), []byte(r.Consolidation(rows, c.rest)),
		0o644); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
