package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/queue"
)

// deliverFor is how long EventBridge tries to deliver an event to a queue that does not take it. Its own
// limit is a day, in which nobody would hear of it. Without the right it gives up at once.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rule-dlq.html
const deliverFor = 15 * time.Minute

// rule is an EventBridge rule.
type rule struct {
	id, description string
	pattern         map[string]any
	// bus is the name of the rule's bus; empty for the default one.
	bus string
	// urgent events have a queue of their own, because they leave minutes.
	urgent bool
}

// interruptRules returns the rules for events about instances that leave or have left. EC2's events
// name neither the cluster nor the instance's tags, and no pattern can. Events of all instances in the
// account arrive, and the function ignores foreign ones. Most are changes of state: an account may end
// thousands of instances at once. So urgent events do not wait behind them.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/automating_with_eventbridge.html
func interruptRules() []rule {
	return []rule{
		{
			id: "SpotInterruption", description: "spot instances that EC2 ends in two minutes",
			pattern: ec2Pattern("EC2 Spot Instance Interruption Warning"), urgent: true,
		},
		{
			id: "RebalanceRecommendation", description: "spot instances that EC2 is likely to end",
			pattern: ec2Pattern("EC2 Instance Rebalance Recommendation"), urgent: true,
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
			pattern: ec2Pattern("EC2 Capacity Reservation Instance Interruption Warning"), urgent: true,
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

// newRules adds the rules that feed the queues. Of AWS services, a queue's policy accepts its rules only.
// It returns the scope of the rules.
func newRules(c *cluster, q queues, install awscdk.CustomResource) constructs.Construct {
	scope := constructs.NewConstruct(c.scope, jsii.String("Rule"))
	var arns, urgent, others []*string
	for _, r := range interruptRules() {
		to, rules := q.interrupt, &others
		if r.urgent {
			to, rules = q.warnings, &urgent
		}
		made := newRule(scope, c, r, install, q, &awsevents.CfnRule_TargetProperty{
			Id: jsii.String("interrupt"), Arn: to.QueueArn(),
		})
		*rules, arns = append(*rules, made), append(arns, made)
	}
	if !c.configuration.dryRun {
		test := newRule(scope, c, deliveryTest(c), install, q,
			&awsevents.CfnRule_TargetProperty{Id: jsii.String("interrupt"), Arn: q.interrupt.QueueArn()},
			&awsevents.CfnRule_TargetProperty{Id: jsii.String("warnings"), Arn: q.warnings.QueueArn()})
		others, urgent, arns = append(others, test), append(urgent, test), append(arns, test)
	}
	if c.configuration.freezeEvents != "" && !c.configuration.dryRun {
		order := newRule(scope, c, orderRule(c), install, q,
			&awsevents.CfnRule_TargetProperty{Id: jsii.String("interrupt"), Arn: q.warnings.QueueArn()})
		urgent, arns = append(urgent, order), append(arns, order)
	}
	accept(q.interrupt, others)
	accept(q.warnings, urgent)
	now := newRule(scope, c, provisionNow(c), install, q, &awsevents.CfnRule_TargetProperty{
		Id: jsii.String("provision"), Arn: q.provision.QueueArn(), Input: awscdk.Stack_Of(c.scope).ToJsonString(
			map[string]any{"cluster": c.name, "reason": queue.ReasonRequest}, nil),
	})
	wakes := []*string{now}
	if alarmsFreeze(c) {
		wakes = append(wakes, newRule(scope, c, alarmRule(c), install, q, &awsevents.CfnRule_TargetProperty{
			Id: jsii.String("provision"), Arn: q.provision.QueueArn(), Input: alarmMessage(c),
		}))
	}
	accept(q.provision, wakes)
	accept(q.undelivered, append(arns, wakes...))
	return scope
}

// deliveryTest is the rule for the test events of the installation. They take the ways of all others. A dry
// run writes nothing, so that interrupt could not answer.
func deliveryTest(c *cluster) rule {
	return rule{
		id: "DeliveryTest", description: "test events of an installation",
		pattern: map[string]any{
			"source": []string{events.SourceInstall}, "detail-type": []string{(&events.DeliveryTest{}).DetailType()},
			"detail": map[string]any{"cluster": []string{c.name}},
		},
	}
}

// provisionNow is the rule for the event by which others wake provision. Anybody who may put events
// on the default bus may send it. It costs as much as a tick.
func provisionNow(c *cluster) rule {
	return rule{
		id: "ProvisionNow", description: "others that ask for a plan at once",
		pattern: map[string]any{
			"detail-type": []string{"Provision Now"}, "detail": map[string]any{"cluster": []string{c.name}},
		},
	}
}

// newRule adds a rule with its targets, and returns the rule's ARN. Events that a target does not
// take come to the queue of undelivered ones.
func newRule(
	scope constructs.Construct, c *cluster, r rule, install awscdk.CustomResource, q queues,
	targets ...*awsevents.CfnRule_TargetProperty,
) *string {
	for _, target := range targets {
		target.DeadLetterConfig = &awsevents.CfnRule_DeadLetterConfigProperty{Arn: q.undelivered.QueueArn()}
		target.RetryPolicy = &awsevents.CfnRule_RetryPolicyProperty{
			MaximumEventAgeInSeconds: jsii.Number(deliverFor.Seconds()),
		}
	}
	var bus *string
	if r.bus != "" {
		bus = &r.bus
	}
	made := awsevents.NewCfnRule(scope, jsii.String(r.id), &awsevents.CfnRuleProps{
		EventBusName: bus,
		Description:  jsii.String("Cluster " + c.name + ": " + r.description),
		EventPattern: r.pattern,
		State:        jsii.String("ENABLED"),
		Targets:      &targets,
	})
	made.Node().AddDependency(install)
	return made.AttrArn()
}

// accept lets the rules send to the queue.
func accept(to awssqs.Queue, rules []*string) {
	to.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid:        jsii.String("Rules"),
		Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(jsii.String("events.amazonaws.com"), nil)},
		Actions:    jsii.Strings("sqs:SendMessage"),
		Resources:  &[]*string{to.QueueArn()},
		Conditions: &map[string]any{"ArnEquals": map[string]any{"aws:SourceArn": rules}},
	}))
}
