package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/lambda"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

const (
	// starts is how often each function is started; the report has the median.
	starts = 9
	// idle is how long an idle cluster is measured.
	idle = time.Minute
)

// bench prints sizes and times. It has no limits to pass, because machines differ and this one may
// be busy.
func bench(ctx context.Context) error {
	rows := []string{fmt.Sprintf("function\tarm64 zip\texec to first /next, median of %d", starts)}
	archives, err := filepath.Glob(filepath.Join("build", "functions", "arm64", "*.zip"))
	if err != nil {
		return err
	}
	if len(archives) == 0 {
		return fmt.Errorf("there are no archives under build/functions/arm64: run `make build`")
	}
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), ".zip")
		info, err := os.Stat(archive)
		if err != nil {
			return err
		}
		bootstrap := filepath.Join("build", "functions", world.Architecture(), name, "bootstrap")
		var times []time.Duration
		for range starts {
			took, err := lambda.TimeToNext(ctx, bootstrap)
			if err != nil {
				return fmt.Errorf("starting function %s: %w", name, err)
			}
			times = append(times, took)
		}
		rows = append(rows, fmt.Sprintf("%s\t%.1f MB\t%.1f ms", name, float64(info.Size())/1e6, milliseconds(median(times))))
	}
	if err := scenario.WriteTable(os.Stdout, rows); err != nil {
		return err
	}
	for _, name := range []string{"bench-world", "bench-launch", "bench-month"} {
		if err := measure(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// benchWorld measures an idle minute, then the main job.
func benchWorld(ctx context.Context, t *trial) (result, error) {
	fmt.Printf("\nan idle minute, ticks each %s:\n", interval)
	if err := pause(ctx, idle); err != nil {
		return nil, err
	}
	warm := billedSince(t.world, t.began)
	if err := writeBilled(warm); err != nil {
		return nil, err
	}
	report, err := scenario.Inflate(ctx, t.setup)
	if err != nil {
		return nil, err
	}
	report.Bounds = t.world.Plans()
	if err := report.Write(os.Stdout, time.Since(t.began)); err != nil {
		return nil, err
	}
	return nil, benchWaiting(ctx, t.world, t.setup, median(warm["lifecycle"].billed))
}

// benchWaiting measures for a minute what lifecycle bills while a disruption budget holds up a
// drain, and extrapolates to an hour. From the fifth minute on, only ticks look at a drain that
// does not move: sixty an hour, which lifecycle's tests count.
func benchWaiting(ctx context.Context, w *world.World, setup scenario.Setup, idling time.Duration) error {
	end, err := scenario.Wait(ctx, setup)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := pause(ctx, idle); err != nil {
		return err
	}
	looks := billedSince(w, began)["lifecycle"].billed
	if len(looks) == 0 {
		return fmt.Errorf("lifecycle was not invoked within %s", idle)
	}
	each := milliseconds(median(looks))
	fmt.Printf("\na drain that waits: %d invocations of lifecycle in its first minute, %.0f ms each (median); later 60 "+
		"an hour: %.0f ms billed an hour, %.0f ms of them in an idle one too\n",
		len(looks), each, 60*each, 60*milliseconds(idling))
	return end(ctx)
}
