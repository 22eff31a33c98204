package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// command is a word after the program's name.
type command struct {
	name, meaning string
	// examples begin the command's help, one a line.
	examples []string
	run      func(ctx context.Context, arguments []string, in io.Reader, out, problems io.Writer) error
}

// commands are all commands, in the order in which help lists them.
func commands() []command {
	return []command{
		{
			"status", "shows NodePools, nodes with their prices, and pending pods with their reasons",
			[]string{"whittle status", "whittle status -watch", "whittle status -o json | jq .nodes"},
			func(ctx context.Context, arguments []string, in io.Reader, out, problems io.Writer) error {
				return showStatus(ctx, arguments, time.Now, in, out, problems)
			},
		},
		{
			"plan", "plans nodes for the pods in files, or for the cluster's pending pods; launches none",
			[]string{
				"whittle plan -f deploy/", "whittle plan -f app.yaml --exit-code --max-price 12.50", "whittle plan --consolidate",
			},
			func(ctx context.Context, arguments []string, in io.Reader, out, problems io.Writer) error {
				return showPlan(ctx, arguments, time.Now, in, out, problems)
			},
		},
		{
			"explain", "says why a pod has its place or none, what keeps a node, and when it goes",
			[]string{
				"whittle explain pod web-7f8 -n shop", "whittle explain deployment/web -n shop -f deploy/",
				"whittle explain node ip-10-0-1-2.ec2.internal", "whittle explain nodepool default",
			},
			func(ctx context.Context, arguments []string, in io.Reader, out, problems io.Writer) error {
				return explain(ctx, arguments, time.Now, in, out, problems)
			},
		},
		{
			"events", "shows what Whittle did, in order",
			[]string{"whittle events -since 10m", "whittle events -follow -n shop"},
			func(ctx context.Context, arguments []string, _ io.Reader, out, problems io.Writer) error {
				return showEvents(ctx, arguments, time.Now, out, problems)
			},
		},
		{
			"cost", "shares the bill of the nodes among namespaces, NodePools or a label's values, with what is idle",
			[]string{
				"whittle cost", "whittle cost -by nodepool", "whittle cost -by label:team -o csv > bill.csv",
			},
			func(ctx context.Context, arguments []string, _ io.Reader, out, problems io.Writer) error {
				return showCost(ctx, arguments, time.Now, out, problems)
			},
		},
		{
			"sleep", "lets the whole cluster sleep: nothing is launched, and Whittle's nodes leave within their budgets",
			[]string{
				"whittle sleep -until 07:00 -time-zone Europe/Berlin -reason \"no tests tonight\"", "whittle sleep -until 10h",
				"whittle sleep -windows \"Sun-Fri 20:00-07:00; Sat,Sun\" -time-zone Europe/Berlin",
			},
			func(ctx context.Context, arguments []string, _ io.Reader, out, problems io.Writer) error {
				return sleepCluster(ctx, arguments, time.Now, out, problems)
			},
		},
		{
			"wake", "ends the sleep of the whole cluster; NodePools keep their own windows",
			[]string{"whittle wake"},
			func(ctx context.Context, arguments []string, _ io.Reader, out, problems io.Writer) error {
				return wakeCluster(ctx, arguments, time.Now, out, problems)
			},
		},
		{
			"freeze", "stops what Whittle begins by itself, in the cluster or a NodePool; interruptions are still answered",
			[]string{
				"whittle freeze -reason INC-12 -for 2h", "whittle freeze -pool batch", "whittle freeze -launches -drains",
			},
			func(ctx context.Context, arguments []string, _ io.Reader, out, problems io.Writer) error {
				return freezeCluster(ctx, arguments, time.Now, out, problems)
			},
		},
		{
			"thaw", "ends a freeze of the cluster or of a NodePool; other freezes stay",
			[]string{"whittle thaw", "whittle thaw -pool batch"},
			func(ctx context.Context, arguments []string, _ io.Reader, out, problems io.Writer) error {
				return thawCluster(ctx, arguments, time.Now, out, problems)
			},
		},
		{
			"release", "shows how far drift has brought new images and settings, and continues or aborts that",
			[]string{"whittle release status", "whittle release continue -pool batch", "whittle release abort"},
			func(ctx context.Context, arguments []string, _ io.Reader, out, problems io.Writer) error {
				return orderRelease(ctx, arguments, time.Now, out, problems)
			},
		},
		{
			"check", "checks account and cluster before the first deployment; changes nothing",
			[]string{"whittle check -cluster prod", "whittle check -cluster prod -o json"},
			func(ctx context.Context, arguments []string, _ io.Reader, out, problems io.Writer) error {
				return checkAccount(ctx, arguments, time.Now, out, problems)
			},
		},
		{
			"install", "deploys a release for a cluster, without Go and Node; or prints its template",
			[]string{
				"whittle install -cluster prod -release build/release/0.9.0 -bucket my-bucket",
				"whittle install -cluster prod -release build/release/0.9.0 -bucket my-bucket -set dryRun=true",
				"whittle install -cluster prod -release build/release/0.9.0 -bucket my-bucket -print > whittle-prod.json",
			},
			func(ctx context.Context, arguments []string, _ io.Reader, out, problems io.Writer) error {
				return install(ctx, arguments, time.Now, out, problems)
			},
		},
		{
			"administrator", "gives install its right in the cluster before a deployment, or takes it away after one",
			[]string{"whittle administrator on -cluster prod", "whittle administrator off -cluster prod"},
			func(ctx context.Context, arguments []string, _ io.Reader, out, problems io.Writer) error {
				return changeAdministrator(ctx, arguments, out, problems)
			},
		},
		{
			"init", "prints a first NodePool and EC2NodeClass for a cluster",
			[]string{"whittle init -cluster prod | kubectl apply --server-side -f -"},
			func(ctx context.Context, arguments []string, _ io.Reader, out, problems io.Writer) error {
				return startCluster(ctx, arguments, time.Now, out, problems)
			},
		},
		{
			"convert", "prints older manifests as karpenter.sh/v1, with a comment at each change of meaning",
			[]string{"whittle convert -f provisioners.yaml > nodepools.yaml"},
			func(_ context.Context, arguments []string, in io.Reader, out, problems io.Writer) error {
				return convert(arguments, in, out, problems)
			},
		},
		{
			"completion", "prints a script for the shell: bash, zsh or fish; or for kubectl's own completion",
			[]string{
				"source <(whittle completion bash)", "whittle completion fish > ~/.config/fish/completions/whittle.fish",
				"whittle completion kubectl > ~/bin/kubectl_complete-whittle && chmod +x ~/bin/kubectl_complete-whittle",
			},
			func(_ context.Context, arguments []string, _ io.Reader, out, problems io.Writer) error {
				return completion(arguments, out, problems)
			},
		},
		{
			"version", "prints the version, and which part of an installation is behind",
			[]string{"whittle version", "whittle version -deployed"},
			func(ctx context.Context, arguments []string, _ io.Reader, out, problems io.Writer) error {
				return showVersion(ctx, arguments, out, problems)
			},
		},
	}
}

// usage lists the commands.
func usage() string {
	var text strings.Builder
	text.WriteString("whittle shows what Whittle does in a cluster, and what it would do.\n\n")
	for _, c := range commands() {
		fmt.Fprintf(&text, "  whittle %-11s %s\n", c.name, c.meaning)
	}
	text.WriteString("\n`whittle help COMMAND` shows a command's examples and flags.\n")
	return text.String()
}

// programName is how the user calls the program: kubectl finds a plugin by the name kubectl-whittle.
func programName(called string) string {
	if filepath.Base(called) == "kubectl-whittle" {
		return "kubectl whittle"
	}
	return "whittle"
}

func writeHelp(flags *flag.FlagSet, name string, out io.Writer) {
	if c, err := find(name); err == nil {
		fmt.Fprintf(out, "whittle %s %s.\n\nExamples:\n", c.name, c.meaning)
		for _, example := range c.examples {
			fmt.Fprintf(out, "  %s\n", example)
		}
		fmt.Fprintln(out)
	}
	flags.SetOutput(out)
	flags.PrintDefaults()
}
