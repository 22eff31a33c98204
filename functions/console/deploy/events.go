package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// lastEvent returns the id of the newest event of a stack; empty for none.
func (d *Deployer) lastEvent(ctx context.Context, stack string) (string, error) {
	page, err := d.stacks.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: &stack})
	if err != nil || len(page.StackEvents) == 0 {
		return "", err
	}
	return aws.ToString(page.StackEvents[0].EventId), nil
}

// eventsAfter returns the events after a known one, the oldest first.
func (d *Deployer) eventsAfter(ctx context.Context, stack, known string) ([]types.StackEvent, error) {
	var events []types.StackEvent
	in := &cloudformation.DescribeStackEventsInput{StackName: &stack}
	for {
		page, err := d.stacks.DescribeStackEvents(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("reading the events of %s: %w", stack, err)
		}
		at := slices.IndexFunc(page.StackEvents, func(e types.StackEvent) bool { return aws.ToString(e.EventId) == known })
		if at >= 0 {
			events = append(events, page.StackEvents[:at]...)
		} else {
			events = append(events, page.StackEvents...)
		}
		if at >= 0 || page.NextToken == nil {
			slices.Reverse(events)
			return events, nil
		}
		in.NextToken = page.NextToken
	}
}

// follow prints the events after a known one until the stack rests. Its error names the first failure.
func (d *Deployer) follow(ctx context.Context, stack, known string) error {
	failure := ""
	for {
		events, err := d.eventsAfter(ctx, stack, known)
		if err != nil {
			return err
		}
		for _, e := range events {
			known = aws.ToString(e.EventId)
			if err := d.print(e); err != nil {
				return err
			}
			if strings.HasSuffix(string(e.ResourceStatus), "_FAILED") && failure == "" {
				failure = aws.ToString(e.LogicalResourceId) + ": " + aws.ToString(e.ResourceStatusReason)
			}
			if aws.ToString(e.PhysicalResourceId) != aws.ToString(e.StackId) {
				continue
			}
			switch status := e.ResourceStatus; {
			case strings.HasSuffix(string(status), "_IN_PROGRESS"):
			case status == types.ResourceStatusCreateComplete || status == types.ResourceStatusUpdateComplete:
				return nil
			default:
				return fmt.Errorf("the stack %s is %s: %s", stack, status, failure)
			}
		}
		if err := d.wait(ctx); err != nil {
			return fmt.Errorf("%w: CloudFormation goes on with %s", err, stack)
		}
	}
}

func (d *Deployer) print(e types.StackEvent) error {
	line := fmt.Sprintf("%s %s %s", e.ResourceStatus, aws.ToString(e.ResourceType), aws.ToString(e.LogicalResourceId))
	if reason := aws.ToString(e.ResourceStatusReason); reason != "" {
		line += ": " + reason
	}
	_, err := fmt.Fprintln(d.out, line)
	return err
}
