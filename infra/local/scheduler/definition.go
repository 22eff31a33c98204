package scheduler

import (
	"cmp"
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
	MessageGroupID string `json:"MessageGroupId,omitempty"`
}

// check fills defaults and reads the expression; errors name the field and the mend.
func (d *Definition) check() (expression.Expression, error) {
	d.setDefaults()
	zone, err := time.LoadLocation(d.ScheduleExpressionTimezone)
	if err != nil {
		return expression.Expression{}, fmt.Errorf("ScheduleExpressionTimezone %q: %w", d.ScheduleExpressionTimezone, err)
	}
	if err := d.checkSettings(); err != nil {
		return expression.Expression{}, err
	}
	if err := d.checkTarget(); err != nil {
		return expression.Expression{}, err
	}
	if d.StartDate != nil && d.EndDate != nil && !d.EndDate.After(d.StartDate.Time) {
		return expression.Expression{}, fmt.Errorf("EndDate %s is not after StartDate %s", d.EndDate, d.StartDate)
	}
	return expression.Parse(d.ScheduleExpression, zone)
}

func (d *Definition) setDefaults() {
	d.ScheduleExpressionTimezone = cmp.Or(d.ScheduleExpressionTimezone, "UTC")
	d.State = cmp.Or(d.State, "ENABLED")
	d.ActionAfterCompletion = cmp.Or(d.ActionAfterCompletion, "NONE")
}

func (d *Definition) checkSettings() error {
	window := d.FlexibleTimeWindow
	switch {
	case !validName.MatchString(d.Name):
		return fmt.Errorf("schedule name %q: letters, digits, ., _ and -, at most 64", d.Name)
	case d.State != "ENABLED" && d.State != "DISABLED":
		return fmt.Errorf("schedule %s: State is %q; it must be ENABLED or DISABLED", d.Name, d.State)
	case d.ActionAfterCompletion != "NONE" && d.ActionAfterCompletion != "DELETE":
		return fmt.Errorf("ActionAfterCompletion is %q; it must be NONE or DELETE", d.ActionAfterCompletion)
	case window.Mode != "OFF" && window.Mode != "FLEXIBLE":
		return fmt.Errorf("FlexibleTimeWindow.Mode is %q; it must be OFF or FLEXIBLE", window.Mode)
	case window.Mode == "FLEXIBLE" && (window.MaximumWindowInMinutes < 1 || window.MaximumWindowInMinutes > 1440):
		return fmt.Errorf("FlexibleTimeWindow.MaximumWindowInMinutes is %d; it must be from 1 to 1440",
			window.MaximumWindowInMinutes)
	}
	return nil
}

func (d *Definition) checkTarget() error {
	switch t := d.Target; {
	case !isFunction(t.Arn) && !strings.HasPrefix(t.Arn, "arn:aws:sqs:"):
		return fmt.Errorf("Target.Arn %q: the local scheduler's targets are Lambda functions and SQS queues", t.Arn)
	case !strings.HasPrefix(t.RoleArn, "arn:aws:iam::"):
		return fmt.Errorf("Target.RoleArn %q is not the ARN of a role", t.RoleArn)
	case t.SqsParameters != nil && t.SqsParameters.MessageGroupID != "":
		return fmt.Errorf("Target.SqsParameters.MessageGroupId is %q; the local queues are standard queues, leave it out",
			t.SqsParameters.MessageGroupID)
	case isFunction(t.Arn) && t.Input != "" && !json.Valid([]byte(t.Input)) &&
		!strings.Contains(t.Input, "<aws.scheduler."):
		return fmt.Errorf("schedule %s: Target.Input is not JSON, which a function's input must be", d.Name)
	}
	return nil
}

func isFunction(arn string) bool { return strings.HasPrefix(arn, "arn:aws:lambda:") }
