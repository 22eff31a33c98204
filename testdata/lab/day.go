package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/day"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
)

// runDay has Karpenter and Whittle serve the same compressed day in one cluster, one after the
// other.
func runDay(ctx context.Context, t *trial) (_ result, failure error) {
	options, err := dayOptions(os.Getenv("arguments"))
	if err != nil {
		return nil, err
	}
	first, second, role, err := competitors(ctx, t)
	if err != nil {
		return nil, err
	}
	options.NodeRole = role
	defer func() { failure = errors.Join(failure, first.Stop(context.WithoutCancel(ctx))) }()
	days := &twoDays{names: [2]string{first.Name, "Whittle"}}
	for i, who := range []scenario.Autoscaler{first, second} {
		options.Number = i + 1
		fmt.Printf("\na day of %s with the seed %d, by %s\n", options.Size.Length, options.Seed, who.Name)
		record, err := day.Run(ctx, t.world, who, options)
		if err != nil {
			return nil, err
		}
		days.figures[i], days.wasted, days.late = day.Evaluate(record), day.Wasted(record), record.Late
		if i == 0 {
			// Karpenter's requests and calls would count beside Whittle's.
			if err := who.Stop(ctx); err != nil {
				return nil, err
			}
		}
	}
	return days, nil
}

// twoDays are a day of each autoscaler. Waste and late pods are the second's.
type twoDays struct {
	names   [2]string
	figures [2]day.Figures
	wasted  []day.Waste
	late    string
}

// Write prints the days side by side.
func (d *twoDays) Write(out io.Writer) error {
	if err := day.Write(out, d.names, d.figures); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "\nWhittle's ticks are %s apart. Machines boot in %s.\n\n", defaultInterval,
		boot); err != nil {
		return err
	}
	return day.WriteWaste(out, d.wasted)
}

// Check fails if pods did not run after the day, or if a workload bought too much.
func (d *twoDays) Check() error {
	if d.late != "" {
		return fmt.Errorf("the day of Whittle: %s: read provision.log and lifecycle.log", d.late)
	}
	return day.CheckLaw(d.wasted)
}

// dayOptions reads the flags of a day.
func dayOptions(arguments string) (day.Options, error) {
	options := day.Options{Size: day.Full(), Out: os.Stdout}
	flags := flag.NewFlagSet("day", flag.ContinueOnError)
	short := flags.Bool("short", false, "serve a short day with fewer pods")
	minutes := flags.Float64("minutes", 0, "the length of each day, in minutes; 0 for the usual one")
	flags.Uint64Var(&options.Seed, "seed", 1, "the seed of the plan")
	if err := flags.Parse(strings.Fields(arguments)); err != nil {
		return options, fmt.Errorf("arguments is %q: %w", arguments, err)
	}
	if flags.NArg() > 0 || *minutes < 0 {
		return options, fmt.Errorf("arguments is %q: give -short, -seed N or -minutes N", arguments)
	}
	if *short {
		options.Size = day.Short()
	}
	if *minutes > 0 {
		options.Size.Length = time.Duration(*minutes * float64(time.Minute))
	}
	return options, nil
}
