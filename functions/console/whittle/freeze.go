package main

import (
	"cmp"
	"context"
	"flag"
	"io"
	"os"
	"time"

	"github.com/whittle-dev/whittle/functions/console/control"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// freezeCluster orders that Whittle begins no disruption. It needs no function of Whittle.
func freezeCluster(
	ctx context.Context, arguments []string, now func() time.Time, out, problems io.Writer,
) error {
	flags := flag.NewFlagSet("whittle freeze", flag.ContinueOnError)
	var way access
	way.addFlags(flags)
	var ordered control.Freeze
	flags.StringVar(&ordered.Pool, "pool", "", "`name` of the NodePool (default: the whole cluster)")
	flags.StringVar(&ordered.For, "for", "", "`time` for which it lasts, such as 2h (default: until whittle thaw)")
	flags.StringVar(&ordered.Reason, "reason", "", "`text` that status and events show")
	flags.BoolVar(&ordered.Launches, "launches", false,
		"also launch no nodes: pods wait, and so do those of interrupted nodes")
	flags.BoolVar(&ordered.Drains, "drains", false,
		"also halt the drains that Whittle began by itself: no more evictions, and no instance ends")
	if err := parse(flags, arguments, problems); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return usageProblem(problems, "whittle freeze: takes no arguments: got %q", flags.Args())
	}
	decide := func(client *cluster.Client, _ *freeze.Freezes) (control.Changes, string, error) {
		ordered.Who = whoAmI(ctx, client)
		changes, says, err := control.FreezeOf(ordered, poolNames(ctx, client), now())
		if err != nil {
			err = usageProblem(problems, "whittle freeze: %s", err)
		}
		return changes, says, err
	}
	return changeControl(ctx, way, out, inventory.Freezes, decide)
}

// thawCluster ends a freeze.
func thawCluster(
	ctx context.Context, arguments []string, now func() time.Time, out, problems io.Writer,
) error {
	flags := flag.NewFlagSet("whittle thaw", flag.ContinueOnError)
	var way access
	way.addFlags(flags)
	pool := flags.String("pool", "", "`name` of the NodePool (default: the whole cluster)")
	if err := parse(flags, arguments, problems); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return usageProblem(problems, "whittle thaw: takes no arguments: got %q", flags.Args())
	}
	decide := func(_ *cluster.Client, soFar *freeze.Freezes) (control.Changes, string, error) {
		changes, says := control.Thaw(*pool, soFar, now())
		return changes, says, nil
	}
	return changeControl(ctx, way, out, inventory.Freezes, decide)
}

// whoAmI is the person as the API server knows it, or as the shell does where the server does not
// tell.
func whoAmI(ctx context.Context, client *cluster.Client) string {
	name, err := client.WhoAmI(ctx)
	if err != nil {
		name = ""
	}
	return cmp.Or(name, os.Getenv("USER"))
}

// poolNames are the names of all NodePools, or nil where they cannot be read. A freeze must not
// depend on more than its own ConfigMap.
func poolNames(ctx context.Context, client *cluster.Client) []string {
	pools, err := client.NodePools(ctx)
	if err != nil {
		return nil
	}
	names := make([]string, len(pools))
	for i := range pools {
		names[i] = pools[i].Name
	}
	return names
}
