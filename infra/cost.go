package main

import (
	"fmt"
	"strings"

	"github.com/whittle-dev/whittle/shared/metrics"
)

// These are what functions, queues and logs cost in $/month, as `make bench-month` measures: with no
// work, and with 500 nodes and 2,000 launches a day.
const (
	idleMonth = 0.87
	busyMonth = 2.24
)

// evaluations counts the metrics that the alarms of a detail evaluate.
func evaluations(detail metrics.Detail) int {
	const own = 4 // alarms by a metric of Whittle's, each by one
	count := len(queueNames()) + len(functionNames()) - 1 + 1
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
	row("a watch, for each hour of work with `reaction: adaptive`", "$0.006")
	row("the same with `always`, for the whole month", "$4.40")
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
	few := float64(metrics.DetailFew.Series()) * seriesPrice
	row("**sum of an idle cluster with the defaults**, and a free dashboard", dollars(idleMonth+few+alarms))
	row("**sum of 500 nodes with the defaults**, and a free dashboard", dollars(busyMonth+few+alarms))
	row("**sum of an idle cluster with `metrics: off`, `alarms: false`, `dashboard: false`**", dollars(idleMonth))
	return table.String()
}
