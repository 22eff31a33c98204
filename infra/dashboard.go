package infra

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"github.com/whittle-dev/whittle/shared/metrics"
)

// The grid of a dashboard is 24 columns wide.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
const (
	widgetWidth, widgetHeight = 8, 6
	columns                   = 24 / widgetWidth
)

// graph is a widget that shows lines.
type graph struct {
	title string
	lines []any
	// query of Logs Insights makes the lines, where no metric does. With both, it counts only where
	// no metric is written.
	query string
	// bound is a horizontal line, such as an alarm's threshold; nil for none.
	bound any
}

// newDashboard adds the cluster's CloudWatch dashboard. It begins with the alarms, the next steps and
// the nodes. The graphs follow.
func newDashboard(c *cluster, q queues, f functions, alarms []*string) {
	if !c.configuration.dashboard {
		return
	}
	widgets := []any{
		widget("text", 0, 0, 12, widgetHeight, map[string]any{"markdown": steps(c)}),
		widget("custom", 0, widgetHeight, 24, 3*widgetHeight, map[string]any{
			"title": "Nodes", "endpoint": f.console.lambda.FunctionArn(),
			"updateOn": map[string]any{"refresh": true, "resize": false, "timeRange": false},
		}),
	}
	if len(alarms) > 0 {
		widgets = append([]any{widget("alarm", 12, 0, 12, widgetHeight, map[string]any{
			"title": "Alarms", "alarms": alarms, "sortBy": "stateUpdatedTimestamp",
		})}, widgets...)
	}
	under := 4 * widgetHeight
	shown := graphs(c, q, f)
	for i, g := range shown {
		x, y := i%columns*widgetWidth, under+i/columns*widgetHeight
		if len(g.lines) == 0 {
			widgets = append(widgets, widget("log", x, y, widgetWidth, widgetHeight, map[string]any{
				"title": g.title, "region": awscdk.Aws_REGION(), "view": "timeSeries", "query": g.query,
			}))
			continue
		}
		properties := map[string]any{
			"title": g.title, "region": awscdk.Aws_REGION(), "view": "timeSeries", "stat": "Average", "period": alarmPeriod,
			"metrics": g.lines,
		}
		if g.bound != nil {
			properties["annotations"] = map[string]any{"horizontal": []any{g.bound}}
		}
		widgets = append(widgets, widget("metric", x, y, widgetWidth, widgetHeight, properties))
	}
	under += (len(shown) + columns - 1) / columns * widgetHeight
	widgets = append(widgets, widget("log", 0, under, 24, widgetHeight, map[string]any{
		"title": "Last plans", "region": awscdk.Aws_REGION(), "view": "table",
		"query": "SOURCE '/aws/lambda/" + *c.physicalName("provision") + "' " +
			"| fields @timestamp, pods, nodeclaims, nominations, unplaced, price, bound, duration " +
			"| filter msg = 'computed new nodeclaim(s) to fit pod(s)' | sort @timestamp desc | limit 20",
	}))
	awscloudwatch.NewCfnDashboard(c.scope, jsii.String("Dashboard"), &awscloudwatch.CfnDashboardProps{
		DashboardName: jsii.String(c.prefix),
		DashboardBody: awscdk.Stack_Of(c.scope).ToJsonString(map[string]any{"widgets": widgets}, nil),
	})
}

func widget(kind string, x, y, width, height int, properties map[string]any) map[string]any {
	return map[string]any{"type": kind, "x": x, "y": y, "width": width, "height": height, "properties": properties}
}

// steps says in Markdown what a person at the dashboard does next.
func steps(c *cluster) string {
	return "## Whittle for " + c.name + "\n\n" +
		"* **Alarm?** Its description has the next step.\n" +
		"* **Pods wait?** `whittle explain pod NAME -n NAMESPACE` says why.\n" +
		"* **A node puzzles you?** `whittle explain node NAME` says what it costs, what keeps it, and when it goes.\n" +
		"* **What happened?** Choose the time of the incident at the top: the first three graphs show it. Logs Insights " +
		"has the saved queries `" + c.prefix + "/...`: what failed, why pods wait, why nodes went, what was launched at " +
		"what price, who held it up, and the stories of a NodeClaim and of a pod.\n" +
		"* **The whole cluster**: `whittle status`.\n"
}

// graphs lists the dashboard's graphs, without lines of metrics that nobody writes. Those that people
// need most come first: what happened at a time.
func graphs(c *cluster, q queues, f functions) []graph {
	var shown []graph
	for _, g := range allGraphs(c, q, f) {
		g.lines = slices.DeleteFunc(g.lines, func(line any) bool { return line == nil })
		if len(g.lines) > 0 || g.query != "" {
			shown = append(shown, g)
		}
	}
	return shown
}

func allGraphs(c *cluster, q queues, f functions) []graph {
	own := func(name metrics.Name, statistic, label string) any {
		if !c.writes(name) {
			return nil
		}
		return line(c.own(name, statistic), label)
	}
	var failures, durations, costs []any
	for i, function := range f.all() {
		failures = append(failures, line(lambdaMetric("Errors", "Sum", function), function.name))
		durations = append(durations, line(lambdaMetric("Duration", "p99", function), function.name))
		costs = append(costs, cost(c, function, fmt.Sprintf("d%d", i))...)
	}
	letters := []any{
		line(deadLetterMetric(q.dead), "dead letters"), line(deadLetterMetric(q.undelivered), "undelivered events"),
	}
	return []graph{
		{
			title: c.titled(metrics.PodsPending, "Pending pods", "Pending pods, at each plan"),
			lines: []any{own(metrics.PodsPending, "Maximum", "pods")}, query: plannedPods(c),
		},
		{title: "Launches and ends of nodes", query: launchesAndEnds(c)},
		{title: "Disruptions and interruptions of nodes", query: disruptions(c)},
		{
			title: c.titled(metrics.OldestPodPending, "Oldest pending pod, seconds", "Pods that wait for 5 minutes, seconds"),
			lines: []any{own(metrics.OldestPodPending, "Maximum", "seconds")},
			bound: map[string]any{"label": "alarm", "value": podsUnserved},
		},
		{
			title: "Nodes", query: countedNodes(c,
				"max(spot) as spotNodes, max(`on-demand`) as onDemandNodes, max(reserved) as reservedNodes"),
		},
		{title: "Price of nodes, $/h", query: countedNodes(c, "avg(price) as spent, avg(saved) as savedAgainstOnDemand")},
		{title: "Price of NodePools, $/h", lines: poolLines(c, metrics.PoolDollars)},
		{title: "Nodes of NodePools", lines: poolLines(c, metrics.PoolNodes)},
		{
			title: "Price of plans, $/h",
			lines: []any{own(metrics.PlanDollars, "Sum", "planned"), own(metrics.PlanBoundDollars, "Sum", "lower bound")},
		},
		{
			title: c.titled(metrics.Launches, "Launches, and launches that EC2 refused", "Launches that EC2 refused"),
			lines: []any{own(metrics.Launches, "Sum", "launched"), own(metrics.LaunchFailures, "Sum", "refused")},
		},
		{
			title: "NodeClaim to instance, seconds",
			lines: []any{own(metrics.LaunchSeconds, "p50", "p50"), own(metrics.LaunchSeconds, "p99", "p99")},
		},
		{title: "Interruptions, nodes", lines: []any{own(metrics.Interruptions, "Sum", "nodes")}},
		{title: "Disruptions, nodes", lines: series(c, metrics.DisruptionSavedDollars, "SampleCount")},
		{title: "Saved by disruptions, $/h", lines: series(c, metrics.DisruptionSavedDollars, "Sum")},
		{title: "Function errors", lines: append(failures,
			own(metrics.FailedMessages, "Sum", "messages that return"),
			own(metrics.UnreadableMessages, "Sum", "unreadable messages"))},
		{title: "Dead letters", lines: letters, bound: map[string]any{"label": "alarm", "value": 1}},
		{title: "Standby for Karpenter", lines: []any{own(metrics.Standby, "Sum", "invocations")}},
		{title: "Function duration, p99, ms", lines: durations},
		{title: "Function cost by duration, $/min", lines: costs},
		{
			title: c.titled(metrics.CatalogAge, "Catalogue age, seconds", "Catalogue older than 12 hours, seconds"),
			lines: []any{own(metrics.CatalogAge, "Maximum", "seconds")},
			bound: map[string]any{"label": "alarm", "value": catalogOld},
		},
	}
}

// titled is the title of a graph with a metric: the first one where all of its values are written, and
// the second one where few or none are.
func (c *cluster) titled(name metrics.Name, all, few string) string {
	detail := c.configuration.metrics
	for _, m := range metrics.All() {
		if m.Name == name && (!detail.Has(m) || m.From > 0 && !detail.Writes(m, 0)) {
			return few
		}
	}
	return all
}

// inLogs begins a query over the logs of functions.
func inLogs(c *cluster, functions ...string) string {
	var sources []string
	for _, name := range functions {
		sources = append(sources, "SOURCE '/aws/lambda/"+*c.physicalName(name)+"'")
	}
	return strings.Join(sources, " | ") + " | "
}

// plannedPods is a query of the pods that wait, by the plans for them. Without pods there is no plan.
func plannedPods(c *cluster) string {
	return inLogs(c, "provision") + "filter msg = 'computed new nodeclaim(s) to fit pod(s)' | " +
		"stats max(pods) as pending, max(unplaced) as withoutPlace by bin(1m)"
}

// launchesAndEnds is a query of launched, refused and ended nodes.
func launchesAndEnds(c *cluster) string {
	return inLogs(c, "provision", "lifecycle") +
		countedLines([][2]string{
			{"launched", "launched nodeclaim"}, {"refused", "failed launching nodeclaim"}, {"ended", "deleted nodeclaim"},
		})
}

// disruptions is a query of the nodes that were chosen to go, by who chose them.
func disruptions(c *cluster) string {
	return inLogs(c, "disrupt", "interrupt", "lifecycle") +
		countedLines([][2]string{
			{"disrupted", "disrupting node(s)"}, {"interrupted", "initiating delete from interruption message"},
			{"unhealthy", "deleting unhealthy node"}, {"expired", "deleting expired nodeclaim"},
			{"byPeople", "deleting nodeclaim of a deleted node"},
			{"takenByAWS", "deleting nodeclaim before its instance is taken"},
		})
}

// countedLines counts lines by their messages. No message may contain another one.
func countedLines(named [][2]string) string {
	var messages, sums []string
	for _, of := range named {
		messages = append(messages, of[1])
		sums = append(sums, "sum(strcontains(msg, '"+of[1]+"')) as "+of[0])
	}
	return "filter msg in [" + literals(messages) + "] | stats " + strings.Join(sums, ", ") + " by bin(5m)"
}

// countedNodes is a query of the lines that lifecycle writes each minute. A month of them costs less than a cent,
// and the four series of the same values $1.20.
func countedNodes(c *cluster, values string) string {
	return inLogs(c, "lifecycle") + "filter msg = 'counted nodes' | stats " + values + " by bin(5m)"
}

// line returns a metric in the form of a dashboard.
func line(m metric, label string) any {
	return []any{m.namespace, m.name, m.dimension, m.value, map[string]any{"label": label, "stat": m.statistic}}
}

// cost returns Lambda's price of a function's milliseconds in us-east-1, without requests.
// https://aws.amazon.com/lambda/pricing/
func cost(c *cluster, f function, id string) []any {
	perGigabyteSecond := 0.0000133334
	if c.stack.architecture != defaultArchitecture {
		perGigabyteSecond = 0.0000166667
	}
	m := lambdaMetric("Duration", "Sum", f)
	return []any{
		[]any{m.namespace, m.name, m.dimension, m.value, map[string]any{"id": id, "stat": m.statistic, "visible": false}},
		[]any{
			map[string]any{
				"expression": fmt.Sprintf("%s*%.13f", id, c.memory(f.name)/1024/1000*perGigabyteSecond), "label": f.name,
			},
		},
	}
}

// poolLines returns a line for each NodePool with metrics of its own.
func poolLines(c *cluster, name metrics.Name) []any {
	var lines []any
	for _, pool := range c.configuration.nodePoolMetrics {
		lines = append(lines, []any{
			metrics.Namespace, string(name), metrics.ClusterDimension, c.name, metrics.NodePoolDimension, pool,
			map[string]any{"label": pool, "stat": "Average"},
		})
	}
	return lines
}

// series returns a line for each value of a metric's own dimension.
func series(c *cluster, name metrics.Name, statistic string) []any {
	var lines []any
	for _, known := range metrics.All() {
		if known.Name != name || !c.writes(name) {
			continue
		}
		for _, of := range known.Series {
			lines = append(lines, []any{
				metrics.Namespace, string(name), metrics.ClusterDimension, c.name, known.Dimension, of,
				map[string]any{"label": of, "stat": statistic},
			})
		}
	}
	return lines
}
