package scheduler

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
)

// Definition is a schedule as API and template write it.
type Definition struct {
	Name               string
	Description        string
	ScheduleExpression string
	State              string
	FlexibleTimeWindow struct{ Mode string }
	Target             Target
}

// Target is the queue or function that a schedule invokes.
type Target struct {
	Arn     string
	RoleArn string
	Input   string
	// RetryPolicy is accepted and never used; see the package comment.
	RetryPolicy struct{ MaximumEventAgeInSeconds, MaximumRetryAttempts int }
	// DeadLetterConfig is the queue for runs that the target does not take.
	DeadLetterConfig struct{ Arn string }
}

// read reads a definition and the period of its rate. The error names the schedule, and the field that
// is wrong or that the local AWS does not simulate.
func read(properties map[string]any, name string) (d Definition, period time.Duration, err error) {
	if err := cloudformation.Decode(properties, &d); err != nil {
		return d, 0, fmt.Errorf("schedule %s: %w", name, err)
	}
	if d.Name == "" {
		d.Name = name
	}
	if err := d.check(); err != nil {
		return d, 0, fmt.Errorf("schedule %s: %w", d.Name, err)
	}
	if period, err = parseRate(d.ScheduleExpression); err != nil {
		return d, 0, fmt.Errorf("schedule %s: %w", d.Name, err)
	}
	return d, period, nil
}

var validName = regexp.MustCompile(`^[0-9a-zA-Z_.-]{1,64}$`)

func (d *Definition) check() error {
	switch t := d.Target; {
	case !validName.MatchString(d.Name):
		return fmt.Errorf("the name %q: letters, digits, ., _ and -, at most 64", d.Name)
	case d.State != "" && d.State != "ENABLED":
		return fmt.Errorf("the State %s is not simulated by the local AWS", d.State)
	case d.FlexibleTimeWindow.Mode != "OFF":
		return fmt.Errorf("the FlexibleTimeWindow.Mode %q is not simulated by the local AWS; it knows OFF",
			d.FlexibleTimeWindow.Mode)
	case !isFunction(t.Arn) && !strings.HasPrefix(t.Arn, "arn:aws:sqs:"):
		return fmt.Errorf("Target.Arn %q: the local scheduler's targets are Lambda functions and SQS queues", t.Arn)
	case !strings.HasPrefix(t.RoleArn, "arn:aws:iam::"):
		return fmt.Errorf("Target.RoleArn %q is not the ARN of a role", t.RoleArn)
	case t.DeadLetterConfig.Arn != "" && !strings.HasPrefix(t.DeadLetterConfig.Arn, "arn:aws:sqs:"):
		return fmt.Errorf("Target.DeadLetterConfig.Arn %q is not a queue's", t.DeadLetterConfig.Arn)
	case strings.Contains(t.Input, "<aws.scheduler."):
		return fmt.Errorf("Target.Input %q: context attributes are not simulated by the local AWS", t.Input)
	case isFunction(t.Arn) && t.Input != "" && !json.Valid([]byte(t.Input)):
		return fmt.Errorf("Target.Input is not JSON, which a function's input must be")
	}
	return nil
}

func isFunction(arn string) bool { return strings.HasPrefix(arn, "arn:aws:lambda:") }

var rateForm = regexp.MustCompile(`^rate\(\s*(\d+)\s+(minute|hour|day)s?\s*\)$`)

// parseRate reads rate(5 minutes).
// https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
func parseRate(text string) (time.Duration, error) {
	parts := rateForm.FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("the ScheduleExpression %q is not simulated by the local AWS; it knows rate(5 minutes), with "+
			"minutes, hours or days", text)
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil || n < 1 || n > 1_000_000 {
		return 0, fmt.Errorf("the ScheduleExpression %q: the rate must be from 1 to 1000000", text)
	}
	return time.Duration(n) * map[string]time.Duration{
		"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour,
	}[parts[2]], nil
}
