package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// rule is an EventBridge rule on the default bus.
type rule struct {
	id, description string
	pattern         map[string]any
}

// interruptRules returns the rules for events about instances that leave or have left. EC2's events
// name neither the cluster nor the instance's tags. Events of all instances in the account arrive,
// and the function ignores foreign ones.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/automating_with_eventbridge.html
func interruptRules() []rule {
	return []rule{
		{
			id: "SpotInterruption", description: "spot instances that EC2 ends in two minutes",
			pattern: ec2Pattern("EC2 Spot Instance Interruption Warning"),
		},
		{
			id: "RebalanceRecommendation", description: "spot instances that EC2 is likely to end",
			pattern: ec2Pattern("EC2 Instance Rebalance Recommendation"),
		},
		{
			id: "StateChange", description: "instances that stopped or ended",
			pattern: map[string]any{
				"source":      []string{"aws.ec2"},
				"detail-type": []string{"EC2 Instance State-change Notification"},
				// The answer of CreateFleet covers pending and running. Those states would wake the
				// function for every instance that starts in the account.
				"detail": map[string]any{"state": []string{"stopping", "stopped", "shutting-down", "terminated"}},
			},
		},
		{
			id: "Health", description: "instances that AWS retires, stops or maintains at a set time",
			pattern: map[string]any{
				"source":      []string{"aws.health"},
				"detail-type": []string{"AWS Health Event"},
				"detail":      map[string]any{"service": []string{"EC2"}, "eventTypeCategory": []string{"scheduledChange"}},
			},
		},
		{
			id: "CapacityReservation", description: "instances of an interruptible capacity reservation that EC2 ends",
			pattern: ec2Pattern("EC2 Capacity Reservation Instance Interruption Warning"),
		},
		{
			id: "CapacityBlock", description: "capacity blocks that end soon",
			// AWS documents both names.
			pattern: ec2Pattern("Capacity Block Expiration Warning", "Capacity Block Reservation Expiration Warning"),
		},
	}
}

func ec2Pattern(detailTypes ...string) map[string]any {
	return map[string]any{"source": []string{"aws.ec2"}, "detail-type": detailTypes}
}

// newRules adds the rules that feed queue. The queue's policy accepts messages from these rules
// only.
func newRules(c *cluster, queue awssqs.Queue, install awscdk.CustomResource) {
	scope := constructs.NewConstruct(c.scope, jsii.String("Rule"))
	var arns []*string
	for _, r := range interruptRules() {
		rule := awsevents.NewCfnRule(scope, jsii.String(r.id), &awsevents.CfnRuleProps{
			Description:  jsii.String("Cluster " + c.name + ": " + r.description),
			EventPattern: r.pattern,
			State:        jsii.String("ENABLED"),
			Targets:      []any{&awsevents.CfnRule_TargetProperty{Id: jsii.String("interrupt"), Arn: queue.QueueArn()}},
		})
		rule.Node().AddDependency(install)
		arns = append(arns, rule.AttrArn())
	}
	queue.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid:        jsii.String("Rules"),
		Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(jsii.String("events.amazonaws.com"), nil)},
		Actions:    jsii.Strings("sqs:SendMessage"),
		Resources:  &[]*string{queue.QueueArn()},
		Conditions: &map[string]any{"ArnEquals": map[string]any{"aws:SourceArn": arns}},
	}))
}
