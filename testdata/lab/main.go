// Command local is Whittle on one machine, without an AWS account: a real Kubernetes control plane,
// the real stack deployed by the real cdk into a local AWS, the real functions. Only EC2's machines
// are simulated.
//
// The table of experiments has the commands that start a world, let something run in it, and judge.
// Beside them, run shows the main job, up and down start and end a world for people, crash kills
// each function at each call, simulate runs the whole system in virtual time, and contract observes
// AWS.
package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/karpenter"
	"github.com/whittle-dev/whittle/testdata/lab/kubernetes"
	"github.com/whittle-dev/whittle/testdata/lab/kueue"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

const (
	clusterName = "demo"
	// The intervals and the boot are short enough to watch. EC2 takes longer, and a paid cluster
	// ticks less often.
	runInterval = 3 * time.Second
	interval    = 5 * time.Second
	// defaultInterval is the interval of a deployment that sets none.
	defaultInterval = 10 * time.Second
	boot            = 4 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	commands := map[string]func(context.Context) error{"run": run, "up": up, "down": down, "serve": serve, "bench": bench,
		"crash": killEverywhere, "attacks": tryAttacks, "simulate": runSimulation, "contract": observeContract,
		"prepare": prepare, "controllers": controllers}
	for name := range experiments() {
		commands[name] = func(ctx context.Context) error { return measure(ctx, name) }
	}
	name := ""
	if len(os.Args) == 2 {
		name = os.Args[1]
	}
	command, known := commands[name]
	if !known {
		fmt.Fprintln(os.Stderr, "usage: local "+strings.Join(slices.Sorted(maps.Keys(commands)), "|"))
		os.Exit(2)
	}
	if err := command(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "local:", err)
		stop()
		os.Exit(1)
	}
}

// directory is where a world keeps its state and logs, below the user's cache folder.
func directory(name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "whittle", name), nil
}

// builtDirectory is where a checkout keeps the programs that it compiles to test itself. Another checkout on the
// machine has others. Go takes no packages from a folder with an underscore.
func builtDirectory(name string) (folder, root string, err error) {
	root, err = os.Getwd()
	return filepath.Join(root, "build", "_"+name), root, err
}

// emptyDirectory returns the directory of that name after emptying it.
func emptyDirectory(name string) (string, error) {
	folder, err := directory(name)
	if err != nil {
		return "", err
	}
	return folder, os.RemoveAll(folder)
}

// startWith creates a world in an empty directory of that name. Boot is the machines' time from
// running to joining. change sets other options.
func startWith(
	ctx context.Context, name string, interval, boot time.Duration, change func(context.Context, *world.Options) error,
) (*world.World, error) {
	folder, err := emptyDirectory(name)
	if err != nil {
		return nil, err
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	options := world.Options{
		Root: root, Directory: folder, Cluster: clusterName, Interval: interval, Boot: boot, Progress: os.Stdout,
	}
	if change != nil {
		if err := change(ctx, &options); err != nil {
			return nil, err
		}
	}
	return world.Start(ctx, options)
}

// prepare builds the control plane unless the cache has it.
func prepare(ctx context.Context) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	_, err = kubernetes.Build(ctx, root, os.Stdout)
	return err
}

// controllers builds the controllers of others unless the cache has them.
func controllers(ctx context.Context) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	if _, err := karpenter.Build(ctx, root, karpenter.Newest, os.Stdout); err != nil {
		return err
	}
	for _, controller := range []*kueue.Controller{kueue.Kueue(), kueue.JobSet()} {
		if _, err := controller.Build(ctx, root, os.Stdout); err != nil {
			return err
		}
	}
	return nil
}

// run shows the main job and ends.
func run(ctx context.Context) (failure error) {
	fmt.Println(
		"Whittle's local run. The control plane, the stack and the functions are real; EC2 and its machines are a simulator.")
	began := time.Now()
	w, err := startWith(ctx, "run", runInterval, boot, nil)
	if err != nil {
		return err
	}
	defer func() { failure = errors.Join(failure, w.Close()) }()
	setup, err := w.Scenario(os.Stdout)
	if err != nil {
		return err
	}
	fmt.Println("to watch it in a browser while it runs: " + w.DashboardURL())
	fmt.Println()
	scenarioBegan := time.Now()
	report, err := scenario.Inflate(ctx, setup)
	if err != nil {
		return fmt.Errorf("%w\nthe logs are in %s", err, w.Directory())
	}
	report.Bounds = w.Plans()
	if err := report.Write(os.Stdout, time.Since(scenarioBegan)); err != nil {
		return err
	}
	fmt.Printf("\nThe whole run took %.0f s.\n", time.Since(began).Seconds())
	return nil
}
