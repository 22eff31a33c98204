package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/whittle-dev/whittle/testdata/lab/clock"
	"github.com/whittle-dev/whittle/testdata/lab/crash"
	"github.com/whittle-dev/whittle/testdata/lab/kubernetes"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/overlay"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/planted"
)

const (
	// crashScenario is the variable that selects scenarios by parts of their titles, separated by
	// bars. Without it all run.
	crashScenario = "CRASH_SCENARIO"
	// crashPart is the variable that chooses a part of the kills, such as 2/4. Without it all happen.
	crashPart = "CRASH_PART"
	// crashReal is the variable that asks for the functions' processes and a real control plane.
	// Without it handlers run in virtual time, with a model of the API server.
	crashReal = "CRASH_REAL"
)

// crashWorlds is the number of worlds that run trials side by side, one for each processor of a
// small machine.
const crashWorlds = 2

// functionNames returns the names of all functions.
func functionNames() []string {
	return []string{"ticker", "provision", "interrupt", "lifecycle", "disrupt", "watch", "catalog", "install", "console"}
}

// functionPrograms returns the packages of the functions' programs by the functions' names.
func functionPrograms() map[string]string {
	programs := map[string]string{}
	for _, name := range functionNames() {
		programs[name] = "./functions/" + name + "/cmd"
	}
	return programs
}

// chosen are the scenarios and the part of the kills that the environment names.
func chosen() ([]crash.Scenario, crash.Sweep, error) {
	scenarios := crash.Select(crash.Scenarios(), os.Getenv(crashScenario))
	if len(scenarios) == 0 {
		return nil, crash.Sweep{}, fmt.Errorf(
			"environment variable %s is %q: no scenario has a title that contains it, such as provision/no room on spot",
			crashScenario,
			os.Getenv(crashScenario))
	}
	sweep, err := crash.ParseSweep(os.Getenv(crashPart))
	if err != nil {
		return nil, crash.Sweep{}, fmt.Errorf("environment variable %s: %w", crashPart, err)
	}
	return scenarios, sweep, nil
}

// openWorlds opens the worlds at the same time.
func openWorlds(ctx context.Context, worlds []*crash.World, controlPlane, programs, folder string) error {
	var opening errgroup.Group
	for i := range worlds {
		opening.Go(func() (err error) {
			worlds[i], err = crash.Open(ctx, crash.Options{
				ControlPlane: controlPlane, Functions: programs, Directory: filepath.Join(folder, fmt.Sprint("world-", i)),
			})
			return err
		})
	}
	return opening.Wait()
}

// killEverywhere runs the crash matrix and prints its report.
func killEverywhere(ctx context.Context) error {
	scenarios, sweep, err := chosen()
	if err != nil {
		return err
	}
	folder, root, err := builtDirectory("crash")
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o755)); err != nil {
		return err
	}
	began := time.Now()
	kill := killModels
	if os.Getenv(crashReal) != "" {
		kill = killProcesses
	}
	rows, err := kill(ctx, root, folder, scenarios, sweep)
	if err != nil {
		return errors.Join(err, keepLogs(folder, rows))
	}
	var unmade []string
	if len(scenarios) == len(crash.Scenarios()) { // some scenarios use some rights
		if unmade, err = crash.Unreached(root, rows); err != nil {
			return err
		}
	}
	fmt.Println()
	well, err := crash.Write(os.Stdout, rows, unmade)
	if err != nil {
		return errors.Join(err, keepLogs(folder, rows))
	}
	fmt.Printf("The matrix took %.0f s.\n", time.Since(began).Seconds())
	if well {
		return nil
	}
	return errors.Join(errors.New("the crash matrix has violations"), keepLogs(folder, rows))
}

// killModels runs the matrix in virtual time, with a process for each processor.
func killModels(
	ctx context.Context, root, folder string, scenarios []crash.Scenario, _ crash.Sweep,
) ([]*crash.Row, error) {
	var plant []overlay.Replacement
	if name := os.Getenv(simulatePlanted); name != "" {
		at := slices.IndexFunc(planted.Faults(), func(fault planted.Fault) bool { return fault.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("environment variable %s is %q: no planted fault has that name", simulatePlanted, name)
		}
		plant = planted.Faults()[at].Replacements
	}
	program, err := buildSimulation(ctx, root, folder, "crash", plant...)
	if err != nil {
		return nil, err
	}
	processes := make([][]*crash.Row, runtime.NumCPU())
	var running errgroup.Group
	for n := range processes {
		running.Go(func() (err error) {
			file := filepath.Join(folder, fmt.Sprint("results-", n))
			processes[n], err = runModelled[*crash.Row](ctx, program, "^TestCrash$", file, "CRASH_RESULTS="+file,
				fmt.Sprint("CRASH_SHARE=", n), fmt.Sprint("CRASH_SHARES=", len(processes)))
			return err
		})
	}
	if err := running.Wait(); err != nil {
		return nil, err
	}
	return crash.Merge(scenarios, processes), nil
}

// killProcesses runs the matrix with the functions' processes and real control planes.
func killProcesses(
	ctx context.Context, root, folder string, scenarios []crash.Scenario, sweep crash.Sweep,
) (rows []*crash.Row, failure error) {
	began := time.Now()
	binary, err := kubernetes.Build(ctx, root, os.Stdout)
	if err != nil {
		return nil, err
	}
	programs := filepath.Join(folder, "functions")
	if err := clock.Build(ctx, root, programs, functionPrograms()); err != nil {
		return nil, err
	}
	fmt.Printf("the functions are built with a clock that can be set, after %.0f s\n", time.Since(began).Seconds())
	matrix := &crash.Matrix{Worlds: make([]*crash.World, crashWorlds), Sweep: sweep, Finished: func(row *crash.Row) {
		violations := row.Violations()
		fmt.Printf("%6.0fs  %s: %s: %d calls, %d kills in %d trials, %d violations\n", time.Since(began).Seconds(),
			row.Scenario.Function, row.Scenario.Name, row.Calls, row.Kills, row.Trials, len(violations))
		for _, violation := range violations {
			fmt.Println("        ", violation)
		}
	}}
	defer func() {
		for _, world := range matrix.Worlds {
			if world != nil {
				failure = errors.Join(failure, world.Close())
			}
		}
	}()
	if err := openWorlds(ctx, matrix.Worlds, binary, programs, folder); err != nil {
		return nil, err
	}
	return matrix.Run(ctx, scenarios)
}

// keepLogs writes the functions' logs of each faulty trial into files.
func keepLogs(folder string, rows []*crash.Row) error {
	count := 0
	for _, row := range rows {
		for _, fault := range row.Faults {
			count++
			file := filepath.Join(folder, fmt.Sprintf("fault-%d-%s.log", count, row.Scenario.Function))
			if err := os.WriteFile(file, []byte(row.Scenario.Name+"\n"+fault.String()+"\n\n"+fault.Log), 0o644); err != nil {
				return err
			}
			fmt.Println("the functions' logs are in", file)
		}
	}
	return nil
}
