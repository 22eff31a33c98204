package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// List prices of us-east-1 in US dollars, without the free tier. Package scenario has Lambda's
// prices. https://aws.amazon.com/sqs/pricing/, https://aws.amazon.com/cloudwatch/pricing/
const (
	perQueueRequest    = 0.40 / 1e6
	perGigabyteOfLines = 0.50
)

const (
	// busyNodes is the number of nodes of the busy cluster; busyLaunches is how many it launches
	// and ends a day.
	busyNodes, busyLaunches = 500, 2000
	// monthInterval is the time between two ticks, the stack's default.
	monthInterval = 10 * time.Second
	// monthWatch is how long the cluster is measured, idle and with all nodes.
	monthWatch = 2 * time.Minute
	// monthSettles is a wait after which the work of a change is over. After a deployment all
	// functions have started and Lambda polls as rarely as it ever does. After the last pod has
	// started, its node needs no more work.
	monthSettles = time.Minute
	// month is the length of a month in all reports.
	month = 730 * time.Hour
	// queuesPolled is the number of queues that Lambda polls. firstPollers is the number of polls
	// that Lambda keeps waiting at each. longPoll is how long a poll waits for a message. AWS says
	// that Lambda can go down to two pollers at a quiet queue; the local Lambda does.
	// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
	queuesPolled, firstPollers, longPoll = 5, 5, 20 * time.Second
)

// used counts what AWS bills.
type used struct {
	gigabyteSeconds         float64
	invocations, linesBytes float64
	// polls counts Lambda's requests for messages. batches counts those that returned messages; one
	// request deletes each batch. sends counts the requests that sent messages.
	polls, batches, sends float64
}

// times multiplies all counts.
func (u used) times(n float64) used {
	return used{u.gigabyteSeconds * n, u.invocations * n, u.linesBytes * n, u.polls * n, u.batches * n, u.sends * n}
}

func (u used) plus(v used) used {
	return used{
		u.gigabyteSeconds + v.gigabyteSeconds, u.invocations + v.invocations, u.linesBytes + v.linesBytes, u.polls + v.polls,
		u.batches + v.batches, u.sends + v.sends,
	}
}

// requests is the number of requests that SQS bills.
func (u used) requests() float64 { return u.polls + u.batches + u.sends }

// withFivePollers returns a month's counts if Lambda never went below five pollers. Each poller
// polls again when its 20 s are over or a message has ended its poll. This is an upper bound,
// because a poll that a message ends counts as if it took no time.
func (u used) withFivePollers() used {
	u.polls = queuesPolled*firstPollers*float64(month/longPoll) + u.batches
	return u
}

// row is the table's line for one month: counts and dollars.
func (u used) row(what string) string {
	compute, calls, queues, lines := u.gigabyteSeconds*scenario.PricePerGBSecond, u.invocations*scenario.PricePerRequest,
		u.requests()*perQueueRequest, u.linesBytes/1e9*perGigabyteOfLines
	return fmt.Sprintf("%s\t%.0f\t%.0f\t$%.3f\t$%.3f\t$%.3f\t$%.2f", what, u.invocations, u.gigabyteSeconds,
		compute+calls, queues, lines, compute+calls+queues+lines)
}

// benchMonth prints the monthly cost of an idle and of a busy cluster. It extrapolates from three
// measurements: without nodes, with all nodes at rest, and of launches and ends.
func benchMonth(ctx context.Context, t *trial) (result, error) {
	w, setup, nodes := t.world, t.setup, t.number
	if err := applyThousand(ctx, t); err != nil {
		return nil, err
	}
	m := &meter{world: w}
	// The functions' first starts do not belong to a month.
	if err := pause(ctx, monthSettles); err != nil {
		return nil, err
	}
	idle, err := m.watch(ctx)
	if err != nil {
		return nil, err
	}
	if err := setup.Client.Scale(ctx, "default", "thousand", nodes); err != nil {
		return nil, err
	}
	if err := scenario.Until(ctx, launchPatience, "all pods to run",
		setup.Client.Running("default", "app=thousand", nodes)); err != nil {
		return nil, err
	}
	// The work that follows the last launches counts as theirs.
	if err := pause(ctx, monthSettles); err != nil {
		return nil, err
	}
	launches := m.since()
	began := time.Now()
	standing, err := m.watch(ctx)
	if err != nil {
		return nil, err
	}
	fmt.Printf("\n%s of %d nodes on which nothing changes, ticks each %s:\n", monthWatch, nodes, monthInterval)
	if err := writeBilled(billedSince(w, began)); err != nil {
		return nil, err
	}
	if err := setup.Client.Scale(ctx, "default", "thousand", 0); err != nil {
		return nil, err
	}
	if err := scenario.Until(ctx, launchPatience, "all nodes to end", func(context.Context) (bool, string, error) {
		alive := w.InstancesAlive()
		return alive == 0, fmt.Sprintf("%d instances", alive), nil
	}); err != nil {
		return nil, err
	}
	ends := m.since()
	watches := float64(month) / float64(monthWatch)
	changes := launches.plus(ends).times(busyLaunches * month.Hours() / 24 / float64(nodes))
	quiet, busy := idle.times(watches), standing.times(watches).plus(changes)
	return table{
		fmt.Sprintf("a month with ticks each %s, by Lambda's share of processors and the list prices of us-east-1, no free "+
			"tier; metrics, alarms and the dashboard are not in it:", monthInterval), "",
		"cluster\tinvocations\tGB-seconds\tLambda\tSQS\tlogs\tin all",
		quiet.row("idle"),
		quiet.withFivePollers().row("  if Lambda kept five pollers at each queue, at most"),
		busy.row(fmt.Sprintf("%d nodes, %d launches a day", nodes, busyLaunches)),
		standing.times(watches).row("  of it for its nodes standing there"),
		changes.row("  of it for launches and ends"), "",
		fmt.Sprintf("SQS of the idle month: %.0f polls of %d queues as the local Lambda makes them, %.0f of which a batch "+
			"of messages ended; %.0f deletions; %.0f requests that send",
			quiet.polls, queuesPolled, quiet.batches, quiet.batches, quiet.sends),
	}, nil
}

// meter measures the use since its last reading.
type meter struct {
	world       *world.World
	invocations int
	polls       int
	sent        int
	bytes       int
}

// watch returns the use within monthWatch.
func (m *meter) watch(ctx context.Context) (used, error) {
	m.since()
	if err := pause(ctx, monthWatch); err != nil {
		return used{}, err
	}
	return m.since(), nil
}

// since returns the use since the last reading.
func (m *meter) since() used {
	var u used
	invocations := m.world.Invocations()
	for _, invocation := range invocations[m.invocations:] {
		u.gigabyteSeconds += invocation.Billed.Seconds() * float64(invocation.MemoryMB) / 1024
		u.invocations++
		if invocation.Records > 0 {
			u.batches++
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
	polls := m.world.Lambda.Polls()
	u.polls, u.sends, u.linesBytes = float64(polls-m.polls), float64(sent-m.sent), float64(bytes-m.bytes)
	m.invocations, m.polls, m.sent, m.bytes = len(invocations), polls, sent, bytes
	return u
}
