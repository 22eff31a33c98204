package infra

import (
	"fmt"
	"strings"

	"github.com/whittle-dev/whittle/shared/metrics"
)

// These are what functions, queues and logs cost in $/month, as `make bench-month` measures, where AWS answers at
// once: with no work, and with 500 nodes and 2,000 launches a day. $0.11 of them are the polls of the queue warnings.
const (
	idleMonth = 0.98
	busyMonth = 2.35
)

// These are more of a month's costs in dollars, which the local AWS does not have. Lambda keeps five pollers at a
// queue whose event source has a maximum concurrency: nine polls a minute more than two, at three queues. A schedule
// runs each minute, and another each hour. A watch that never ends is $4.40.
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html, https://aws.amazon.com/eventbridge/pricing/
const (
	pollersMonth  = 3 * 9 * 60 * hoursOfMonth * 0.40 / 1e6
	scheduleMonth = (60 + 1) * hoursOfMonth * 1.00 / 1e6
	watchMonth    = 4.40
	hoursOfMonth  = 730

	// pricePerGBSecond is Lambda's on arm64. https://aws.amazon.com/lambda/pricing/
	pricePerGBSecond = 0.0000133334
	// These times of an answer, in seconds, are assumptions: of a list of the API server or of SQS, of a page of
	// EC2, and of CreateFleet. The local AWS answers in microseconds, and Lambda bills waiting.
	listTime, pageTime, fleetTime = 0.008, 0.150, 3.0
	// launchesOfMonth are those of 2,000 a day.
	launchesOfMonth = 2000 * hoursOfMonth / 24
)

// wait is time that functions wait for answers in a month.
type wait struct {
	what           string
	times, seconds float64
	memory         float64 // in GB
}

func (w wait) dollars() float64 { return w.times * w.seconds * w.memory * pricePerGBSecond }

// idleWaits are the waits of a cluster without work. The numbers of calls are estimates.
func idleWaits() []wait {
	const ticks = 60 * hoursOfMonth
	return []wait{
		{"provision: 3 lists each 10 s", 6 * ticks, 3 * listTime, 1.5},
		{"disrupt: 2 lists each 20 s", 3 * ticks, 2 * listTime, 1.5},
		{"lifecycle: 6 lists, and 5 pages of EC2 for a class, each minute", ticks, 6*listTime + 5*pageTime, 0.5},
		{"ticker: 3 sends each minute", ticks, 3 * listTime, 0.125},
		{"catalog: 30 pages of EC2 each hour", hoursOfMonth, 30 * pageTime, 0.5},
	}
}

// busyWaits are those that 500 nodes and 2,000 launches a day add.
func busyWaits() []wait {
	return []wait{
		{"provision: a CreateFleet for each four launches", launchesOfMonth / 4, fleetTime, 1.5},
		{"lifecycle: a page of 500 instances takes a second longer", 60 * hoursOfMonth, 1, 0.5},
		{"lifecycle: three passes more for each node", 3 * launchesOfMonth, 6*listTime + pageTime, 0.5},
	}
}

func waitingFor(waits []wait) float64 {
	sum := 0.0
	for _, w := range waits {
		sum += w.dollars()
	}
	return sum
}

// waitTable documents the model of waiting in Markdown.
func waitTable() string {
	var table strings.Builder
	table.WriteString("| waiting | $/month |\n| --- | ---: |\n")
	for _, w := range append(idleWaits(), busyWaits()...) {
		fmt.Fprintf(&table, "| %s | $%.2f |\n", w.what, w.dollars())
	}
	return table.String()
}

// defaults are the costs of a month with the default settings and a free dashboard: idle, and with 500 nodes. The
// work of 2,000 launches a day leaves no five quiet minutes, so that the watch never ends.
func defaults() (monitoring, idle, busy float64) {
	monitoring = float64(metrics.DetailFew.Series())*seriesPrice + float64(evaluations(metrics.DetailFew))*evaluatedPrice
	rest := pollersMonth + scheduleMonth + waitingFor(idleWaits()) + monitoring
	return monitoring, idleMonth + rest, busyMonth + rest + waitingFor(busyWaits()) + watchMonth
}

// frontPage are the rows of the cost on the first page.
func frontPage() string {
	monitoring, idle, busy := defaults()
	return fmt.Sprintf("| cost of an idle cluster | about $%.1f0/month, of which $%.1f0 are metrics and alarms. "+
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
	row("the same with 500 nodes and 2,000 launches a day", dollars(busyMonth))
	row("time in which functions wait for AWS, idle, by the model below", dollars(waitingFor(idleWaits())))
	row("the same with 500 nodes and 2,000 launches a day", dollars(waitingFor(idleWaits())+waitingFor(busyWaits())))
	row("five pollers at the three queues with a maximum concurrency, in place of two", dollars(pollersMonth))
	row("EventBridge Scheduler", dollars(scheduleMonth))
	row("a watch, for each hour of work with `reaction: adaptive`", "$0.006")
	row("the same with `always`, or with work all the time, for the whole month", dollars(watchMonth))
	for _, detail := range []metrics.Detail{metrics.DetailFew, metrics.DetailFull} {
		series := detail.Series()
		row(fmt.Sprintf("`metrics: %s`, %d series at $%.2f", detail, series, seriesPrice),
			dollars(float64(series)*seriesPrice))
	}
	evaluated := evaluations(metrics.DetailFew)
	alarms := float64(evaluated) * evaluatedPrice
	row(fmt.Sprintf("`alarms: true`, which evaluate %d metrics at $%.2f", evaluated, evaluatedPrice), dollars(alarms))
	row("`dashboard: true`, beyond the account's first three", dollars(dashboardPrice))
	row("only in a VPC: a NAT gateway, if you have none", "$32.85 and $0.045/GB")
	row("or in its place: five interface endpoints, for each zone", "$36.50")
	monitoring, idle, busy := defaults()
	row("**sum of an idle cluster with the defaults**, and a free dashboard", dollars(idle))
	row("**sum of 500 nodes with the defaults**, and a free dashboard", dollars(busy))
	row("**sum of an idle cluster with `metrics: off`, `alarms: false`, `dashboard: false`**", dollars(idle-monitoring))
	return table.String()
}
