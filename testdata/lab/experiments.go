package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/fidelity"
	"github.com/whittle-dev/whittle/testdata/lab/gangs"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// experiment is a command that starts a world, lets something run in it, and prints and judges what it
// saw.
type experiment struct {
	// interval is the time between two ticks, and boot the machines' time from running to joining.
	interval, boot time.Duration
	// options changes other options of the world; nil changes none.
	options func(context.Context, *world.Options) error
	// variable of the environment sets the experiment's number, such as that of nodes, instead of number.
	variable string
	number   int
	// told lets the scenario print what happens.
	told bool
	// close ends what the options started, after the world has ended; nil for nothing.
	close func() error
	// run does it. A result has a Check if the experiment has limits to pass.
	run func(ctx context.Context, t *trial) (result, error)
}

// trial is one run of an experiment.
type trial struct {
	world  *world.World
	setup  scenario.Setup
	number int
	began  time.Time
}

// result is what an experiment saw.
type result interface{ Write(out io.Writer) error }

// table is a result of rows, whose columns are separated by tabs.
type table []string

// Write prints the table.
func (t table) Write(out io.Writer) error { return scenario.WriteTable(out, t) }

// experiments are those that the command line knows, by name. Each reads its settings from
// variables of the environment, which make passes on: those of `make day arguments=-short` are
// day's.
func experiments() map[string]experiment {
	scale, disturbed, month := &scaleBench{}, &chaosRun{}, &monthBench{}
	return map[string]experiment{
		"bench-world": {interval: interval, boot: boot, run: benchWorld},
		// The machines do not boot, because a thousand kubelets are not what it measures.
		"bench-launch": {interval: interval, boot: time.Hour, run: benchLaunch},
		"bench-month": {
			interval: monthInterval, boot: monthBoot, options: changing(month.options), variable: "MONTH_NODES",
			number: busyNodes, run: month.run,
		},
		"bench-scale": {
			interval: defaultInterval, boot: boot, options: changing(scale.options), variable: "SCALE_NODES", number: largeNodes,
			run: scale.run, close: scale.close,
		},
		"bench-reaction": {
			interval: defaultInterval, boot: boot, options: changing(reactionOptions), variable: "REACTION_BURSTS",
			number: manyBursts,
			run:    benchReaction,
		},
		"storm": {
			interval: interval, boot: boot, told: true, variable: "STORM_NODES", number: scenario.FullStorm().Nodes,
			run: func(ctx context.Context, t *trial) (result, error) {
				report, err := scenario.Storm(ctx, t.setup, t.world, scenario.FullStorm().Of(t.number))
				if report != nil {
					t.began = report.Began
				}
				return report, err
			},
		},
		"fidelity": {
			interval: interval, boot: boot, options: changing(func(o *world.Options) { o.BootMost = slowBoot }),
			variable: "FIDELITY_BURSTS", number: defaultBursts,
			run: func(ctx context.Context, t *trial) (result, error) {
				if err := forbidNominations(ctx, t.setup.Client); err != nil {
					return nil, err
				}
				first, err := firstBurst()
				if err != nil {
					return nil, err
				}
				seen, err := fidelity.Run(ctx, t.setup, t.number, first, os.Stdout)
				return &seen, err
			},
		},
		"gangs": {
			interval: interval, boot: gangsBoot, variable: "GANGS", number: defaultGangs,
			run: func(ctx context.Context, t *trial) (result, error) {
				seen, err := gangs.Run(ctx, t.setup, t.world.EC2, t.number, os.Stdout)
				return &seen, err
			},
		},
		"kueue": {interval: interval, boot: boot, options: changing(requestOptions), told: true, run: runKueue},
		"compare": {
			interval: defaultInterval, boot: boot, told: true, variable: "runs", number: 1,
			options: changing(func(o *world.Options) { o.Bare, o.Audit, o.Karpenter = true, true, os.Getenv("karpenter") }),
			run: func(ctx context.Context, t *trial) (result, error) {
				if os.Getenv("alone") != "" {
					return alone(ctx, t)
				}
				return compare(ctx, t, os.Getenv("short") == "")
			},
		},
		"day": {
			interval: defaultInterval, boot: boot, told: true,
			options: changing(func(o *world.Options) { o.Bare, o.Audit = true, true }), run: runDay,
		},
		"chaos": {interval: interval, boot: boot, options: disturbed.options, run: disturbed.run},
	}
}

// changing is options that cannot fail.
func changing(change func(*world.Options)) func(context.Context, *world.Options) error {
	return func(_ context.Context, o *world.Options) error {
		change(o)
		return nil
	}
}

// measure starts the world of an experiment, runs it, and prints what the experiment and the functions
// did. The functions' logs are kept. Limits belong to the experiment alone: machines differ, and this
// one may be busy.
func measure(ctx context.Context, name string) (failure error) {
	e := experiments()[name]
	number, err := numberAsked(e.variable, e.number)
	if err != nil {
		return err
	}
	if e.close != nil {
		defer func() { failure = errors.Join(failure, e.close()) }()
	}
	w, err := startWith(ctx, name, e.interval, e.boot, e.options)
	if err != nil {
		return err
	}
	defer func() { failure = errors.Join(failure, w.Close()) }()
	told := io.Discard
	if e.told {
		told = io.Writer(os.Stdout)
	}
	setup, err := w.Scenario(told)
	if err != nil {
		return err
	}
	began := time.Now()
	t := &trial{world: w, setup: setup, number: number, began: began}
	seen, err := e.run(ctx, t)
	if err := errors.Join(err, saveLogs(w)); err != nil {
		return fmt.Errorf("%w\nthe logs are in %s", err, w.Directory())
	}
	if seen != nil {
		fmt.Println()
		if err := seen.Write(os.Stdout); err != nil {
			return fmt.Errorf("%w\nthe logs are in %s", err, w.Directory())
		}
	}
	fmt.Println()
	if err := writeBilled(billedSince(w, t.began)); err != nil {
		return err
	}
	fmt.Printf("%s took %.0f s. The functions' logs are in %s.\n", name, time.Since(began).Seconds(), w.Directory())
	if judged, ok := seen.(interface{ Check() error }); ok {
		return judged.Check()
	}
	return nil
}

// numberAsked reads a number from an environment variable, with a default.
func numberAsked(variable string, otherwise int) (int, error) {
	given := os.Getenv(variable)
	if given == "" {
		return otherwise, nil
	}
	number, err := strconv.Atoi(given)
	if err != nil || number < 1 {
		return 0, fmt.Errorf("%s is %q: give a number from 1 on", variable, given)
	}
	return number, nil
}

// invocations are a function's times.
type invocations struct {
	memoryMB          int
	processor, billed []time.Duration
}

// billedSince returns the times of each function's warm invocations since a time.
func billedSince(w *world.World, since time.Time) map[string]invocations {
	warm := map[string]invocations{}
	for _, invocation := range w.Invocations() {
		name := invocation.Function[strings.LastIndex(invocation.Function, "-")+1:]
		if !invocation.Cold && invocation.Started.After(since) {
			times := warm[name]
			warm[name] = invocations{
				invocation.MemoryMB, append(times.processor, invocation.Processor), append(times.billed, invocation.Billed),
			}
		}
	}
	return warm
}

// writeBilled prints how often the functions have run and for how long. Lambda's share of processors
// is in the billed time; the processor time is this machine's.
func writeBilled(warm map[string]invocations) error {
	rows := table{"function\twarm invocations\tmemory\tprocessor, median\tbilled, median\tlongest"}
	for _, name := range functionNames() {
		if times := warm[name]; len(times.billed) > 0 {
			rows = append(rows, fmt.Sprintf("%s\t%d\t%d MB\t%.1f ms\t%.0f ms\t%.0f ms", name, len(times.billed), times.memoryMB,
				milliseconds(median(times.processor)), milliseconds(median(times.billed)),
				milliseconds(slices.Max(times.billed))))
		}
	}
	return rows.Write(os.Stdout)
}

// applyThousand waits for the catalogue, then applies the pods that need a node each.
func applyThousand(ctx context.Context, t *trial) error {
	return applyManifest(ctx, t, "thousand.yaml")
}

// applyManifest waits for the catalogue, then applies a manifest with the cluster's name and node role.
func applyManifest(ctx context.Context, t *trial, name string) error {
	if err := scenario.WaitForCatalog(ctx, t.setup.Cluster); err != nil {
		return err
	}
	role, err := t.world.NodeRole()
	if err != nil {
		return err
	}
	return t.setup.Client.Apply(ctx, filepath.Join(t.setup.Root, "testdata", "manifests", name),
		map[string]string{"CLUSTER_NAME": t.setup.Name, "NODE_ROLE": role})
}

// pause waits, or ends with the context.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
