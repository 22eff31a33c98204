package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/whittle-dev/whittle/testdata/lab/simulate"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/overlay"
)

// The variables of the simulation: how many seeds, the first seed, and the most minutes of real time.
const (
	simulateSeeds, simulateSeed, simulateMinutes = "SIMULATE_SEEDS", "SIMULATE_SEED", "SIMULATE_MINUTES"
	// simulateSame asks to compare several runs of the same seeds.
	simulateSame = "SIMULATE_SAME"
	defaultSeeds = 200
)

// buildSimulation compiles the simulation with the functions in it, and returns the program. More are
// planted faults.
func buildSimulation(ctx context.Context, root, folder, name string, more ...overlay.Replacement) (string, error) {
	list, err := overlay.Write(root, filepath.Join(folder, name+"-overlay"), more...)
	if err != nil {
		return "", fmt.Errorf("preparing the simulation: %w", err)
	}
	program := filepath.Join(folder, name)
	command := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", list, "-o", program,
		"./simulate/product")
	command.Dir = filepath.Join(root, "testdata/lab")
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("compiling the simulation: %w", err)
	}
	return program, nil
}

// numberOf reads a variable.
func numberOf(name string, otherwise int) (int, error) {
	text := os.Getenv(name)
	if text == "" {
		return otherwise, nil
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 0 {
		return 0, fmt.Errorf("environment variable %s is %q: write a whole number", name, text)
	}
	return number, nil
}

// chosenSeeds reads the first seed, the number of seeds, and the most minutes of real time.
func chosenSeeds() (first, seeds, minutes int, err error) {
	seeds, err = numberOf(simulateSeeds, 0)
	first, wrong := numberOf(simulateSeed, 0)
	minutes, bad := numberOf(simulateMinutes, 0)
	switch {
	case seeds == 0 && first > 0 && minutes == 0:
		seeds = 1 // one seed is replayed
	case seeds == 0 && minutes == 0:
		seeds = defaultSeeds
	case seeds == 0:
		seeds = 1 << 30
	}
	return first, seeds, minutes, errors.Join(err, wrong, bad)
}

// runSimulation simulates seeds on all processors, and prints what it has found.
func runSimulation(ctx context.Context) error {
	first, seeds, minutes, err := chosenSeeds()
	if err != nil {
		return err
	}
	folder, root, err := builtDirectory("simulate")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if name := os.Getenv(simulatePlanted); name != "" {
		return findPlanted(ctx, root, folder, name, min(seeds, plantedSeeds))
	}
	program, err := buildSimulation(ctx, root, folder, "simulation")
	if err != nil {
		return err
	}
	if err := tellScenes(ctx, program); err != nil {
		return err
	}
	began := time.Now()
	results, err := simulateSeedsWith(ctx, program, folder, max(first, 1), seeds, minutes)
	if err != nil {
		return err
	}
	report(results, time.Since(began))
	if err := explain(ctx, program, folder, results); err != nil || os.Getenv(simulateSame) == "" {
		return err
	}
	return sameSeeds(ctx, program, folder, results)
}

// tellScenes runs the tests of drains, which need the overlay.
func tellScenes(ctx context.Context, program string) error {
	command := exec.CommandContext(ctx, program, "-test.run", "^TestDrains")
	command.Env = append(os.Environ(), "SIMULATE_SCENES=1")
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("a scene of the simulation went wrong: %w\n%.9000s", err, said)
	}
	return nil
}

// comparedSeeds is how many seeds are simulated again.
const comparedSeeds = 8

// sameSeeds simulates the first seeds again, in other processes with one and with four processors, and
// compares what happened with the results.
func sameSeeds(ctx context.Context, program, folder string, results []simulate.Result) error {
	hashes := map[uint64]string{}
	for i := range results {
		hashes[results[i].Seed] = results[i].Hash
	}
	seeds := slices.Sorted(maps.Keys(hashes))
	first, number := seeds[0], min(len(seeds), comparedSeeds)
	var running errgroup.Group
	for _, processors := range []int{1, 4} {
		running.Go(func() error {
			again, err := simulateOnce(ctx, program, filepath.Join(folder, fmt.Sprint("again-", processors)),
				fmt.Sprint("SIMULATE_SEED=", first), fmt.Sprint("SIMULATE_SEEDS=", number), fmt.Sprint("GOMAXPROCS=", processors))
			if err != nil {
				return err
			}
			if len(again) != number {
				return fmt.Errorf("%d of %d seeds were simulated again", len(again), number)
			}
			for i := range again {
				if one := &again[i]; one.Hash != hashes[one.Seed] {
					return fmt.Errorf("two runs of seed %d differ, the second with %d processors", one.Seed, processors)
				}
			}
			return nil
		})
	}
	if err := running.Wait(); err != nil {
		return err
	}
	fmt.Printf("%d seeds are the same in other processes, with one and with four processors\n", number)
	return nil
}

// seedsOfProcess is how many seeds one process simulates. What earlier seeds leave in its memory
// makes it slower: after hundreds of seeds it took twice as long for each.
const seedsOfProcess = 30

// simulateSeedsWith runs the program for each processor again and again. Each takes every n-th
// seed.
func simulateSeedsWith(
	ctx context.Context, program, folder string, first, seeds, minutes int,
) ([]simulate.Result, error) {
	workers := min(runtime.NumCPU(), seeds)
	all := make([][]simulate.Result, workers)
	ends := time.Now().Add(time.Duration(minutes) * time.Minute)
	violates := func(r simulate.Result) bool { return len(r.Violations) > 0 }
	var running errgroup.Group
	for n := range workers {
		running.Go(func() error {
			file := filepath.Join(folder, fmt.Sprint("results-", n))
			mine := (seeds - n + workers - 1) / workers
			for done := 0; done < mine; done += seedsOfProcess {
				settings := []string{
					fmt.Sprint("SIMULATE_SEED=", first+n+done*workers), fmt.Sprint("SIMULATE_STEP=", workers),
					fmt.Sprint("SIMULATE_SEEDS=", min(seedsOfProcess, mine-done)),
				}
				if left := time.Until(ends); minutes > 0 && left < time.Second {
					return nil
				} else if minutes > 0 {
					settings = append(settings, fmt.Sprint("SIMULATE_SECONDS=", int(left.Seconds())))
				}
				some, err := simulateOnce(ctx, program, file, settings...)
				all[n] = append(all[n], some...)
				if err != nil || slices.ContainsFunc(some, violates) {
					return err
				}
			}
			return nil
		})
	}
	err := running.Wait()
	var results []simulate.Result
	for _, some := range all {
		results = append(results, some...)
	}
	return results, err
}

// simulateOnce runs the program with variables, and reads its results.
func simulateOnce(ctx context.Context, program, file string, settings ...string) ([]simulate.Result, error) {
	return runModelled[simulate.Result](ctx, program, "^TestSimulate$", file,
		append([]string{"SIMULATE_RESULTS=" + file}, settings...)...)
}

// runModelled runs a test of the program with variables, and reads the results that it writes into
// a file.
func runModelled[R any](ctx context.Context, program, test, file string, settings ...string) ([]R, error) {
	command := exec.CommandContext(ctx, program, "-test.run", test, "-test.timeout", "0")
	command.Env = append(append(os.Environ(), "GOMAXPROCS=1", "GOGC=400"), settings...)
	if said, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the simulation failed: %w\n%.5000s", err, said)
	}
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	var results []R
	decoder := json.NewDecoder(bufio.NewReader(opened))
	for decoder.More() {
		var result R
		if err := decoder.Decode(&result); err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, nil
}

// report prints the figures of a run.
func report(results []simulate.Result, took time.Duration) {
	var sum simulate.Result
	faults := 0
	for i := range results {
		one := &results[i]
		sum.Calls, sum.Invocations, sum.Kills = sum.Calls+one.Calls, sum.Invocations+one.Invocations, sum.Kills+one.Kills
		sum.Launches, sum.Virtual = sum.Launches+one.Launches, sum.Virtual+one.Virtual
		sum.Bound += one.Bound
		faults += len(one.Faults)
	}
	fmt.Printf("%d seeds in %s: %.0f seeds a minute, %.1f virtual hours, %d invocations, %d calls, %d faults, %d kills, "+
		"%d instances, %d pods bound by functions\n",
		len(results), took.Truncate(time.Second), float64(len(results))/took.Minutes(), sum.Virtual.Hours(),
		sum.Invocations, sum.Calls, faults, sum.Kills, sum.Launches,
		sum.Bound)
}

// explain shrinks the first seed that violates an invariant, and prints its trace.
func explain(ctx context.Context, program, folder string, results []simulate.Result) error {
	for i := range results {
		if len(results[i].Violations) == 0 {
			continue
		}
		seed := results[i].Seed
		fmt.Printf("seed %d: %s\n", seed, results[i].Violations[0])
		shrunk, err := simulateOnce(ctx, program, filepath.Join(folder, "shrunk"), fmt.Sprint("SIMULATE_SEED=", seed),
			"SIMULATE_SEEDS=1", "SIMULATE_SHRINK=1", "SIMULATE_TRACE=1")
		if err != nil {
			return err
		}
		for j := range shrunk {
			fmt.Printf("with %d faults instead of %d: %v\n", len(shrunk[j].Faults), len(results[i].Faults), shrunk[j].Faults)
			for _, line := range shrunk[j].Trace {
				fmt.Println(line)
			}
		}
		return fmt.Errorf("seed %d violates an invariant: replay it with `make simulate seed=%d`", seed, seed)
	}
	return nil
}
