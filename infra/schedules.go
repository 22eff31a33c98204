package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// schedule wakes a function at a fixed rate.
type schedule struct {
	id, rate string
	function function
	// maximumAge is the latest that Scheduler still delivers an invocation.
	maximumAge time.Duration
	retries    float64
}

// newSchedules adds the schedules of ticker and catalog, and returns their roles. EventBridge Scheduler has
// no rate faster than a minute. Invocations that Lambda does not take come to the queue of undelivered
// events, which Scheduler fills by the schedule's role.
// https://docs.aws.amazon.com/scheduler/latest/UserGuide/configuring-schedule-dlq.html
func newSchedules(c *cluster, q queues, f functions, install awscdk.CustomResource) []awsiam.Role {
	var roles []awsiam.Role
	for _, s := range []schedule{
		// The next run sends what a dropped one did not. A minute is also the smallest age that
		// Scheduler accepts.
		{id: "TickerSchedule", rate: "rate(1 minute)", function: f.ticker, maximumAge: time.Minute, retries: 2},
		{id: "CatalogSchedule", rate: "rate(1 hour)", function: f.catalog, maximumAge: 30 * time.Minute, retries: 5},
	} {
		made, role := newSchedule(c, q, s)
		made.Node().AddDependency(install)
		roles = append(roles, role)
	}
	return roles
}

// newSchedule adds a schedule with a role that may only invoke its function.
func newSchedule(c *cluster, q queues, s schedule) (awsscheduler.CfnSchedule, awsiam.Role) {
	scope := constructs.NewConstruct(c.scope, jsii.String(s.id))
	statements := []awsiam.PolicyStatement{
		allow("Invoke", jsii.Strings("lambda:InvokeFunction"), []*string{s.function.lambda.FunctionArn()}, nil),
		allow("Undelivered", jsii.Strings("sqs:SendMessage"), []*string{q.undelivered.QueueArn()}, nil),
	}
	role := awsiam.NewRole(scope, jsii.String("Role"), &awsiam.RoleProps{
		Description: jsii.String("The schedule of Whittle's function " + s.function.name + " for the cluster " + c.name),
		// The condition prevents the confused deputy problem. Scheduler names the group, not the
		// schedule.
		// https://docs.aws.amazon.com/scheduler/latest/UserGuide/cross-service-confused-deputy-prevention.html
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("scheduler.amazonaws.com"), &awsiam.ServicePrincipalOpts{
			Conditions: &map[string]any{"StringEquals": map[string]any{
				"aws:SourceAccount": awscdk.Aws_ACCOUNT_ID(),
				"aws:SourceArn":     arn("scheduler:${AWS::Region}:${AWS::AccountId}:schedule-group/default"),
			}},
		}),
		InlinePolicies: &map[string]awsiam.PolicyDocument{
			"invoke": awsiam.NewPolicyDocument(&awsiam.PolicyDocumentProps{Statements: &statements}),
		},
	})
	made := awsscheduler.NewCfnSchedule(scope, jsii.String("Schedule"), &awsscheduler.CfnScheduleProps{
		Name:               c.physicalName(s.function.name),
		Description:        jsii.String("Wakes Whittle's function " + s.function.name + " for the cluster " + c.name),
		ScheduleExpression: jsii.String(s.rate),
		State:              jsii.String("ENABLED"),
		FlexibleTimeWindow: &awsscheduler.CfnSchedule_FlexibleTimeWindowProperty{Mode: jsii.String("OFF")},
		Target: &awsscheduler.CfnSchedule_TargetProperty{
			Arn:     s.function.lambda.FunctionArn(),
			RoleArn: role.RoleArn(),
			RetryPolicy: &awsscheduler.CfnSchedule_RetryPolicyProperty{
				MaximumEventAgeInSeconds: jsii.Number(s.maximumAge.Seconds()),
				MaximumRetryAttempts:     jsii.Number(s.retries),
			},
			DeadLetterConfig: &awsscheduler.CfnSchedule_DeadLetterConfigProperty{Arn: q.undelivered.QueueArn()},
		},
	})
	return made, role
}
