package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/infra/local/scenario"
	"github.com/whittle-dev/whittle/infra/local/world"
)

// List prices of us-east-1 in US dollars, without any free tier; Lambda's are scenario's.
// https://aws.amazon.com/sqs/pricing/, https://aws.amazon.com/cloudwatch/pricing/
const (
	perQueueRequest    = 0.40 / 1e6
	perGigabyteOfLines = 0.50
)

const (
	// busyNodes is how many nodes the busy cluster has, and busyLaunches how many it launches, and ends, a day.
	busyNodes, busyLaunches = 500, 2000
	// monthInterval is the time between two ticks, which is the stack's own default.
	monthInterval = 10 * time.Second
	// monthWatch is how long the cluster is watched, idle and with all its nodes.
	monthWatch = 2 * time.Minute
	// monthSettles is how long after the deployment all functions have been started, and after the last pod has begun to run nothing is left to do for its node.
	monthSettles = time.Minute
	// month is what a month is taken for.
	month = 730 * time.Hour
	// pollsOfQueue is how often Lambda asks a queue that is empty for messages: five at a time, 20 s each.
	pollsOfQueue = 5 * int(month/(20*time.Second))
	// queuesPolled is how many queues there are with a function behind.
	queuesPolled = 4
)

// used is what AWS bills for.
type used struct {
	gigabyteSeconds                   float64
	invocations, requests, linesBytes float64
}

// times is so many of it.
func (u used) times(n float64) used {
	return used{u.gigabyteSeconds * n, u.invocations * n, u.requests * n, u.linesBytes * n}
}

func (u used) plus(v used) used {
	return used{u.gigabyteSeconds + v.gigabyteSeconds, u.invocations + v.invocations, u.requests + v.requests, u.linesBytes + v.linesBytes}
}

// row is a line of the table: in a month so much, and what it costs.
func (u used) row(what string) string {
	compute, calls, queues, lines := u.gigabyteSeconds*scenario.PricePerGBSecond, u.invocations*scenario.PricePerRequest, u.requests*perQueueRequest, u.linesBytes/1e9*perGigabyteOfLines
	return fmt.Sprintf("%s\t%.0f\t%.0f\t%.3f $\t%.3f $\t%.3f $\t%.2f $", what, u.invocations, u.gigabyteSeconds, compute+calls, queues, lines, compute+calls+queues+lines)
}

// benchMonth prints what a month costs for an idle cluster and for a busy one, from what the functions bill here: while the cluster has no node, while it has
// its nodes and nothing happens, and while so many nodes are launched and end.
func benchMonth(ctx context.Context) (failure error) {
	w, err := start(ctx, "bench-month", monthInterval, boot)
	if err != nil {
		return err
	}
	defer func() { failure = errors.Join(failure, w.Close()) }()
	setup, err := w.Scenario(io.Discard)
	if err != nil {
		return err
	}
	if err := applyThousand(ctx, w, setup); err != nil {
		return err
	}
	m := &meter{world: w}
	// The functions' first starts are no part of a month.
	if err := pause(ctx, monthSettles); err != nil {
		return err
	}
	idle, err := m.watch(ctx)
	if err != nil {
		return err
	}
	if err := setup.Client.Scale(ctx, "default", "thousand", busyNodes); err != nil {
		return err
	}
	if err := scenario.Until(ctx, launchPatience, "all pods to run", setup.Client.Running("default", "app=thousand", busyNodes)); err != nil {
		return err
	}
	// What is left to do for the last nodes counts as theirs.
	if err := pause(ctx, monthSettles); err != nil {
		return err
	}
	launches := m.since()
	began := time.Now()
	standing, err := m.watch(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s of %d nodes on which nothing changes, ticks each %s:\n", monthWatch, busyNodes, monthInterval)
	if err := writeBilled(billedSince(w, began)); err != nil {
		return err
	}
	if err := setup.Client.Scale(ctx, "default", "thousand", 0); err != nil {
		return err
	}
	if err := scenario.Until(ctx, launchPatience, "all nodes to end", func(context.Context) (bool, string, error) {
		alive := w.InstancesAlive()
		return alive == 0, fmt.Sprintf("%d instances", alive), nil
	}); err != nil {
		return err
	}
	ends := m.since()
	watches := float64(month) / float64(monthWatch)
	polls := used{requests: float64(queuesPolled * pollsOfQueue)}
	changes := launches.plus(ends).times(busyLaunches * month.Hours() / 24 / busyNodes)
	fmt.Printf("\na month with ticks each %s, by the milliseconds billed here and the list prices of us-east-1, no free tier; metrics, alarms and the dashboard are not in it:\n", monthInterval)
	return scenario.WriteTable(os.Stdout, []string{
		"cluster\tinvocations\tGB-seconds\tLambda\tSQS\tlogs\tin all",
		idle.times(watches).plus(polls).row("idle"),
		standing.times(watches).plus(changes).plus(polls).row(fmt.Sprintf("%d nodes, %d launches a day", busyNodes, busyLaunches)),
		standing.times(watches).row("  of it for its nodes standing there"),
		changes.row("  of it for launches and ends"),
		polls.row("  of it, as of the idle one, for Lambda's asking empty queues"),
	})
}

// pause waits, or ends with the context.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// meter reads what has been used since it was read last.
type meter struct {
	world       *world.World
	invocations int
	sent        int
	bytes       int
}

// watch is what is used within monthWatch.
func (m *meter) watch(ctx context.Context) (used, error) {
	m.since()
	if err := pause(ctx, monthWatch); err != nil {
		return used{}, err
	}
	return m.since(), nil
}

// since is what was used since the meter was read.
func (m *meter) since() used {
	var u used
	invocations := m.world.Invocations()
	for _, invocation := range invocations[m.invocations:] {
		u.gigabyteSeconds += invocation.Billed.Seconds() * float64(invocation.MemoryMB) / 1024
		u.invocations++
		if invocation.Records > 0 {
			u.requests += 2 // one that brought the messages, one that deletes them
		}
	}
	sent, bytes := 0, 0
	for name, count := range m.world.Calls() {
		if strings.HasPrefix(name, "sqs:SendMessage") {
			sent += count
		}
	}
	for _, name := range functionNames() {
		for _, line := range m.world.FunctionLog(name) {
			bytes += len(line)
		}
	}
	u.requests += float64(sent - m.sent)
	u.linesBytes = float64(bytes - m.bytes)
	m.invocations, m.sent, m.bytes = len(invocations), sent, bytes
	return u
}
