package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/whittle-dev/whittle/functions/console/control"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/hours"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// sleepCluster orders that the whole cluster sleeps.
func sleepCluster(
	ctx context.Context, arguments []string, now func() time.Time, out, problems io.Writer,
) error {
	flags := flag.NewFlagSet("whittle sleep", flag.ContinueOnError)
	var way access
	way.addFlags(flags)
	var ordered control.Sleep
	flags.StringVar(&ordered.Until, "until", "", "`time` at which the sleep ends: 10h, 07:00 or \"2026-03-02 07:00\"")
	flags.StringVar(&ordered.Windows, "windows", "",
		"`windows` in which the cluster sleeps again and again, such as \"Sun-Fri 20:00-07:00; Sat,Sun\"; none removes them")
	flags.StringVar(&ordered.Zone, "time-zone", "",
		"IANA `name` of the time zone (default: that of the last order, or UTC)")
	flags.StringVar(&ordered.Reason, "reason", "", "`text` that status and the events of waiting pods show")
	if err := parse(flags, arguments, problems); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return usageProblem(problems, "whittle sleep: takes no arguments: got %q", flags.Args())
	}
	decide := func(_ *cluster.Client, soFar *hours.Order) (control.Changes, string, error) {
		changes, says, err := control.Of(ordered, soFar, now())
		if err != nil {
			err = usageProblem(problems, "whittle sleep: %s", err)
		}
		return changes, says, err
	}
	return changeControl(ctx, way, out, inventory.ClusterOrder, decide)
}

// wakeCluster ends the sleep of the whole cluster.
func wakeCluster(
	ctx context.Context, arguments []string, now func() time.Time, out, problems io.Writer,
) error {
	flags := flag.NewFlagSet("whittle wake", flag.ContinueOnError)
	var way access
	way.addFlags(flags)
	if err := parse(flags, arguments, problems); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return usageProblem(problems, "whittle wake: takes no arguments: got %q", flags.Args())
	}
	decide := func(_ *cluster.Client, soFar *hours.Order) (control.Changes, string, error) {
		changes, says := control.Wake(soFar, now())
		return changes, says, nil
	}
	return changeControl(ctx, way, out, inventory.ClusterOrder, decide)
}

// changeControl reads orders of the ConfigMap, writes what decide makes of them, and says what that comes
// to. An order that cannot be read counts as none, and the command replaces what it can.
func changeControl[T any](
	ctx context.Context, way access, out io.Writer, read func(context.Context, inventory.Store) (T, error),
	decide func(*cluster.Client, T) (control.Changes, string, error),
) error {
	client, err := way.connect()
	if err != nil {
		return err
	}
	soFar, err := read(ctx, client)
	if err != nil {
		return mend(err, client.Endpoint)
	}
	changes, says, err := decide(client, soFar)
	if err != nil {
		return err
	}
	if changes != nil {
		if err := inventory.ChangeControl(ctx, client, changes); err != nil {
			return mend(err, client.Endpoint)
		}
	}
	_, err = fmt.Fprintln(out, says)
	return err
}
