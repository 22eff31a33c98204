package main

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

// alarmPeriod is what CloudWatch counts SQS's messages by, in seconds.
const alarmPeriod = 60

// newAlarm rings while a message lies in any of the dead-letter queues: an event that no try could handle, or a function
// that fails for half an hour. It is one for all of a cluster's queues, as a stack has room for so many resources.
func newAlarm(c *cluster, dead []awssqs.Queue) {
	metrics := []any{&awscloudwatch.CfnAlarm_MetricDataQueryProperty{
		// SQS says nothing of a queue that nobody has touched for hours.
		Id: jsii.String("dead"), Expression: jsii.String("SUM(FILL(METRICS(), 0))"), Label: jsii.String("messages given up"), ReturnData: jsii.Bool(true),
	}}
	for i, queue := range dead {
		metrics = append(metrics, &awscloudwatch.CfnAlarm_MetricDataQueryProperty{
			Id: jsii.String(fmt.Sprintf("q%d", i)), ReturnData: jsii.Bool(false),
			MetricStat: &awscloudwatch.CfnAlarm_MetricStatProperty{
				Metric: &awscloudwatch.CfnAlarm_MetricProperty{
					Namespace: jsii.String("AWS/SQS"), MetricName: jsii.String("ApproximateNumberOfMessagesVisible"),
					Dimensions: []any{&awscloudwatch.CfnAlarm_DimensionProperty{Name: jsii.String("QueueName"), Value: queue.QueueName()}},
				},
				Period: jsii.Number(alarmPeriod), Stat: jsii.String("Maximum"),
			},
		})
	}
	properties := &awscloudwatch.CfnAlarmProps{
		AlarmName:          c.physicalName("dead-letters"),
		AlarmDescription:   jsii.String("Cluster " + c.name + ": messages that a function could not handle lie in a queue whose name ends in -dead. The function's log names the field or the cause."),
		Metrics:            metrics,
		EvaluationPeriods:  jsii.Number(1),
		ComparisonOperator: jsii.String("GreaterThanThreshold"),
		Threshold:          jsii.Number(0),
		TreatMissingData:   jsii.String("notBreaching"),
	}
	if topic := c.configuration.alarmTopic; topic != "" {
		properties.AlarmActions = &[]any{topic}
	}
	awscloudwatch.NewCfnAlarm(c.scope, jsii.String("DeadLetters"), properties)
}
