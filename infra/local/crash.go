package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/whittle-dev/whittle/infra/local/clock"
	"github.com/whittle-dev/whittle/infra/local/crash"
	"github.com/whittle-dev/whittle/infra/local/kubernetes"
)

// crashStory names the stories to tell, by parts of their titles with bars between them; all if it is not set.
const crashStory = "CRASH_STORY"

// crashWorlds is how many stories are told side by side: as many as a small machine has processors.
const crashWorlds = 2

// functionNames are all functions.
func functionNames() []string {
	return []string{"ticker", "provision", "interrupt", "lifecycle", "disrupt", "catalog", "install", "console"}
}

// functionPackages are their packages.
func functionPackages() []string {
	var packages []string
	for _, name := range functionNames() {
		packages = append(packages, "./functions/"+name)
	}
	return packages
}

// killEverywhere kills each function at each of its calls and prints what came of it.
func killEverywhere(ctx context.Context) (failure error) {
	stories := crash.Select(crash.Stories(), os.Getenv(crashStory))
	if len(stories) == 0 {
		return fmt.Errorf("environment variable %s is %q: no story's title, such as provision/no room on spot, contains it", crashStory, os.Getenv(crashStory))
	}
	folder, err := directory("crash")
	if err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	began := time.Now()
	binary, err := kubernetes.Build(ctx, root, os.Stdout)
	if err != nil {
		return err
	}
	programs := filepath.Join(folder, "functions")
	if err := clock.Build(ctx, root, programs, functionPackages()...); err != nil {
		return err
	}
	fmt.Printf("the functions are built with a clock that can be set, after %.0f s\n", time.Since(began).Seconds())
	matrix := &crash.Matrix{Worlds: make([]*crash.World, crashWorlds), Told: func(row *crash.Row) {
		violations := row.Violations()
		fmt.Printf("%6.0fs  %s: %s: %d calls, %d kills in %d tellings, %d violations\n", time.Since(began).Seconds(), row.Story.Function, row.Story.Name, row.Calls, row.Kills, row.Told, len(violations))
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
	var opening errgroup.Group
	for i := range matrix.Worlds {
		opening.Go(func() (err error) {
			matrix.Worlds[i], err = crash.Open(ctx, crash.Options{ControlPlane: binary, Functions: programs, Directory: filepath.Join(folder, fmt.Sprint("world-", i))})
			return err
		})
	}
	if err := opening.Wait(); err != nil {
		return err
	}
	rows, failed := matrix.Run(ctx, stories)
	fmt.Println()
	unmade, err := crash.Unreached(root, rows)
	if err != nil {
		return errors.Join(failed, err)
	}
	well, err := crash.Write(os.Stdout, rows, unmade)
	if err = errors.Join(failed, err); err != nil {
		return errors.Join(err, keepLogs(folder, rows))
	}
	fmt.Printf("The matrix took %.0f s.\n", time.Since(began).Seconds())
	if well {
		return nil
	}
	return errors.Join(errors.New("a function that is killed does harm"), keepLogs(folder, rows))
}

// keepLogs writes what the functions said around each fault into files.
func keepLogs(folder string, rows []*crash.Row) error {
	count := 0
	for _, row := range rows {
		for _, fault := range row.Faults {
			count++
			file := filepath.Join(folder, fmt.Sprintf("fault-%d-%s.log", count, row.Story.Function))
			if err := os.WriteFile(file, []byte(row.Story.Name+"\n"+fault.String()+"\n\n"+fault.Log), 0o644); err != nil {
				return err
			}
			fmt.Println("the functions' words are in", file)
		}
	}
	return nil
}
