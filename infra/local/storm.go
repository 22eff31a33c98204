package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/infra/local/scenario"
	"github.com/whittle-dev/whittle/infra/local/world"
)

// stormNodes is the variable that sets the storm's number of nodes.
const stormNodes = "STORM_NODES"

// numberAsked reads a number, such as that of nodes, from an environment variable, with a default.
func numberAsked(variable string, otherwise int) (int, error) {
	given := os.Getenv(variable)
	if given == "" {
		return otherwise, nil
	}
	number, err := strconv.Atoi(given)
	if err != nil || number < 1 {
		return 0, fmt.Errorf("environment variable %s is %q: give a number from 1 on", variable, given)
	}
	return number, nil
}

// storm warns a whole cluster at once and prints the duration of each step.
func storm(ctx context.Context) (failure error) {
	size := scenario.FullStorm()
	nodes, err := numberAsked(stormNodes, size.Nodes)
	if err != nil {
		return err
	}
	size = size.Of(nodes)
	w, err := start(ctx, "storm", interval, boot)
	if err != nil {
		return err
	}
	defer func() { failure = errors.Join(failure, w.Close()) }()
	setup, err := w.Scenario(os.Stdout)
	if err != nil {
		return err
	}
	began := time.Now()
	report, err := scenario.Storm(ctx, setup, w, size)
	if err != nil {
		return fmt.Errorf("%w\nthe logs are in %s", err, w.Directory())
	}
	if err := report.Write(os.Stdout); err != nil {
		return err
	}
	if err := busy(w, report.Began); err != nil {
		return err
	}
	fmt.Printf("The storm took %.0f s.\n", time.Since(began).Seconds())
	return nil
}

// busy prints how often and for how long the functions have run since a time, and keeps their logs.
func busy(w *world.World, since time.Time) error {
	billed := map[string][]time.Duration{}
	for _, invocation := range w.Invocations() {
		if name := invocation.Function[strings.LastIndex(invocation.Function, "-")+1:]; invocation.Started.After(since) {
			billed[name] = append(billed[name], invocation.Billed)
		}
	}
	rows := []string{"", "function\tinvocations\tbilled, median\tlongest"}
	for _, name := range slices.Sorted(maps.Keys(billed)) {
		rows = append(rows, fmt.Sprintf("%s\t%d\t%.0f ms\t%.0f ms", name, len(billed[name]),
			milliseconds(median(billed[name])), milliseconds(slices.Max(billed[name]))))
	}
	for _, name := range []string{"interrupt", "provision", "lifecycle", "disrupt"} {
		log := strings.Join(w.FunctionLog(name), "\n")
		if err := os.WriteFile(filepath.Join(w.Directory(), name+".log"), []byte(log), 0o644); err != nil {
			return err
		}
	}
	return scenario.WriteTable(os.Stdout, append(rows, "", "the functions' logs are in "+w.Directory(), ""))
}
