package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/infra/local/chaos"
	"github.com/whittle-dev/whittle/infra/local/clock"
	"github.com/whittle-dev/whittle/infra/local/unkind"
	"github.com/whittle-dev/whittle/infra/local/world"
)

const (
	// chaosSeed repeats a run. chaosMinutes sets its length.
	chaosSeed    = "CHAOS_SEED"
	chaosMinutes = "CHAOS_MINUTES"

	fullChaos = 30 // minutes

	// chaosLag is how old the API server's watch cache is.
	chaosLag = 3 * time.Second
)

// runChaos runs chaos and prints its report.
func runChaos(ctx context.Context) (failure error) {
	options := chaos.Options{Seed: rand.Uint64N(1_000_000), Length: fullChaos * time.Minute, Out: os.Stdout}
	if given := os.Getenv(chaosSeed); given != "" {
		seed, err := strconv.ParseUint(given, 10, 64)
		if err != nil {
			return fmt.Errorf("environment variable %s is %q: give a number that a run has printed", chaosSeed, given)
		}
		options.Seed = seed
	}
	if given := os.Getenv(chaosMinutes); given != "" {
		minutes, err := strconv.ParseFloat(given, 64)
		if err != nil || minutes <= 0 {
			return fmt.Errorf("environment variable %s is %q: give a number of minutes", chaosMinutes, given)
		}
		options.Length = time.Duration(minutes * float64(time.Minute))
	}
	fmt.Printf("chaos for %s with the seed %d\n", options.Length, options.Seed)
	programs, err := settable(ctx)
	if err != nil {
		return err
	}
	w, err := startWith(ctx, "chaos", interval, boot, func(o *world.Options) {
		o.Functions, o.CacheLag, o.Unkind = programs, chaosLag, &unkind.Mode{Seed: options.Seed, Boot: boot}
	})
	if err != nil {
		return err
	}
	defer func() { failure = errors.Join(failure, w.Close()) }()
	report, err := chaos.Run(ctx, w, options)
	if err := errors.Join(err, saveLogs(w)); err != nil {
		return fmt.Errorf("%w\nthe logs are in %s", err, w.Directory())
	}
	if err := report.Write(os.Stdout); err != nil {
		return fmt.Errorf("%w\nthe logs are in %s", err, w.Directory())
	}
	return nil
}

// saveLogs writes what each function has logged into the world's folder.
func saveLogs(w *world.World) (failure error) {
	for _, name := range functionNames() {
		log := strings.Join(w.FunctionLog(name), "\n")
		failure = errors.Join(failure, os.WriteFile(filepath.Join(w.Directory(), name+".log"), []byte(log), 0o644))
	}
	return failure
}

// settable builds the functions with clocks that can be set, each as NAME/bootstrap.
func settable(ctx context.Context) (string, error) {
	built, err := directory("settable")
	if err != nil {
		return "", err
	}
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if err := clock.Build(ctx, root, built, functionPrograms()); err != nil {
		return "", err
	}
	folder := filepath.Join(built, "functions")
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	for _, name := range functionNames() {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o755); err != nil {
			return "", err
		}
		if err := os.Rename(filepath.Join(built, name), filepath.Join(folder, name, "bootstrap")); err != nil {
			return "", err
		}
	}
	return folder, nil
}
