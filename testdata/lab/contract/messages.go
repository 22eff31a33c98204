package contract

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	schedulertypes "github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/whittle-dev/whittle/events"
)

// messageFacts need queues.
func messageFacts() []fact {
	return []fact{
		{
			assumption: "Queues deliver in order, once, and at once.", creates: "a queue, and 100 messages in it",
			observe: observeQueue,
			changes: "nothing: functions take messages twice and in any order",
		},
		{
			assumption: "EC2's state changes come as events that package events reads.",
			creates:    "a rule for state changes of instances, its queue and a fourth t4g.small", observe: observeEvent,
			changes: "package events reads another form",
		},
		{
			assumption: "A rate schedule fires at the beginning of its minute.",
			creates:    "a schedule of one minute, its role and its queue", observe: observeSchedule,
			changes: "nothing: ticks carry their times",
		},
	}
}

// makeQueue makes a queue, to which a service may send if one is named.
func (a *Account) makeQueue(ctx context.Context, of, service string) (url, arn string, err error) {
	out, err := a.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(a.name(of))})
	if err != nil {
		return "", "", err
	}
	url = aws.ToString(out.QueueUrl)
	a.later("queue "+url, func(ctx context.Context) error {
		_, err := a.sqs.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &url})
		return err
	})
	attributes, err := a.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn},
	})
	if err != nil {
		return "", "", err
	}
	arn = attributes.Attributes[string(sqstypes.QueueAttributeNameQueueArn)]
	if service != "" {
		policy := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:SendMessage",`+
			`"Principal":{"Service":%q},"Resource":%q}]}`, service, arn)
		_, err = a.sqs.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
			QueueUrl: &url, Attributes: map[string]string{"Policy": policy},
		})
	}
	return url, arn, err
}

// receive returns the bodies of some messages, after a wait of at most seconds.
func (a *Account) receive(ctx context.Context, url string, seconds int32) ([]string, error) {
	out, err := a.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &url, MaxNumberOfMessages: 10, WaitTimeSeconds: seconds,
	})
	if err != nil {
		return nil, err
	}
	var bodies []string
	for _, message := range out.Messages {
		bodies = append(bodies, aws.ToString(message.Body))
		if _, err := a.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{
			QueueUrl: &url, ReceiptHandle: message.ReceiptHandle,
		}); err != nil {
			return nil, err
		}
	}
	return bodies, nil
}

func observeQueue(ctx context.Context, a *Account) (bool, string, error) {
	url, _, err := a.makeQueue(ctx, "order", "")
	if err != nil {
		return false, "", err
	}
	const messages, batch = 100, 10
	sent := map[int]time.Time{}
	for first := 0; first < messages; first += batch {
		input := &sqs.SendMessageBatchInput{QueueUrl: &url}
		for n := first; n < first+batch; n++ {
			text := strconv.Itoa(n)
			input.Entries = append(input.Entries, sqstypes.SendMessageBatchRequestEntry{Id: &text, MessageBody: &text})
			sent[n] = time.Now()
		}
		if _, err := a.sqs.SendMessageBatch(ctx, input); err != nil {
			return false, "", err
		}
	}
	seen, last, disordered, twice := map[int]bool{}, -1, 0, 0
	var longest time.Duration
	for empty := 0; len(seen) < messages || empty == 0; {
		bodies, err := a.receive(ctx, url, 2)
		if err != nil {
			return false, "", err
		}
		if len(bodies) == 0 {
			empty++
		}
		for _, body := range bodies {
			n, err := strconv.Atoi(body)
			if err != nil {
				return false, "", err
			}
			if seen[n] {
				twice++
				continue
			}
			if n < last {
				disordered++
			}
			seen[n], last = true, n
			longest = max(longest, time.Since(sent[n]))
		}
	}
	return disordered+twice == 0, fmt.Sprintf("%d of %d out of order, %d twice, the last %.1f s after it was sent",
		disordered, messages, twice, longest.Seconds()), nil
}

// observeEvent ends an instance and waits for the event.
func observeEvent(ctx context.Context, a *Account) (bool, string, error) {
	url, arn, err := a.makeQueue(ctx, "events", "events.amazonaws.com")
	if err != nil {
		return false, "", err
	}
	rule := a.name("events")
	if _, err := a.events.PutRule(ctx, &eventbridge.PutRuleInput{Name: &rule, EventPattern: aws.String(
		`{"source":["aws.ec2"],"detail-type":["EC2 Instance State-change Notification"]}`)}); err != nil {
		return false, "", err
	}
	a.later("rule "+rule, func(ctx context.Context) error {
		_, removed := a.events.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: &rule, Ids: []string{"queue"}})
		_, deleted := a.events.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: &rule})
		return errors.Join(removed, deleted)
	})
	if _, err := a.events.PutTargets(ctx, &eventbridge.PutTargetsInput{
		Rule: &rule, Targets: []ebtypes.Target{{Id: aws.String("queue"), Arn: &arn}},
	}); err != nil {
		return false, "", err
	}
	ids, refusal, err := a.launch(ctx, a.template, a.name("event"))
	if err != nil || len(ids) == 0 {
		return false, "", fmt.Errorf("no instance: %s %w", refusal, err)
	}
	for ctx.Err() == nil {
		bodies, err := a.receive(ctx, url, 2)
		if err != nil {
			return false, "", err
		}
		for _, body := range bodies {
			event, err := events.Decode([]byte(body))
			if err != nil {
				return false, fmt.Sprintf("%v in %s", err, body), nil
			}
			change, known := event.Detail.(*events.StateChange)
			if known && change.InstanceID == ids[0] {
				return true, fmt.Sprintf("%s of %s", change.State, ids[0]), nil
			}
		}
	}
	return false, "", ctx.Err()
}

// observeSchedule waits for the schedule to fire once.
func observeSchedule(ctx context.Context, a *Account) (bool, string, error) {
	url, arn, err := a.makeQueue(ctx, "schedule", "")
	if err != nil {
		return false, "", err
	}
	name := a.name("schedule")
	if err := a.makeRole(ctx, name, "scheduler.amazonaws.com"); err != nil {
		return false, "", err
	}
	policy := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:SendMessage",`+
		`"Resource":%q}]}`, arn)
	if _, err := a.iam.PutRolePolicy(ctx, &iam.PutRolePolicyInput{
		RoleName: &name, PolicyName: &name, PolicyDocument: &policy,
	}); err != nil {
		return false, "", err
	}
	a.later("policy of role "+name, func(ctx context.Context) error {
		_, err := a.iam.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: &name, PolicyName: &name})
		return err
	})
	role, err := a.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: &name})
	if err != nil {
		return false, "", err
	}
	input := &scheduler.CreateScheduleInput{
		Name: &name, ScheduleExpression: aws.String("rate(1 minute)"),
		FlexibleTimeWindow: &schedulertypes.FlexibleTimeWindow{Mode: schedulertypes.FlexibleTimeWindowModeOff},
		Target:             &schedulertypes.Target{Arn: &arn, RoleArn: role.Role.Arn, Input: aws.String("{}")},
	}
	if _, err := until(ctx, func() (bool, error) { // the role holds after some seconds
		_, err := a.schedules.CreateSchedule(ctx, input)
		return err == nil, nil
	}); err != nil {
		return false, "", err
	}
	a.later("schedule "+name, func(ctx context.Context) error {
		_, err := a.schedules.DeleteSchedule(ctx, &scheduler.DeleteScheduleInput{Name: &name})
		return err
	})
	for ctx.Err() == nil {
		bodies, err := a.receive(ctx, url, 1)
		if err != nil {
			return false, "", err
		}
		if len(bodies) > 0 {
			second := time.Now().Second()
			return second <= 1, fmt.Sprintf("at second %d of its minute", second), nil
		}
	}
	return false, "", ctx.Err()
}
