package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

const (
	// launched is the number of nodes that the launch path is measured with.
	launched = 1000
	// launchPatience limits the time until all have been launched.
	launchPatience = 10 * time.Minute
)

// benchLaunch measures the calls and the time of a thousand launches.
func benchLaunch(ctx context.Context, t *trial) (result, error) {
	if err := applyThousand(ctx, t); err != nil {
		return nil, err
	}
	calls := t.world.Calls()
	writes, err := ownRequests(ctx, t.setup)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := t.setup.Client.Scale(ctx, "default", "thousand", launched); err != nil {
		return nil, err
	}
	err = scenario.Until(ctx, launchPatience, "all nodes to be launched", func(ctx context.Context) (bool, string, error) {
		claims, err := t.setup.Client.NodeClaims(ctx)
		have := 0
		for i := range claims {
			if claims[i].Status.ProviderID != "" {
				have++
			}
		}
		return have >= launched, fmt.Sprintf("%d of %d", have, launched), err
	})
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	after, err := ownRequests(ctx, t.setup)
	if err != nil {
		return nil, err
	}
	return launchTable(t.world, took, since(t.world.Calls(), calls), since(after, writes)), nil
}

func launchTable(w *world.World, took time.Duration, calls, requests map[string]int) table {
	fleets := w.FleetCalls()
	fmt.Printf("\n%d pods that need a node each, %d instances launched:\n", launched, w.InstancesAlive())
	rows := table{
		"what\tnumber",
		fmt.Sprintf("from the pods to the last claim's instance\t%.1f s", took.Seconds()),
		fmt.Sprintf("from the first CreateFleet to the last\t%.1f s", fleets[len(fleets)-1].Sub(fleets[0]).Seconds()),
		fmt.Sprintf("CreateFleet calls\t%d", calls["ec2:CreateFleet"]),
		fmt.Sprintf("nodes a call\t%.1f", float64(launched)/float64(max(calls["ec2:CreateFleet"], 1))),
	}
	for _, counted := range []map[string]int{calls, requests} {
		for _, name := range slices.Sorted(maps.Keys(counted)) {
			rows = append(rows, fmt.Sprintf("%s\t%d", name, counted[name]))
		}
	}
	return rows
}

// since returns the increase of each count.
func since(now, before map[string]int) map[string]int {
	more := map[string]int{}
	for name, count := range now {
		if count > before[name] {
			more[name] = count - before[name]
		}
	}
	return more
}

// ownRequests counts the API server's requests about Karpenter's kinds by verb, from its metrics.
// Only the functions and this program make any.
func ownRequests(ctx context.Context, setup scenario.Setup) (map[string]int, error) {
	text, err := setup.Client.Core.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(text)) {
		ours := label(line, "group") == api.Group || label(line, "group") == api.AWSGroup
		if !strings.HasPrefix(line, "apiserver_request_total{") || !ours || label(line, "verb") == "WATCH" {
			continue
		}
		name := "kubernetes:" + label(line, "verb") + " " + label(line, "resource")
		if part := label(line, "subresource"); part != "" {
			name += "/" + part
		}
		if code := label(line, "code"); code >= "400" {
			name += ", answered " + code
		}
		count, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
		if err != nil {
			return nil, fmt.Errorf("reading the API server's metrics: %q: %w", line, err)
		}
		counts[name] += int(count)
	}
	return counts, nil
}

// label returns the value of a label in a line of metrics.
func label(line, name string) string {
	for _, before := range []string{"{", ","} {
		if _, rest, found := strings.Cut(line, before+name+`="`); found {
			value, _, _ := strings.Cut(rest, `"`)
			return value
		}
	}
	return ""
}
