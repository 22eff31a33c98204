package main

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/lambda"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
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
	// monthBursts is how often burstNodes nodes are launched and ended again. A launch for each four nodes makes as
	// many passes and calls as a day with 2,000 launches has, and one for all nodes would make few. burstSettles is
	// the wait between two changes.
	monthBursts, burstNodes, burstSettles = 2, 4, 10 * time.Second
	// monthBoot is from an instance's running to its node's registration, and monthEnds from an instance's end to its
	// last state.
	monthBoot, monthEnds = 30 * time.Second, 30 * time.Second
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
	// lineOverhead are the bytes that CloudWatch adds to each line.
	// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html
	lineOverhead = 26
)

// used counts what AWS bills.
type used struct {
	// gigabyteSeconds leaves out the watch, which runs for as long as there is work, whatever the work costs.
	gigabyteSeconds         float64
	invocations, linesBytes float64
	// awsBytes are those of calls to AWS and of their answers, which a NAT gateway bills.
	awsBytes float64
	// byFunction has the GB-seconds of each function.
	byFunction map[string]float64
	// lasted is the time in which bursts came.
	lasted time.Duration
	// polls counts Lambda's requests for messages. batches counts those that returned messages; one
	// request deletes each batch. sends counts the requests that sent messages.
	polls, batches, sends float64
}

// times multiplies all counts.
func (u used) times(n float64) used {
	return used{}.add(u, n)
}

// add returns the counts with n times those of another.
func (u used) add(v used, n float64) used {
	sum := used{
		gigabyteSeconds: u.gigabyteSeconds + n*v.gigabyteSeconds, invocations: u.invocations + n*v.invocations,
		linesBytes: u.linesBytes + n*v.linesBytes, awsBytes: u.awsBytes + n*v.awsBytes, polls: u.polls + n*v.polls,
		batches: u.batches + n*v.batches, sends: u.sends + n*v.sends, byFunction: maps.Clone(u.byFunction),
	}
	if sum.byFunction == nil {
		sum.byFunction = map[string]float64{}
	}
	for name, seconds := range v.byFunction {
		sum.byFunction[name] += n * seconds
	}
	return sum
}

func (u used) plus(v used) used { return u.add(v, 1) }

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
	return fmt.Sprintf("%s\t%.0f\t%.0f\t$%.3f\t$%.3f\t$%.3f\t$%.2f\t%.1f GB", what, u.invocations, u.gigabyteSeconds,
		compute+calls, queues, lines, compute+calls+queues+lines, u.awsBytes/1e9)
}

// functions is the table's line for the shares of the functions in a month's GB-seconds, in dollars.
func (u used) functions(what string) string {
	line := what
	for _, name := range functionNames() {
		line += fmt.Sprintf("\t$%.3f", u.byFunction[name]*scenario.PricePerGBSecond)
	}
	return line
}

// monthBench is the experiment in a world whose services answer as late as AWS's.
type monthBench struct{ bytes, catalogBytes atomic.Int64 } // of calls to AWS

func (b *monthBench) options(o *world.Options) {
	o.Ending = monthEnds
	o.Latency = world.Latency{APIServer: apiServerAnswer, AWS: func(call *wire.Call, bytes int) time.Duration {
		transferred := int64(bytes + len(call.Body) + callOverhead)
		switch role := strings.ToLower(call.Caller.RoleARN); {
		case strings.Contains(role, "catalog"): // its runs are counted apart
			b.catalogBytes.Add(transferred)
		case strings.Contains(role, "/whittle-"): // and not what the deployment or the world itself calls
			b.bytes.Add(transferred)
		}
		return awsAnswer(call.Service, call.Action, bytes)
	}}
}

// run prints the monthly cost of an idle and of a busy cluster. It extrapolates from three
// measurements: without nodes, with all nodes at rest, and with bursts of launches and ends.
func (b *monthBench) run(ctx context.Context, t *trial) (result, error) {
	w, nodes := t.world, t.number
	if err := applyManifest(ctx, t, "month.yaml"); err != nil {
		return nil, err
	}
	m := &meter{world: w, network: &b.bytes}
	// The functions' first starts do not belong to a month.
	if err := pause(ctx, monthSettles); err != nil {
		return nil, err
	}
	idle, err := m.watch(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.scale(ctx, t, nodes); err != nil {
		return nil, err
	}
	if err := pause(ctx, monthSettles); err != nil {
		return nil, err
	}
	began := time.Now()
	standing, err := m.watch(ctx)
	if err != nil {
		return nil, err
	}
	fmt.Printf("\n%s of %d nodes on which nothing changes, ticks each %s:\n", monthWatch, nodes, monthInterval)
	if err := writeBilled(billedSince(w, began)); err != nil {
		return nil, err
	}
	bursts, err := b.bursts(ctx, t, m)
	if err != nil {
		return nil, err
	}
	watches, hourly := float64(month)/float64(monthWatch), b.catalog(w).times(month.Hours())
	changes := bursts.plus(standing.times(-float64(bursts.lasted) / float64(monthWatch)))
	changes = changes.times(busyLaunches * month.Hours() / 24 / float64(monthBursts*burstNodes))
	quiet, busy := idle.times(watches).plus(hourly), standing.times(watches).plus(hourly).plus(changes)
	return table{
		fmt.Sprintf("a month with ticks each %s, by Lambda's share of processors and the list prices of us-east-1, no free "+
			"tier; metrics, alarms and the dashboard are not in it:", monthInterval), "",
		"cluster\tinvocations\tGB-seconds\tLambda\tSQS\tlogs\tin all\tcalls to AWS",
		quiet.row("idle"),
		quiet.withFivePollers().row("  if Lambda kept five pollers at each queue, at most"),
		busy.row(fmt.Sprintf("%d nodes, %d launches a day", nodes, busyLaunches)),
		standing.times(watches).row("  of it for its nodes standing there"),
		changes.row("  of it for launches and ends"), "",
		"Lambda's GB-seconds by function\t" + strings.Join(functionNames(), "\t"),
		quiet.functions("idle"), standing.times(watches).functions("  of the nodes standing there"),
		changes.functions("  of launches and ends, without the watch"), "",
		fmt.Sprintf("SQS of the idle month: %.0f polls of %d queues as the local Lambda makes them, %.0f of which a batch "+
			"of messages ended; %.0f deletions; %.0f requests that send",
			quiet.polls, queuesPolled, quiet.batches, quiet.batches, quiet.sends),
	}, nil
}

// scale changes the number of nodes, and waits until all pods run and all other nodes have ended.
func (b *monthBench) scale(ctx context.Context, t *trial, nodes int) error {
	if err := t.setup.Client.Scale(ctx, "default", "month", nodes); err != nil {
		return err
	}
	if err := scenario.Until(ctx, launchPatience, "all pods to run",
		t.setup.Client.Running("default", "app=month", nodes)); err != nil {
		return err
	}
	return scenario.Until(ctx, launchPatience, "other nodes to end", func(context.Context) (bool, string, error) {
		alive := t.world.InstancesAlive()
		return alive == nodes, fmt.Sprintf("%d instances", alive), nil
	})
}

// bursts launches a few nodes and ends them, again and again, and returns the use meanwhile.
func (b *monthBench) bursts(ctx context.Context, t *trial, m *meter) (used, error) {
	m.since()
	began := time.Now()
	for range monthBursts {
		for _, nodes := range []int{t.number + burstNodes, t.number} {
			if err := b.scale(ctx, t, nodes); err != nil {
				return used{}, err
			}
			// The work that follows a launch or an end counts as its own.
			if err := pause(ctx, burstSettles); err != nil {
				return used{}, err
			}
		}
	}
	seen := m.since()
	seen.lasted = time.Since(began)
	return seen, nil
}

// catalog is the mean use of one of catalog's runs, which come each hour. The first one begins cold.
func (b *monthBench) catalog(w *world.World) used {
	runs, sum := 0.0, used{byFunction: map[string]float64{}}
	for _, invocation := range w.Invocations() {
		if strings.HasSuffix(invocation.Function, "-catalog") {
			seconds := gigabyteSeconds(&invocation)
			sum = sum.plus(used{gigabyteSeconds: seconds, invocations: 1, byFunction: map[string]float64{"catalog": seconds}})
			runs++
		}
	}
	sum.awsBytes = float64(b.catalogBytes.Load())
	return sum.times(1 / max(runs, 1))
}

func gigabyteSeconds(of *lambda.Invocation) float64 {
	return of.Billed.Seconds() * float64(of.MemoryMB) / 1024
}

// meter measures the use since its last reading.
type meter struct {
	world       *world.World
	network     *atomic.Int64
	invocations int
	polls       int
	sent        int
	bytes       int
	transferred int64
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
	u := used{byFunction: map[string]float64{}}
	invocations := m.world.Invocations()
	for _, invocation := range invocations[m.invocations:] {
		name := invocation.Function[strings.LastIndex(invocation.Function, "-")+1:]
		if name == "watch" || name == "catalog" {
			continue // are counted apart
		}
		seconds := gigabyteSeconds(&invocation)
		u.gigabyteSeconds += seconds
		u.byFunction[name] += seconds
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
			bytes += len(line) + lineOverhead
		}
	}
	polls := m.world.Lambda.Polls()
	u.polls, u.sends, u.linesBytes = float64(polls-m.polls), float64(sent-m.sent), float64(bytes-m.bytes)
	transferred := m.network.Load()
	u.awsBytes = float64(transferred - m.transferred)
	m.invocations, m.polls, m.sent, m.bytes, m.transferred = len(invocations), polls, sent, bytes, transferred
	return u
}
