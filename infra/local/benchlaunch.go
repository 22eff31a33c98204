package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/infra/local/scenario"
	"github.com/whittle-dev/whittle/infra/local/world"
	"github.com/whittle-dev/whittle/shared/inventory"
)

const (
	// launched is how many nodes the launch path is measured with.
	launched = 1000
	// launchPatience is how long they may take.
	launchPatience = 10 * time.Minute
)

// benchLaunch measures what a thousand nodes cost to launch: calls and time. Their
// machines do not boot: a thousand kubelets are not what is measured.
func benchLaunch(ctx context.Context) (failure error) {
	folder, err := directory("bench-launch")
	if err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	w, err := world.Start(ctx, world.Options{Root: root, Directory: folder, Cluster: clusterName, Interval: interval, Boot: time.Hour, Progress: os.Stdout})
	if err != nil {
		return err
	}
	defer func() { failure = errors.Join(failure, w.Close()) }()
	setup, err := w.Scenario(io.Discard)
	if err != nil {
		return err
	}
	err = scenario.Until(ctx, time.Minute, "the catalogue", func(ctx context.Context) (bool, string, error) {
		_, err := inventory.Catalog(ctx, setup.Cluster)
		return err == nil, "", err
	})
	if err != nil {
		return err
	}
	role, err := w.NodeRole()
	if err != nil {
		return err
	}
	variables := map[string]string{"CLUSTER_NAME": setup.Name, "NODE_ROLE": role}
	if err := setup.Client.Apply(ctx, filepath.Join(root, "testdata", "manifests", "thousand.yaml"), variables); err != nil {
		return err
	}
	calls := w.Calls()
	writes, err := claimRequests(ctx, setup)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := setup.Client.Scale(ctx, "default", "thousand", launched); err != nil {
		return err
	}
	err = scenario.Until(ctx, launchPatience, "all nodes to be launched", func(ctx context.Context) (bool, string, error) {
		claims, err := setup.Client.NodeClaims(ctx)
		have := 0
		for i := range claims {
			if claims[i].Status.ProviderID != "" {
				have++
			}
		}
		return have >= launched, fmt.Sprintf("%d of %d", have, launched), err
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	after, err := claimRequests(ctx, setup)
	if err != nil {
		return err
	}
	return writeLaunch(w, took, since(w.Calls(), calls), since(after, writes))
}

func writeLaunch(w *world.World, took time.Duration, calls, requests map[string]int) error {
	fleets := w.FleetCalls()
	fmt.Printf("\n%d pods that need a node each, %d instances launched:\n", launched, w.InstancesAlive())
	rows := []string{
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
	return scenario.WriteTable(os.Stdout, rows)
}

// since is how much more the counts are than they were.
func since(now, before map[string]int) map[string]int {
	more := map[string]int{}
	for name, count := range now {
		if count > before[name] {
			more[name] = count - before[name]
		}
	}
	return more
}

// claimRequests counts the API server's requests about node claims, by verb, out of its
// own metrics.
func claimRequests(ctx context.Context, setup scenario.Setup) (map[string]int, error) {
	text, err := setup.Client.Core.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "apiserver_request_total{") || label(line, "resource") != "nodeclaims" || label(line, "verb") == "WATCH" {
			continue
		}
		name := "kubernetes:" + label(line, "verb") + " nodeclaims"
		if part := label(line, "subresource"); part != "" {
			name += "/" + part
		}
		count, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
		if err != nil {
			return nil, fmt.Errorf("reading the API server's metrics: %q: %w", line, err)
		}
		counts[name] += int(count)
	}
	return counts, nil
}

// label is the value of a label in a line of metrics.
func label(line, name string) string {
	_, rest, found := strings.Cut(line, `,`+name+`="`)
	if !found {
		return ""
	}
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
