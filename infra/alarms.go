package main

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/whittle-dev/whittle/shared/metrics"
)

// alarmPeriod, in seconds, is what the alarms count by: the shortest that CloudWatch has for AWS's own metrics.
const alarmPeriod = 60

// metric is a metric of a cluster: AWS's own, or Whittle's.
type metric struct {
	namespace, name, statistic string
	// dimension with its value tells the series.
	dimension string
	value     *string
}

func (c *cluster) own(name metrics.Name, statistic string) metric {
	return metric{namespace: metrics.Namespace, name: string(name), statistic: statistic, dimension: metrics.ClusterDimension, value: jsii.String(c.name)}
}

func lambdaMetric(name, statistic string, of function) metric {
	return metric{namespace: "AWS/Lambda", name: name, statistic: statistic, dimension: "FunctionName", value: of.lambda.FunctionName()}
}

func deadLetterMetric(queue awssqs.Queue) metric {
	return metric{namespace: "AWS/SQS", name: "ApproximateNumberOfMessagesVisible", statistic: "Maximum", dimension: "QueueName", value: queue.QueueName()}
}

// alarm rings when the sum of its metrics is past the threshold, or below it, in enough of the last periods.
type alarm struct {
	id, name, description string
	metrics               []metric
	comparison            string
	threshold             float64
	// periods are looked at; in so many of them, due, it must be so.
	periods, due float64
	// missing is what counts for a period without a value: breaching or notBreaching.
	missing string
}

// all are the functions of a cluster.
func (f functions) all() []function {
	return []function{f.ticker, f.provision, f.interrupt, f.lifecycle, f.disrupt, f.catalog, f.install, f.console}
}

// newAlarms adds what should wake somebody. Each name ends as its symptom is called in the README.
func newAlarms(c *cluster, dead []awssqs.Queue, f functions) {
	var letters, failures []metric
	for _, queue := range dead {
		letters = append(letters, deadLetterMetric(queue))
	}
	for _, function := range f.all() {
		failures = append(failures, lambdaMetric("Errors", "Sum", function))
	}
	const above, below = "GreaterThanThreshold", "LessThanThreshold"
	for _, a := range []alarm{
		{
			id: "DeadLetters", name: "dead-letters", metrics: letters, comparison: above, periods: 1, due: 1, missing: "notBreaching",
			description: "messages that a function could not handle lie in a queue whose name ends in -dead. The function's log names the field or the cause.",
		},
		{
			// One failure comes back and is done the second time.
			id: "Errors", name: "errors", metrics: failures, comparison: above, periods: 5, due: 3, missing: "notBreaching",
			description: "functions fail again and again. Their logs say why.",
		},
		{
			id: "TicksMissing", name: "ticks-missing", metrics: []metric{lambdaMetric("Invocations", "Sum", f.provision)}, comparison: below, threshold: 1, periods: 5, due: 5, missing: "breaching",
			description: "provision has not been woken for 5 minutes: pods that wait get no nodes. Look at the schedule and the log of the ticker.",
		},
		{
			id: "PodsUnserved", name: "pods-unserved", metrics: []metric{c.own(metrics.OldestPodPending, "Maximum")}, comparison: above, threshold: 600, periods: 1, due: 1, missing: "notBreaching",
			description: "a pod has waited for a node for more than 10 minutes. `whittle status` and the pod's events say why.",
		},
		{
			id: "LaunchFailures", name: "launch-failures", metrics: []metric{c.own(metrics.LaunchFailures, "Sum")}, comparison: above, periods: 5, due: 3, missing: "notBreaching",
			description: "EC2 refuses launches, not for a lack of capacity. The events of the NodeClaims and of the EC2NodeClass say why.",
		},
		{
			// An hour of it: lifecycle begins to tell only when there is a catalogue.
			id: "CatalogOld", name: "catalog-old", metrics: []metric{c.own(metrics.CatalogAge, "Maximum")}, comparison: above, threshold: 24 * 3600, periods: 60, due: 60, missing: "breaching",
			description: "the catalogue of instance types and prices is older than a day, or there is none. The log of the function catalog says why.",
		},
	} {
		newAlarm(c, a)
	}
}

func newAlarm(c *cluster, a alarm) {
	properties := &awscloudwatch.CfnAlarmProps{
		AlarmName:          c.physicalName(a.name),
		AlarmDescription:   jsii.String("Cluster " + c.name + ": " + a.description),
		EvaluationPeriods:  jsii.Number(a.periods),
		DatapointsToAlarm:  jsii.Number(a.due),
		ComparisonOperator: jsii.String(a.comparison),
		Threshold:          jsii.Number(a.threshold),
		TreatMissingData:   jsii.String(a.missing),
	}
	if len(a.metrics) == 1 {
		only := a.metrics[0]
		properties.Namespace, properties.MetricName, properties.Statistic = jsii.String(only.namespace), jsii.String(only.name), jsii.String(only.statistic)
		properties.Dimensions = []any{&awscloudwatch.CfnAlarm_DimensionProperty{Name: jsii.String(only.dimension), Value: only.value}}
		properties.Period = jsii.Number(alarmPeriod)
	} else {
		properties.Metrics = sumOf(a.metrics)
	}
	if topic := c.configuration.alarmTopic; topic != "" {
		properties.AlarmActions = &[]any{topic}
		properties.OkActions = &[]any{topic}
	}
	awscloudwatch.NewCfnAlarm(c.scope, jsii.String(a.id), properties)
}

// sumOf adds metrics up; AWS says nothing of a queue or function that nobody has touched for hours.
func sumOf(metrics []metric) []any {
	queries := []any{&awscloudwatch.CfnAlarm_MetricDataQueryProperty{
		Id: jsii.String("sum"), Expression: jsii.String("SUM(FILL(METRICS(), 0))"), Label: jsii.String("in sum"), ReturnData: jsii.Bool(true),
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
