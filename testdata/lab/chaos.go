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

	"github.com/whittle-dev/whittle/testdata/lab/chaos"
	"github.com/whittle-dev/whittle/testdata/lab/clock"
	"github.com/whittle-dev/whittle/testdata/lab/unkind"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// chaosLag is how old the API server's watch cache is.
const chaosLag = 3 * time.Second

// chaosRun is a run of chaos.
type chaosRun struct{ of chaos.Options }

// options reads the seed and the minutes, and lets everything in the world be disturbed.
func (c *chaosRun) options(ctx context.Context, o *world.Options) (err error) {
	c.of = chaos.Options{Seed: rand.Uint64N(1_000_000), Length: 30 * time.Minute, Out: os.Stdout}
	if given := os.Getenv("seed"); given != "" {
		if c.of.Seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			return fmt.Errorf("seed is %q: give a number that a run has printed", given)
		}
	}
	if given := os.Getenv("minutes"); given != "" {
		minutes, err := strconv.ParseFloat(given, 64)
		if err != nil || minutes <= 0 {
			return fmt.Errorf("minutes is %q: give a number of minutes", given)
		}
		c.of.Length = time.Duration(minutes * float64(time.Minute))
	}
	fmt.Printf("chaos for %s with the seed %d\n", c.of.Length, c.of.Seed)
	o.Functions, err = settable(ctx)
	o.CacheLag, o.Unkind = chaosLag, &unkind.Mode{Seed: c.of.Seed, Boot: boot}
	return err
}

func (c *chaosRun) run(ctx context.Context, t *trial) (result, error) {
	return chaos.Run(ctx, t.world, c.of)
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
	built, root, err := builtDirectory("settable")
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
