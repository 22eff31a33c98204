package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/whittle-dev/whittle/functions/console/objects"
	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// mostNodes is how many nodes a table shows without -A.
const mostNodes = 20

// showStatus shows a cluster's current state.
func showStatus(ctx context.Context, arguments []string, now func() time.Time, out, problems io.Writer) error {
	flags := flag.NewFlagSet("whittle status", flag.ContinueOnError)
	kubeconfig := flags.String(
		"kubeconfig", "", "kubeconfig `file` of the cluster (default: KUBECONFIG, or .kube/config at home)",
	)
	kubecontext := flags.String("context", "", "`name` of the context in it (default: its current one)")
	karpenter := cluster.KarpenterAccounts()
	flags.Func("karpenter-service-accounts", "the deployment's setting karpenterServiceAccounts: `list` of NAMESPACE/NAME",
		func(list string) (err error) {
			karpenter, err = cluster.ParseServiceAccounts(list)
			return err
		})
	all := flags.Bool("A", false, fmt.Sprintf("show all nodes, not the %d most important", mostNodes))
	output := flags.String("output", "table", "`form` of the output: table or json")
	flags.StringVar(output, "o", "table", "short for -output")
	if err := parse(flags, arguments, problems); err != nil {
		return err
	}
	if flags.NArg() > 0 || *output != "table" && *output != "json" {
		fmt.Fprintf(
			problems, "whittle status: takes no arguments, and -output is table or json: got %q and -output %q\n", flags.Args(),
			*output,
		)
		return errUsage
	}
	client, err := connect(*kubeconfig, *kubecontext)
	if err != nil {
		return err
	}
	read, err := objects.Read(ctx, client, karpenter, now())
	if err != nil {
		return mend(err, client.Endpoint)
	}
	shown := view.Of(read, now())
	if *output == "table" {
		most := mostNodes
		if *all {
			most = 0
		}
		return shown.WriteTables(out, most)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(shown)
}
