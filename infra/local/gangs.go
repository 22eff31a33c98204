package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/whittle-dev/whittle/infra/local/gangs"
)

const (
	// gangsAsked is the variable with the number of gangs.
	gangsAsked   = "GANGS"
	defaultGangs = 1000
	// gangsBoot is that of EC2's fastest machines. A pass that looks for another place for the rest
	// of a gang must be over before: the scheduler knows of no gangs.
	gangsBoot = 20 * time.Second
)

// measureGangs lets random gangs run on an EC2 that lacks most of its offerings.
func measureGangs(ctx context.Context) (failure error) {
	count, err := numberAsked(gangsAsked, defaultGangs)
	if err != nil {
		return err
	}
	w, err := start(ctx, "gangs", interval, gangsBoot)
	if err != nil {
		return err
	}
	defer func() { failure = errors.Join(failure, w.Close()) }()
	setup, err := w.Scenario(io.Discard)
	if err != nil {
		return err
	}
	began := time.Now()
	result, err := gangs.Run(ctx, setup, w.EC2, count, os.Stdout)
	if err != nil {
		return fmt.Errorf("%w\nthe logs are in %s", err, w.Directory())
	}
	fmt.Println()
	if err := result.Write(os.Stdout); err != nil {
		return err
	}
	fmt.Printf("The gangs took %.0f s.\n", time.Since(began).Seconds())
	return result.Check()
}
