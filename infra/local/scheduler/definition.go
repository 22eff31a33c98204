package scheduler

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/infra/local/scheduler/expression"
	"github.com/whittle-dev/whittle/infra/local/wire"
)

// Definition is a schedule as API and template write it.
type Definition struct {
	Name                       string
	GroupName                  string
	Description                string
	ScheduleExpression         string
	ScheduleExpressionTimezone string
	StartDate                  *wire.Time
	EndDate                    *wire.Time
	State                      string
	FlexibleTimeWindow         FlexibleTimeWindow
	Target                     Target
	ActionAfterCompletion      string
}

// FlexibleTimeWindow is the time by which AWS may delay a schedule. It is required.
type FlexibleTimeWindow struct {
	Mode                   string
	MaximumWindowInMinutes int `json:",omitempty"`
}

// Target is the queue or function that a schedule invokes.
type Target struct {
	Arn              string
	RoleArn          string
	Input            string            `json:",omitempty"`
	RetryPolicy      *RetryPolicy      `json:",omitempty"`
	DeadLetterConfig *DeadLetterConfig `json:",omitempty"`
	SqsParameters    *SqsParameters    `json:",omitempty"`
}

// RetryPolicy is kept and shown; see the package comment.
type RetryPolicy struct {
	MaximumEventAgeInSeconds *int `json:",omitempty"`
	MaximumRetryAttempts     *int `json:",omitempty"`
}

// DeadLetterConfig names the queue for runs that the target did not take.
type DeadLetterConfig struct{ Arn string }

// SqsParameters are for FIFO queues, which are not simulated.
type SqsParameters struct {
	MessageGroupId string `json:",omitempty"`
}

// check fills defaults and reads the expression; errors name the field and the mend.
func (d *Definition) check() (expression.Expression, error) {
	if d.ScheduleExpressionTimezone == "" {
		d.ScheduleExpressionTimezone = "UTC"
	}
	if d.State == "" {
		d.State = "ENABLED"
	}
	if d.ActionAfterCompletion == "" {
		d.ActionAfterCompletion = "NONE"
	}
	zone, err := time.LoadLocation(d.ScheduleExpressionTimezone)
	if err != nil {
		return expression.Expression{}, fmt.Errorf("ScheduleExpressionTimezone %q: %w", d.ScheduleExpressionTimezone, err)
	}
	window := d.FlexibleTimeWindow
	switch {
	case !validName.MatchString(d.Name):
		err = fmt.Errorf("schedule name %q: letters, digits, ., _ and -, at most 64", d.Name)
	case d.State != "ENABLED" && d.State != "DISABLED":
		err = fmt.Errorf("schedule %s: State is %q; it must be ENABLED or DISABLED", d.Name, d.State)
	case d.ActionAfterCompletion != "NONE" && d.ActionAfterCompletion != "DELETE":
		err = fmt.Errorf("ActionAfterCompletion is %q; it must be NONE or DELETE", d.ActionAfterCompletion)
	case window.Mode != "OFF" && window.Mode != "FLEXIBLE":
		err = fmt.Errorf("FlexibleTimeWindow.Mode is %q; it must be OFF or FLEXIBLE", window.Mode)
	case window.Mode == "FLEXIBLE" && (window.MaximumWindowInMinutes < 1 || window.MaximumWindowInMinutes > 1440):
		err = fmt.Errorf("FlexibleTimeWindow.MaximumWindowInMinutes is %d; it must be from 1 to 1440",
			window.MaximumWindowInMinutes)
	case !isFunction(d.Target.Arn) && !strings.HasPrefix(d.Target.Arn, "arn:aws:sqs:"):
		err = fmt.Errorf("Target.Arn %q: the local scheduler's targets are Lambda functions and SQS queues", d.Target.Arn)
	case !strings.HasPrefix(d.Target.RoleArn, "arn:aws:iam::"):
		err = fmt.Errorf("Target.RoleArn %q is not the ARN of a role", d.Target.RoleArn)
	case d.Target.SqsParameters != nil && d.Target.SqsParameters.MessageGroupId != "":
		err = fmt.Errorf("Target.SqsParameters.MessageGroupId is %q; the local queues are standard queues, leave it out",
			d.Target.SqsParameters.MessageGroupId)
	case isFunction(d.Target.Arn) && d.Target.Input != "" && !json.Valid([]byte(d.Target.Input)) &&
		!strings.Contains(d.Target.Input, "<aws.scheduler."):
		err = fmt.Errorf("schedule %s: Target.Input is not JSON, which a function's input must be", d.Name)
	case d.StartDate != nil && d.EndDate != nil && !d.EndDate.After(d.StartDate.Time):
		err = fmt.Errorf("EndDate %s is not after StartDate %s", d.EndDate, d.StartDate)
	}
	if err != nil {
		return expression.Expression{}, err
	}
	return expression.Parse(d.ScheduleExpression, zone)
}

func isFunction(arn string) bool { return strings.HasPrefix(arn, "arn:aws:lambda:") }
