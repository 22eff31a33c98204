package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/whittle-dev/whittle/functions/console/live"
	"github.com/whittle-dev/whittle/functions/console/objects"
	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// mostNodes is how many nodes a table shows without -A.
const mostNodes = 20

// showStatus shows a cluster's current state.
func showStatus(
	ctx context.Context, arguments []string, now func() time.Time, in io.Reader, out, problems io.Writer,
) error {
	flags := flag.NewFlagSet("whittle status", flag.ContinueOnError)
	var way access
	way.addFlags(flags)
	karpenter := cluster.KarpenterAccounts()
	flags.Func("karpenter-service-accounts", "the deployment's setting karpenterServiceAccounts: `list` of NAMESPACE/NAME",
		func(list string) (err error) {
			karpenter, err = cluster.ParseServiceAccounts(list)
			return err
		})
	all := flags.Bool("A", false, fmt.Sprintf("show all nodes, not the %d most important", mostNodes))
	var only view.Selection
	for _, name := range []string{"n", "namespace"} {
		flags.StringVar(&only.Namespace, name, "", "show the pending pods of the namespace of this `name` alone")
	}
	for _, name := range []string{"l", "selector"} {
		flags.Func(name, "show the nodes with these `labels` alone, as in kubectl: team=a,tier!=gold",
			func(text string) (err error) { only.Nodes, err = labels.Parse(text); return err })
	}
	var columns []string
	for _, name := range []string{"L", "label-columns"} {
		flags.Func(name, "`keys` of labels that get a column each, as in kubectl: team,topology.kubernetes.io/zone",
			func(text string) error { columns = append(columns, splitList(text)...); return nil })
	}
	watch := flags.Bool("watch", false, "show a live view that keys sort and filter; enter explains a node, q ends it")
	var output form
	outputFlag(flags, &output, formTable, formWide, formJSON, formYAML, formName)
	if err := parse(flags, arguments, problems); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return usageProblem(problems, "whittle status: takes no arguments: got %q", flags.Args())
	}
	client, err := way.connect()
	if err != nil {
		return err
	}
	read := func(ctx context.Context) (*view.View, error) {
		all, err := objects.Read(ctx, client, karpenter, now())
		if err != nil {
			return nil, mend(err, client.Endpoint)
		}
		return view.Of(only.Of(all), now()), nil
	}
	if *watch {
		return watchStatus(ctx, watching{read, explainRow(way, now), live.New(columns)}, in, out)
	}
	shown, err := read(ctx)
	if err != nil {
		return err
	}
	switch {
	case output.isForPrograms():
		return output.write(out, shown, "nodes")
	case output.kind == formName:
		return shown.WriteNames(out)
	}
	most := mostNodes
	if *all || output.kind == formWide {
		most = 0
	}
	return shown.WriteTables(out, view.Form{
		Most: most, Wide: output.kind == formWide, Labels: columns, Style: styleOf(out),
	})
}

// splitList splits a list of names at its commas.
func splitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}
