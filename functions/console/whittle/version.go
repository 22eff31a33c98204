package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"runtime"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/status"
	"github.com/whittle-dev/whittle/shared/version"
)

// showVersion prints the version of the command line, and with -deployed those of the cluster's parts.
func showVersion(ctx context.Context, arguments []string, out, problems io.Writer) error {
	flags := flag.NewFlagSet("whittle version", flag.ContinueOnError)
	deployed := flags.Bool("deployed", false, "also the versions in the cluster, and which of them is behind")
	var way access
	way.addFlags(flags)
	var output form
	outputFlag(flags, &output, formText, formJSON, formYAML)
	if err := parse(flags, arguments, problems); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return usageProblem(problems, "whittle version: takes no arguments: got %q", flags.Args())
	}
	parts := []part{{
		Name: "command line", Version: version.Version, Remedy: "install the command line of the newest version",
	}}
	if *deployed {
		client, err := way.connect()
		if err != nil {
			return err
		}
		found, err := deployedParts(ctx, client)
		if err != nil {
			return mend(err, client.Endpoint)
		}
		parts = append(parts, found...)
	}
	parts = compared(parts)
	if output.isForPrograms() {
		shown := map[string]any{"version": version.Version, "commit": version.Commit(), "go": runtime.Version()}
		if *deployed {
			shown["parts"] = parts
		}
		return output.write(out, shown, "")
	}
	for i, p := range parts {
		line := fmt.Sprintf("%s %s", p.Name, p.Version)
		if i == 0 {
			line = "whittle " + version.String()
		}
		if p.Remedy != "" {
			line += ": " + p.Remedy
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

// part is a part of an installation. Remedy is what to do where it is behind, or its version is unknown.
type part struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Remedy  string `json:"remedy,omitempty"`
}

// deployedParts reads the versions of a cluster's parts. An unknown one is empty.
func deployedParts(ctx context.Context, client *cluster.Client) ([]part, error) {
	stored, err := status.Read(ctx, client)
	if err != nil {
		return nil, err
	}
	functions := part{Name: "functions", Remedy: "deploy again with the newest version"}
	if stored.Deployment != nil {
		functions.Version = stored.Deployment.Version
	}
	installed := part{Name: "definitions and rights", Remedy: functions.Remedy}
	namespaces, err := client.Namespaces(ctx)
	for i := range namespaces {
		if namespaces[i].Name == cluster.Namespace {
			installed.Version = namespaces[i].Labels[version.Label]
		}
	}
	return []part{functions, installed}, err
}

// compared keeps the remedies of those that are behind the newest part, or whose version is unknown.
func compared(parts []part) []part {
	var newest *utilversion.Version
	for _, p := range parts {
		if parsed, err := utilversion.ParseGeneric(p.Version); err == nil && (newest == nil || newest.LessThan(parsed)) {
			newest = parsed
		}
	}
	for i := range parts {
		switch parsed, err := utilversion.ParseGeneric(parts[i].Version); {
		case err != nil:
			parts[i].Version, parts[i].Remedy = "unknown", "is the stack deployed? "+parts[i].Remedy
		case !parsed.LessThan(newest):
			parts[i].Remedy = ""
		default:
			parts[i].Remedy = fmt.Sprintf("behind %s: %s", newest, parts[i].Remedy)
		}
	}
	return parts
}
