package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/whittle-dev/whittle/infra/local/scenario"
)

// stormNodes gives the storm another size than the full one.
const stormNodes = "STORM_NODES"

// storm warns a whole cluster at once and prints how long each step took.
func storm(ctx context.Context) (failure error) {
	size := scenario.FullStorm()
	if given := os.Getenv(stormNodes); given != "" {
		nodes, err := strconv.Atoi(given)
		if err != nil || nodes < 1 {
			return fmt.Errorf("environment variable %s is %q: give a number of nodes", stormNodes, given)
		}
		size = size.Of(nodes)
	}
	w, err := start(ctx, "storm", interval)
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
	fmt.Printf("The storm took %.0f s.\n", time.Since(began).Seconds())
	return nil
}
