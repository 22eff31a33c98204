// Command peer plans the same snapshots with Karpenter's scheduler and with Whittle's planner, in
// one process, and writes what each took and came to as a table (results.md) and a chart
// (chart.svg). With -consolidation it has both consolidate the same fleets, and writes
// consolidation.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/peer/report"
	"github.com/whittle-dev/whittle/testdata/peer/workload"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

// featurePods is how many pods the workloads of features have.
const featurePods = 300

// defaultBiggest is the most pods that a run without -full compares, which ends in about ten
// minutes on two cores.
const defaultBiggest = 5000

// defaultWorkers is what Karpenter's own settings come to: one for each cpu that its controller
// requests, which is one. On two cores more of them made it slower, since they go on looking at
// nodes after one has been found.
const defaultWorkers = 1

func run(ctx context.Context, arguments []string, out io.Writer) error {
	flags := flag.NewFlagSet("peer", flag.ContinueOnError)
	var (
		names = flags.String(
			"workloads",
			"",
			"comma-separated `names` of the workloads; all without it ("+strings.Join(workloadNames(), ", ")+")",
		)
		sizes = flags.String(
			"sizes",
			"",
			fmt.Sprintf("comma-separated `numbers` of pods, of %v; those up to %d without it", workload.Sizes(), defaultBiggest),
		)
		capacity = flags.String(
			"capacity",
			"on-demand,spot",
			"`ways` to buy: on-demand (alone), spot (and on-demand), or both",
		)
		full  = flags.Bool("full", false, "compare all sizes; takes about ten minutes more")
		limit = flags.Duration(
			"limit",
			time.Minute,
			"end Karpenter's search after this time, as its provisioner does after a minute",
		)
		workers = flags.Int(
			"karpenter-workers",
			defaultWorkers,
			"`goroutines` that Karpenter's scheduler tries nodes with",
		)
		repetitions = flags.Int(
			"repetitions",
			5,
			"plan with Whittle so many `times`, fewer if it takes longer than "+patience.String()+" in all; the median counts",
		)
		karpenters = flags.Int("karpenter-repetitions", 1, "plan with Karpenter so many `times`; the median counts")
		folder     = flags.String(
			"out",
			"results",
			"`folder` for results.md and chart.svg; nothing is written if it is empty",
		)
		consolidate = flags.Bool("consolidation", false, "compare consolidation instead")
		gathering   = flags.Bool("windows", false, "compare how long pods are gathered before a plan instead")
		fleets      = flags.String("fleets", "", "with -consolidation: comma-separated `names` of the fleets; all without it")
		nodes       = flags.String("nodes", "100,500,2000", "with -consolidation: comma-separated `numbers` of nodes")
		deciding    = flags.Duration(
			"deciding",
			time.Minute,
			"with -consolidation: end Karpenter's consolidation of a fleet after so much processor time",
		)
		rest = flags.Int(
			"rest",
			10,
			"with -consolidation: ask Whittle so many `times` more about each fleet that it has found at rest",
		)
		verbose = flags.Bool("v", false, "say why pods are left out")
	)
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *repetitions < 1 || *karpenters < 1 || *workers < 1 || *limit <= 0 {
		return errors.New("repetitions, workers and the limit must be positive")
	}
	workloads, err := chooseWorkloads(*names)
	if err != nil {
		return err
	}
	numbers, err := chooseSizes(*sizes, *full)
	if err != nil {
		return err
	}
	ways, err := chooseCapacity(*capacity)
	if err != nil {
		return err
	}
	types, err := workload.InstanceTypes()
	if err != nil {
		return err
	}
	if *gathering {
		w := &windows{types: types, pods: featurePods}
		return w.run(out)
	}
	if *consolidate {
		names, err := chooseFleets(*fleets)
		if err != nil {
			return err
		}
		numbers, err := chooseNodes(*nodes)
		if err != nil {
			return err
		}
		c := &consolidations{types: types, limit: *deciding, workers: *workers, rest: *rest, fleets: names, sizes: numbers}
		return c.run(ctx, arguments, *folder, out)
	}
	c := &comparison{
		types:                types,
		extras:               defaultExtras(),
		limit:                *limit,
		workers:              *workers,
		repetitions:          *repetitions,
		karpenterRepetitions: *karpenters,
	}
	r := report.New(len(types), *limit, *workers, arguments)
	for _, w := range workloads {
		counts := numbers
		if w.Features {
			counts = []int{featurePods}
		}
		for _, pods := range counts {
			for _, way := range ways {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				row, err := c.row(ctx, w, pods, way)
				if err != nil {
					return err
				}
				r.Rows = append(r.Rows, row)
				fmt.Fprintln(out, row.String())
				if *verbose {
					report.WriteLeftOut(out, &row)
				}
			}
		}
	}
	if *folder == "" {
		return nil
	}
	return write(*folder, r)
}

func write(folder string, r *report.Report) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making the report's folder: %w", err)
	}
	for name, text := range map[string]string{"results.md": r.Markdown(), "chart.svg": r.Chart()} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	return nil
}

func workloadNames() []string {
	var names []string
	for _, w := range workload.All() {
		names = append(names, w.Name)
	}
	return names
}

func chooseWorkloads(names string) ([]workload.Workload, error) {
	all := workload.All()
	if names == "" {
		return all, nil
	}
	var chosen []workload.Workload
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(w workload.Workload) bool { return w.Name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("no workload %q: there are %s", name, strings.Join(workloadNames(), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func chooseSizes(sizes string, full bool) ([]int, error) {
	var chosen []int
	if sizes == "" {
		for _, size := range workload.Sizes() {
			if full || size <= defaultBiggest {
				chosen = append(chosen, size)
			}
		}
		return chosen, nil
	}
	for text := range strings.SplitSeq(sizes, ",") {
		size, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || size < 1 {
			return nil, fmt.Errorf("size %q is not a number of pods", text)
		}
		chosen = append(chosen, size)
	}
	return chosen, nil
}

func chooseCapacity(ways string) ([][]string, error) {
	var chosen [][]string
	for way := range strings.SplitSeq(ways, ",") {
		switch strings.TrimSpace(way) {
		case api.CapacityTypeOnDemand:
			chosen = append(chosen, workload.CapacityTypes()[0])
		case api.CapacityTypeSpot:
			chosen = append(chosen, workload.CapacityTypes()[1])
		default:
			return nil, fmt.Errorf("capacity %q is neither %s nor %s", way, api.CapacityTypeOnDemand, api.CapacityTypeSpot)
		}
	}
	return chosen, nil
}
