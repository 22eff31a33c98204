package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/whittle-dev/whittle/events"
)

// newDelivery adds the custom resource that sends a test event through a rule, and fails the deployment
// where it does not come to interrupt by each queue of events. Nothing else would tell before the first
// spot warning is lost. A change of its properties repeats the test.
func newDelivery(c *cluster, q queues, f functions, rules constructs.Construct) {
	if c.configuration.dryRun {
		return
	}
	of := q.ofEvents()
	names := make([]*string, len(of))
	for i, queue := range of {
		names[i] = queue.QueueName()
	}
	properties := map[string]any{
		"ClusterName":      c.name,
		"Queues":           names,
		"UndeliveredQueue": q.undelivered.QueueUrl(),
	}
	if key := c.configuration.kmsKey; key != "" {
		properties["Key"] = key
	}
	delivery := awscdk.NewCustomResource(c.scope, jsii.String("Delivery"), &awscdk.CustomResourceProps{
		ResourceType:   jsii.String("Custom::WhittleDelivery"),
		ServiceToken:   f.install.lambda.FunctionArn(),
		ServiceTimeout: seconds(installTimeout),
		Properties:     &properties,
	})
	// A queue's scope has its policy, and the function's has its event source mappings.
	delivery.Node().AddDependency(rules, q.undelivered.Node().Scope(), f.interrupt.lambda.Node().Scope())
	for _, queue := range of {
		delivery.Node().AddDependency(queue.Node().Scope())
	}
	awscdk.NewCfnOutput(c.scope, jsii.String("EventsTested"), &awscdk.CfnOutputProps{
		Description: jsii.String("Cluster " + c.name + ": whether a test event came through a rule to its function"),
		Value:       delivery.GetAttString(jsii.String("Outcome")),
	})
}

// testDelivery allows install to send test events and no others, and to read why one was not delivered.
func testDelivery(c *cluster, q queues) []awsiam.PolicyStatement {
	if c.configuration.dryRun {
		return nil
	}
	return []awsiam.PolicyStatement{
		allow("TestEvents", jsii.Strings("events:PutEvents"),
			[]*string{arn("events:${AWS::Region}:${AWS::AccountId}:event-bus/default")}, conditions{
				"StringEquals": {"events:source": events.SourceInstall},
			}),
		allow("Undelivered", jsii.Strings("sqs:ReceiveMessage", "sqs:DeleteMessage"),
			[]*string{q.undelivered.QueueArn()}, nil),
	}
}
