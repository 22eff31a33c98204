package infra

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/whittle-dev/whittle/shared/metrics"
)

// alarmPeriod, in seconds, is the length of the alarms' periods. AWS's own metrics have none shorter.
const alarmPeriod = 60

// These thresholds are twice the smallest values that are written with few metrics: metrics.Metric.From.
const podsUnserved, catalogOld = 600, 24 * 3600

// metric is a metric of a cluster: AWS's own, or Whittle's.
type metric struct {
	namespace, name, statistic string
	// dimension and value select the series.
	dimension string
	value     *string
}

func (c *cluster) own(name metrics.Name, statistic string) metric {
	return metric{
		namespace: metrics.Namespace, name: string(name), statistic: statistic,
		dimension: metrics.ClusterDimension, value: jsii.String(c.name),
	}
}

func lambdaMetric(name, statistic string, of function) metric {
	return metric{
		namespace: "AWS/Lambda", name: name, statistic: statistic,
		dimension: "FunctionName", value: of.lambda.FunctionName(),
	}
}

func deadLetterMetric(queue awssqs.Queue) metric {
	return queueMetric(queue, "ApproximateNumberOfMessagesVisible")
}

func queueMetric(queue awssqs.Queue, name string) metric {
	return metric{
		namespace: "AWS/SQS", name: name, statistic: "Maximum", dimension: "QueueName", value: queue.QueueName(),
	}
}

// alarm rings when the sum of its metrics crosses the threshold in enough of the last periods.
type alarm struct {
	id, name string
	// counted names the sum of the metrics, meaning says what is wrong, and action what a person does.
	// whittle-CLUSTER stands for the beginning of the cluster's names.
	counted, meaning, action string
	metrics                  func(*cluster, queues, functions) []metric
	comparison               string
	threshold                float64
	// Of the last periods, as many as due must cross the threshold.
	periods, due float64
	// missing says how a period without a value counts: breaching or notBreaching.
	missing string
}

const above, below = "GreaterThanThreshold", "LessThanThreshold"

// alarms lists the alarms of a cluster. FILL takes the newest value of a sum for 0 while CloudWatch does
// not have it. SQS's are some minutes late, so that no alarm on a sum looks at the newest period alone.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
func alarms() []alarm {
	return []alarm{
		{
			// A message that a function cannot read comes back for half an hour before it is a dead letter.
			id: "DeadLetters", name: "dead-letters", counted: "messages in the dead-letter queue, and unreadable ones",
			meaning: "A function cannot handle some messages. They are in `whittle-CLUSTER-dead`, or will be.",
			action: "Read the function's log: it names the field or the cause. Follow the function's page, then redrive " +
				"the queue.",
			metrics: func(c *cluster, q queues, _ functions) []metric {
				return []metric{deadLetterMetric(q.dead), c.own(metrics.UnreadableMessages, "Sum")}
			},
			comparison: above, periods: 10, due: 1, missing: "notBreaching",
		},
		{
			// The second try usually succeeds after a single failure. Three of catalog's fill eight minutes
			// where each of them times out. Lambda counts no error of interrupt, whose messages fail one by one.
			id: "Errors", name: "errors", counted: "failed invocations and messages",
			meaning: "Functions fail again and again.",
			action: "Read the log of the function that the dashboard shows: its own error, or a `platform.report` line " +
				"with status `timeout` or `error`.",
			metrics: func(c *cluster, _ queues, f functions) []metric {
				failed := each(f.failing(), func(of function) metric { return lambdaMetric("Errors", "Sum", of) })
				return append(failed, c.own(metrics.FailedMessages, "Sum"))
			},
			comparison: above, periods: 15, due: 3, missing: "notBreaching",
		},
		{
			// No invocation and no failed message tells of a poller without rights, or of an account without
			// concurrency. SQS leaves messages out that it has delivered three times: they fail, or standby
			// keeps them.
			// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
			id: "EventsWaiting", name: "events-waiting", counted: "seconds that the oldest event has waited",
			meaning: "Nobody reads the events about instances, so spot warnings are lost.",
			action: "Check that the event source mapping of interrupt is on, and why: rights of the role, the queue's key, " +
				"or the account's concurrency (the metric `Throttles`).",
			metrics: func(_ *cluster, q queues, _ functions) []metric {
				return each(q.ofEvents(), func(queue awssqs.Queue) metric {
					return queueMetric(queue, "ApproximateAgeOfOldestMessage")
				})
			},
			comparison: above, threshold: 90, periods: 5, due: 1, missing: "notBreaching",
		},
		{
			id: "EventsUndelivered", name: "events-undelivered", counted: "events that came to no queue",
			meaning: "EventBridge cannot deliver events, so spot warnings are lost. They are in `whittle-CLUSTER-undelivered`.",
			action: "Read a message's attributes `ERROR_CODE` and `ERROR_MESSAGE`: the queue's policy, or the policy of the " +
				"setting `kmsKey`, which has to let events.amazonaws.com use the key. Then delete the messages.",
			metrics: func(_ *cluster, q queues, _ functions) []metric {
				return []metric{deadLetterMetric(q.undelivered)}
			},
			comparison: above, periods: 5, due: 1, missing: "notBreaching",
		},
		neverWoken("TicksMissing", "ticks-missing", "provision", "pending pods get no nodes",
			func(f functions) function { return f.provision }),
		neverWoken("LifecycleMissing", "lifecycle-missing", "lifecycle", "nodes neither join nor end",
			func(f functions) function { return f.lifecycle }),
		neverWoken("DisruptMissing", "disrupt-missing", "disrupt", "no node is replaced or removed",
			func(f functions) function { return f.disrupt }),
		{
			id: "PodsUnserved", name: "pods-unserved", counted: "seconds that the oldest pending pod has waited",
			meaning:    "A pod has waited for a node for more than 10 minutes.",
			action:     "Run `bin/whittle status`: a pod fits nowhere, or an EC2NodeClass is not ready.",
			metrics:    ownMetric(metrics.OldestPodPending, "Maximum"),
			comparison: above, threshold: podsUnserved, periods: 1, due: 1, missing: "notBreaching",
		},
		{
			id: "Standby", name: "standby", counted: "invocations in standby",
			meaning: "Whittle has done nothing for 5 minutes, because Karpenter acts in the cluster.",
			action: "Scale Karpenter's Deployment to 0, or remove the stack: `kubectl get lease -A` shows where Karpenter " +
				"runs.",
			metrics:    ownMetric(metrics.Standby, "Sum"),
			comparison: above, periods: 5, due: 5, missing: "notBreaching",
		},
		{
			id: "LaunchFailures", name: "launch-failures", counted: "failed launches",
			meaning: "EC2 refuses launches for another reason than a lack of capacity.",
			action:  "Read the events of the NodeClaims and of the EC2NodeClass: rights, quotas or images.",
			metrics: ownMetric(metrics.LaunchFailures, "Sum"),
			// A claim is tried three minutes long. Where its class is refused, the next one comes when the
			// refusal lapses, after ten minutes.
			comparison: above, periods: 20, due: 3, missing: "notBreaching",
		},
		{
			// Lifecycle measures a missing catalogue as a week old. In standby it measures none.
			id: "CatalogOld", name: "catalog-old", counted: "seconds since catalog read EC2",
			meaning:    "The catalogue of instance types and prices is older than a day, or there is none.",
			action:     "Read the log of catalog: rights or network.",
			metrics:    ownMetric(metrics.CatalogAge, "Maximum"),
			comparison: above, threshold: catalogOld, periods: 60, due: 60, missing: "notBreaching",
		},
	}
}

// neverWoken is the alarm of a function that ticks wake. It looks at few periods, because CloudWatch
// takes earlier values for missing ones: three take five minutes.
func neverWoken(id, name, function, effect string, of func(functions) function) alarm {
	return alarm{
		id: id, name: name, counted: "invocations of " + function,
		meaning: "Nothing has woken " + function + " for some minutes, so " + effect + ".",
		action: "Read the log of ticker. Check that nobody disabled the schedule `whittle-CLUSTER-ticker` or the " +
			"function's event source mapping, and that the account has concurrency left. The alarm rings for some minutes " +
			"after the first deployment.",
		metrics: func(_ *cluster, _ queues, f functions) []metric {
			return []metric{lambdaMetric("Invocations", "Sum", of(f))}
		},
		comparison: below, threshold: 1, periods: 3, due: 3, missing: "breaching",
	}
}

func ownMetric(name metrics.Name, statistic string) func(*cluster, queues, functions) []metric {
	return func(c *cluster, _ queues, _ functions) []metric { return []metric{c.own(name, statistic)} }
}

func each[T any](items []T, of func(T) metric) []metric {
	var all []metric
	for _, item := range items {
		all = append(all, of(item))
	}
	return all
}

// alarmsTable documents the alarms in Markdown.
func alarmsTable() string {
	var table strings.Builder
	row := func(cells ...string) { table.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	row("alarm", "condition", "meaning", "what to do")
	row("---", "---", "---", "---")
	for _, a := range alarms() {
		row("`"+a.name+"`", a.condition(), a.meaning, a.action)
	}
	return table.String()
}

// condition says when the alarm rings.
func (a alarm) condition() string {
	sign := map[string]string{above: ">", below: "<"}[a.comparison]
	text := fmt.Sprintf("%s %s %g", a.counted, sign, a.threshold)
	if a.periods == 1 {
		return text
	}
	return fmt.Sprintf("%s in %g of %g minutes", text, a.due, a.periods)
}

// has reports whether the cluster has the metrics of the alarm.
func (a alarm) has(c *cluster, q queues, f functions) bool {
	return !slices.ContainsFunc(a.metrics(c, q, f), func(m metric) bool {
		return m.namespace == metrics.Namespace && !c.writes(metrics.Name(m.name))
	})
}

// writes reports whether the functions write a metric.
func (c *cluster) writes(name metrics.Name) bool {
	return slices.ContainsFunc(metrics.All(), func(m metrics.Metric) bool {
		return m.Name == name && c.configuration.metrics.Has(m)
	})
}

// all returns the functions of a cluster.
func (f functions) all() []function {
	return slices.Concat([]function{f.ticker}, f.failing(), []function{f.install, f.console, f.watch})
}

// failing returns the functions whose failures no other sign tells of. Each metric of an alarm costs
// $0.10/month. The alarms of missing ticks ring for ticker. Install fails the deployment, and console tells
// the person who looks at the page. Without a watch the ticks go on.
func (f functions) failing() []function {
	return []function{f.provision, f.interrupt, f.lifecycle, f.disrupt, f.catalog}
}

// newAlarms adds the alarms to the stack, and returns their ARNs.
func newAlarms(c *cluster, q queues, f functions) []*string {
	var made []*string
	var topics []any
	for _, topic := range newPages(c) {
		topics = append(topics, topic)
	}
	for _, a := range alarms() {
		if c.configuration.alarms && a.has(c, q, f) {
			made = append(made, newAlarm(c, a, a.metrics(c, q, f), topics))
		}
	}
	return made
}

func newAlarm(c *cluster, a alarm, counted []metric, topics []any) *string {
	description := "Cluster " + c.name + ": " + a.meaning + " " + a.action
	properties := &awscloudwatch.CfnAlarmProps{
		AlarmName:          c.physicalName(a.name),
		AlarmDescription:   jsii.String(strings.ReplaceAll(description, "whittle-CLUSTER", c.prefix)),
		EvaluationPeriods:  jsii.Number(a.periods),
		DatapointsToAlarm:  jsii.Number(a.due),
		ComparisonOperator: jsii.String(a.comparison),
		Threshold:          jsii.Number(a.threshold),
		TreatMissingData:   jsii.String(a.missing),
	}
	if len(counted) == 1 {
		only := counted[0]
		properties.Namespace, properties.MetricName = jsii.String(only.namespace), jsii.String(only.name)
		properties.Statistic = jsii.String(only.statistic)
		properties.Dimensions = []any{
			&awscloudwatch.CfnAlarm_DimensionProperty{Name: jsii.String(only.dimension), Value: only.value},
		}
		properties.Period = jsii.Number(alarmPeriod)
	} else {
		properties.Metrics = sumOf(counted)
	}
	if len(topics) > 0 {
		properties.AlarmActions, properties.OkActions = &topics, &topics
	}
	return awscloudwatch.NewCfnAlarm(c.scope, jsii.String(a.id), properties).AttrArn()
}

// sumOf adds metrics up. AWS has no values for a queue or function that was idle for hours: they count
// as 0.
func sumOf(metrics []metric) []any {
	queries := []any{&awscloudwatch.CfnAlarm_MetricDataQueryProperty{
		Id: jsii.String("sum"), Expression: jsii.String("SUM(FILL(METRICS(), 0))"), Label: jsii.String("in sum"),
		ReturnData: jsii.Bool(true),
	}}
	for i, one := range metrics {
		queries = append(queries, &awscloudwatch.CfnAlarm_MetricDataQueryProperty{
			Id: jsii.String(fmt.Sprintf("m%d", i)), ReturnData: jsii.Bool(false),
			MetricStat: &awscloudwatch.CfnAlarm_MetricStatProperty{
				Metric: &awscloudwatch.CfnAlarm_MetricProperty{
					Namespace: jsii.String(one.namespace), MetricName: jsii.String(one.name),
					Dimensions: []any{&awscloudwatch.CfnAlarm_DimensionProperty{Name: jsii.String(one.dimension), Value: one.value}},
				},
				Period: jsii.Number(alarmPeriod), Stat: jsii.String(one.statistic),
			},
		})
	}
	return queries
}
