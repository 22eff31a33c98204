package infra

import (
	"fmt"
	"strings"

	"github.com/whittle-dev/whittle/shared/metrics"
)

// These are what functions, queues and logs cost in $/month, as `make bench-month` measures with services that
// answer as late as AWS's. The nodes are 500, by five thirds of what 300 cost beside an idle cluster
// (MONTH_NODES=300), and the launches are 2,000 a day. The watch is not in them.
const (
	idleMonth     = 1.33
	nodesMonth    = (2.99 - idleMonth) * 500 / 300
	launchesMonth = 6.07
	// idleTraffic and busyTraffic are the GB of calls to AWS, which a NAT gateway bills.
	idleTraffic = 6.7
	busyTraffic = (55.0-idleTraffic)*500/300 + 46.8 + idleTraffic
)

// These are more of a month's costs in dollars, which the local AWS does not have. Lambda keeps five pollers at a
// queue whose event source has a maximum concurrency: nine polls a minute more than two, at three queues. A schedule
// runs each minute, and another each hour. A watch that never ends is 128 MB all month.
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html, https://aws.amazon.com/eventbridge/pricing/
const (
	pollersMonth  = 3 * 9 * 60 * hoursOfMonth * 0.40 / 1e6
	scheduleMonth = (60 + 1) * hoursOfMonth * 1.00 / 1e6
	watchMonth    = 4.38
	hoursOfMonth  = 730
	gatewayMonth  = 32.85
	gatewayGB     = 0.045
)

// fixed are the costs of a month with the default settings that neither nodes nor launches change.
func fixed() (monitoring, all float64) {
	monitoring = float64(metrics.DetailFew.Series())*seriesPrice + float64(evaluations(metrics.DetailFew))*evaluatedPrice
	return monitoring, monitoring + pollersMonth + scheduleMonth + idleMonth
}

// defaults are the costs of a month with the default settings and a free dashboard: idle, with 500 nodes, and with
// 5,000. The work of 2,000 launches a day leaves no five quiet minutes, so that the watch never ends. Ten times the
// nodes and the launches cost ten times as much, because passes read all nodes, and one serves what came meanwhile.
func defaults() (monitoring, idle, busy, large float64) {
	monitoring, idle = fixed()
	busy = idle + watchMonth + nodesMonth + launchesMonth
	return monitoring, idle, busy, idle + watchMonth + 10*(nodesMonth+launchesMonth)
}

// frontPage are the rows of the cost on the first page.
func frontPage() string {
	monitoring, idle, busy, _ := defaults()
	return fmt.Sprintf("| cost of an idle cluster | about $%.2f/month, of which $%.2f are metrics and alarms. "+
		"The dashboard is $3 more, beyond the account's first three |\n"+
		"| cost with 500 nodes | about $%.0f/month with 2,000 launches a day: "+
		"[all costs](infra/README.md#cost) |\n", idle, monitoring, busy)
}

// evaluations counts the metrics that the alarms of a detail evaluate.
func evaluations(detail metrics.Detail) int {
	const (
		own      = 4 // alarms by a metric of Whittle's, each by one
		dead     = 1 // the queue of dead letters
		failing  = 5 // functions whose failures nothing else tells of
		failures = 2 // metrics of messages that fail or cannot be read
		waiting  = 2 // queues of events
		events   = 1 // the queue of undelivered ones
		woken    = 3 // functions that ticks wake
	)
	count := dead + failing + failures + waiting + events + woken
	if detail != metrics.DetailOff {
		count += own
	}
	return count
}

// costTable documents the cost of a month in Markdown.
func costTable() string {
	var table strings.Builder
	row := func(part, cost string) { table.WriteString("| " + part + " | " + cost + " |\n") }
	dollars := func(amount float64) string { return fmt.Sprintf("$%.2f", amount) }
	row("part", "cost")
	row("---", "---:")
	row("functions, queues and logs of an idle cluster, with ticks each 10 s", dollars(idleMonth))
	row("the same for 500 nodes that stand there", dollars(nodesMonth))
	row("the same for 2,000 launches and ends a day", dollars(launchesMonth))
	row("five pollers at the three queues with a maximum concurrency, in place of two", dollars(pollersMonth))
	row("EventBridge Scheduler", dollars(scheduleMonth))
	row("a watch, for each hour of work with `reaction: adaptive`", "$0.006")
	row("the same with `always`, or with work all the time, for the whole month", dollars(watchMonth))
	for _, detail := range []metrics.Detail{metrics.DetailFew, metrics.DetailFull} {
		series := detail.Series()
		row(fmt.Sprintf("`metrics: %s`, %d series at $%.2f", detail, series, seriesPrice),
			dollars(float64(series)*seriesPrice))
	}
	row(fmt.Sprintf("`nodePoolMetrics`, for each pool: %d series at $%.2f", len(metrics.OfPools()), seriesPrice),
		dollars(poolPrice()))
	evaluated := evaluations(metrics.DetailFew)
	alarms := float64(evaluated) * evaluatedPrice
	row(fmt.Sprintf("`alarms: true`, which evaluate %d metrics at $%.2f", evaluated, evaluatedPrice), dollars(alarms))
	row("`dashboard: true`, beyond the account's first three", dollars(dashboardPrice))
	row(fmt.Sprintf("only in a VPC: a NAT gateway, if you have none, and $%.3f for each of %.1f GB",
		gatewayGB, idleTraffic), dollars(gatewayMonth+gatewayGB*idleTraffic))
	row(fmt.Sprintf("the same with 500 nodes and 2,000 launches a day, %.1f GB", busyTraffic),
		dollars(gatewayMonth+gatewayGB*busyTraffic))
	row("or in its place: five interface endpoints, for each zone", "$36.50")
	monitoring, idle, busy, large := defaults()
	row("**sum of an idle cluster with the defaults**, and a free dashboard", dollars(idle))
	row("**sum of 500 nodes with the defaults**, and a free dashboard", dollars(busy))
	row("**sum of 5,000 nodes and 20,000 launches a day**, by extrapolation", dollars(large))
	row("**sum of an idle cluster with `metrics: off`, `alarms: false`, `dashboard: false`**", dollars(idle-monitoring))
	return table.String()
}
