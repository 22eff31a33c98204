package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/functions/console/cost"
	"github.com/whittle-dev/whittle/functions/console/objects"
	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// mostCosts is how many rows of the bill a table shows without -A.
const mostCosts = 20

// formCSV is a table for other programs.
const formCSV = "csv"

// showCost shows who uses what of the bill.
func showCost(ctx context.Context, arguments []string, now func() time.Time, out, problems io.Writer) error {
	flags := flag.NewFlagSet("whittle cost", flag.ContinueOnError)
	var way access
	way.addFlags(flags)
	var by cost.By
	flags.Func("by", "share the bill among `who`: namespace (default), nodepool or label:KEY",
		func(text string) (err error) { by, err = parseBy(text); return err })
	all := flags.Bool("A", false, fmt.Sprintf("show all rows, not the %d dearest", mostCosts))
	var output form
	outputFlag(flags, &output, formTable, formJSON, formYAML, formCSV)
	if err := parse(flags, arguments, problems); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return usageProblem(problems, "whittle cost: takes no arguments: got %q", flags.Args())
	}
	client, err := way.connect()
	if err != nil {
		return err
	}
	read, err := objects.Read(ctx, client, cluster.KarpenterAccounts(), now())
	if err != nil {
		return mend(err, client.Endpoint)
	}
	shared := cost.Of(read, view.Of(read, now()), by)
	switch {
	case output.isForPrograms():
		return output.write(out, shared, "rows")
	case output.kind == formCSV:
		return shared.WriteCSV(out)
	}
	most := mostCosts
	if *all {
		most = 0
	}
	return shared.WriteText(out, most, styleOf(out))
}

// parseBy reads among whom the bill is shared.
func parseBy(text string) (cost.By, error) {
	if key, is := strings.CutPrefix(text, "label:"); is && key != "" {
		return cost.By{Label: key}, nil
	}
	switch text {
	case "namespace":
		return cost.By{}, nil
	case "nodepool":
		return cost.By{NodePool: true}, nil
	}
	return cost.By{}, fmt.Errorf("want namespace, nodepool or label:KEY%s", meant(text, []string{"namespace", "nodepool"}))
}
