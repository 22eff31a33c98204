package contract

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
)

// stackFacts need a stack of Whittle that has run for an hour. They read its metrics, and create nothing.
func stackFacts() []fact {
	return []fact{
		{
			assumption: "Two pollers stay at a queue that is empty for 20 s.",
			observe:    observePollers,
			changes:    "the polls of the cost page, infra/cost.go",
		},
		{
			assumption: "An idle invocation takes less than a second.",
			observe:    observeIdle,
			changes:    "the latencies of the cost page",
		},
		{
			assumption: "Alarms on sums of metrics leave INSUFFICIENT_DATA.",
			observe:    observeAlarms,
			changes:    "the expressions of the alarms, infra/alarms.go",
		},
	}
}

// sum adds up the datapoints of a metric of the last hour, and says how many there were.
func (a *Account) sum(
	ctx context.Context, namespace, metric, dimension, value string,
) (sum, samples float64, err error) {
	out, err := a.metrics.GetMetricStatistics(ctx, &cloudwatch.GetMetricStatisticsInput{
		Namespace: &namespace, MetricName: &metric,
		Dimensions: []types.Dimension{{Name: &dimension, Value: &value}},
		StartTime:  aws.Time(time.Now().Add(-time.Hour)), EndTime: aws.Time(time.Now()), Period: aws.Int32(3600),
		Statistics: []types.Statistic{types.StatisticSum, types.StatisticSampleCount},
	})
	if err != nil {
		return 0, 0, err
	}
	for _, point := range out.Datapoints {
		sum += aws.ToFloat64(point.Sum)
		samples += aws.ToFloat64(point.SampleCount)
	}
	if samples == 0 {
		return 0, 0, fmt.Errorf("%s of %s has no value: no stack of Whittle has run for the cluster in the last hour",
			metric, value)
	}
	return sum, samples, nil
}

// named is a function or queue of the cluster's stack.
func (a *Account) named(part string) string { return "whittle-" + a.Cluster + "-" + part }

func observePollers(ctx context.Context, a *Account) (bool, string, error) {
	if a.Cluster == "" {
		return false, "", errNoCluster
	}
	var saw []string
	two := true
	for _, queue := range []string{"warnings", "interrupt", "lifecycle", "provision", "disrupt"} {
		empty, _, err := a.sum(ctx, "AWS/SQS", "NumberOfEmptyReceives", "QueueName", a.named(queue))
		if err != nil {
			return false, "", err
		}
		pollers := empty / 3600 * 20
		two = two && math.Round(pollers) <= 2
		saw = append(saw, fmt.Sprintf("%s %.1f", queue, pollers))
	}
	return two, "pollers by empty receives: " + strings.Join(saw, ", "), nil
}

func observeIdle(ctx context.Context, a *Account) (bool, string, error) {
	if a.Cluster == "" {
		return false, "", errNoCluster
	}
	var saw []string
	short := true
	for _, function := range []string{"provision", "disrupt", "lifecycle", "interrupt"} {
		milliseconds, samples, err := a.sum(ctx, "AWS/Lambda", "Duration", "FunctionName", a.named(function))
		if err != nil {
			return false, "", err
		}
		short = short && milliseconds/samples < 1000
		saw = append(saw, fmt.Sprintf("%s %.0f ms", function, milliseconds/samples))
	}
	return short, "on average " + strings.Join(saw, ", "), nil
}

func observeAlarms(ctx context.Context, a *Account) (bool, string, error) {
	if a.Cluster == "" {
		return false, "", errNoCluster
	}
	out, err := a.metrics.DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{AlarmNamePrefix: aws.String(a.named(""))})
	if err != nil {
		return false, "", err
	}
	var without []string
	for i := range out.MetricAlarms {
		if out.MetricAlarms[i].StateValue == types.StateValueInsufficientData {
			without = append(without, aws.ToString(out.MetricAlarms[i].AlarmName))
		}
	}
	if len(out.MetricAlarms) == 0 {
		return false, "", fmt.Errorf("no alarm begins with %s", a.named(""))
	}
	return len(without) == 0, fmt.Sprintf("%d of %d alarms have no data: %s", len(without), len(out.MetricAlarms),
		strings.Join(without, ", ")), nil
}
