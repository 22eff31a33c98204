package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/console/history"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// kept is how long the API server keeps events.
const kept = time.Hour

// followEvery is the time between two looks of events -follow.
const followEvery = 2 * time.Second

// showEvents shows what Whittle did, in order.
func showEvents(ctx context.Context, arguments []string, now func() time.Time, out, problems io.Writer) error {
	flags := flag.NewFlagSet("whittle events", flag.ContinueOnError)
	var way access
	way.addFlags(flags)
	var selection history.Selection
	var follow bool
	flags.BoolVar(&selection.Each, "A", false, "show an event of each pod, and not one for many")
	for _, name := range []string{"n", "namespace"} {
		flags.StringVar(&selection.Namespace, name, "", "show events about objects of the namespace of this `name` alone")
	}
	for _, name := range []string{"f", "follow"} {
		flags.BoolVar(&follow, name, false, "go on with new events until interrupted")
	}
	since := flags.Duration("since", 0, "`age` of the oldest event to show, such as 10m (default: all of the last hour)")
	var output form
	outputFlag(flags, &output, formTable, formJSON, formYAML)
	if err := parse(flags, arguments, problems); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return usageProblem(problems, "whittle events: takes no arguments: got %q", flags.Args())
	case *since < 0:
		return usageProblem(problems, "whittle events: -since %s is negative: write an age, such as 10m", *since)
	case follow && output.isForPrograms():
		return usageProblem(problems, "whittle events: -follow writes lines for people: leave -o out")
	}
	if *since > kept {
		warn(problems, fmt.Sprintf("the API server keeps events for an hour, so that -since %s shows no more: for older "+
			"ones run the saved query \"story of a NodeClaim\" in CloudWatch Logs Insights", *since))
	}
	if *since > 0 {
		selection.Since = now().Add(-*since)
	}
	client, err := way.connect()
	if err != nil {
		return err
	}
	listed, err := client.EventsOf(ctx, cluster.FieldManager)
	if err != nil {
		return mend(err, client.Endpoint)
	}
	entries := history.Of(listed, selection)
	if output.isForPrograms() {
		return output.write(out, map[string]any{"formatVersion": 1, "events": entries}, "events")
	}
	follower := history.NewFollower()
	if err := history.Write(out, follower.New(entries), selection, styleOf(out)); err != nil || !follow {
		return err
	}
	return followEvents(ctx, client.EventsOf, selection, follower, time.NewTicker(followEvery), out, problems)
}

// followEvents shows new events until the context ends. The API server keeps an event for an hour, so
// that a look that fails loses none.
func followEvents(
	ctx context.Context, list func(context.Context, string) ([]corev1.Event, error), selection history.Selection,
	follower *history.Follower, ticker *time.Ticker, out, problems io.Writer,
) error {
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		listed, err := list(ctx, cluster.FieldManager)
		if err != nil {
			if ctx.Err() == nil && !failing {
				warn(problems, "the events are not read, and will be: "+oneLine(err))
			}
			failing = true
			continue
		}
		failing = false
		if err := history.Write(out, follower.New(history.Of(listed, selection)), selection, styleOf(out)); err != nil {
			return err
		}
	}
}
