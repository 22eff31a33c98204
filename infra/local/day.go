package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/infra/local/day"
	"github.com/whittle-dev/whittle/infra/local/scenario"
	"github.com/whittle-dev/whittle/infra/local/world"
)

// dayArguments is the variable with the flags of a day, such as -short.
const dayArguments = "DAY_ARGUMENTS"

// runDay has Karpenter and Whittle serve the same compressed day in one cluster, one after the
// other.
func runDay(ctx context.Context) (failure error) {
	began := time.Now()
	options, err := dayOptions(os.Getenv(dayArguments))
	if err != nil {
		return err
	}
	w, err := startWith(ctx, "day", defaultInterval, boot, func(options *world.Options) {
		options.Bare, options.Audit = true, true
	})
	if err != nil {
		return err
	}
	defer func() { failure = errors.Join(failure, w.Close()) }()
	if err := w.InstallKarpenter(ctx); err != nil {
		return fmt.Errorf("installing Karpenter: %w", err)
	}
	setup, err := w.Scenario(os.Stdout)
	if err != nil {
		return err
	}
	role, arn := w.KarpenterNodeRole()
	options.NodeRole = role
	first, second := karpenterItself(w, setup), whittle(w, setup, arn, "adaptive")
	defer func() { failure = errors.Join(failure, first.Stop(context.WithoutCancel(ctx))) }()
	var figures [2]day.Figures
	var wasted []day.Waste
	late := ""
	for i, who := range []scenario.Autoscaler{first, second} {
		options.Number = i + 1
		fmt.Printf("\na day of %s with the seed %d, by %s\n", options.Size.Length, options.Seed, who.Name)
		record, err := day.Run(ctx, w, who, options)
		if err != nil {
			return fmt.Errorf("%w\nthe logs are in %s", errors.Join(err, saveLogs(w)), w.Directory())
		}
		figures[i], wasted, late = day.Evaluate(record), day.Wasted(record), record.Late
		if i == 0 {
			// Karpenter's requests and calls would count beside Whittle's.
			if err := who.Stop(ctx); err != nil {
				return err
			}
		}
	}
	fmt.Println()
	if err := errors.Join(saveLogs(w), day.Write(os.Stdout, [2]string{first.Name, "Whittle"}, figures)); err != nil {
		return err
	}
	fmt.Println()
	if err := day.WriteWaste(os.Stdout, wasted); err != nil {
		return err
	}
	fmt.Printf("\nWhittle's ticks are %s apart. Machines boot in %s. Both days took %.0f s. The logs are in %s.\n",
		defaultInterval, boot, time.Since(began).Seconds(), w.Directory())
	if late != "" {
		return fmt.Errorf("the day of %s: %s: read provision.log and lifecycle.log", second.Name, late)
	}
	return day.CheckLaw(wasted)
}

// dayOptions reads the flags of a day.
func dayOptions(arguments string) (day.Options, error) {
	options := day.Options{Size: day.Full(), Out: os.Stdout}
	flags := flag.NewFlagSet("day", flag.ContinueOnError)
	short := flags.Bool("short", false, "serve a short day with fewer pods")
	minutes := flags.Float64("minutes", 0, "the length of each day, in minutes; 0 for the usual one")
	flags.Uint64Var(&options.Seed, "seed", 1, "the seed of the plan")
	if err := flags.Parse(strings.Fields(arguments)); err != nil {
		return options, fmt.Errorf("environment variable %s is %q: %w", dayArguments, arguments, err)
	}
	if flags.NArg() > 0 || *minutes < 0 {
		return options, fmt.Errorf("environment variable %s is %q: give -short, -seed N or -minutes N", dayArguments,
			arguments)
	}
	if *short {
		options.Size = day.Short()
	}
	if *minutes > 0 {
		options.Size.Length = time.Duration(*minutes * float64(time.Minute))
	}
	return options, nil
}
