package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/launch"
)

// isSilent reports whether the answer does not account for all instances of the request. EC2
// promises that a repeated call does nothing further. It does not promise that the answer lists the
// instances of the first call.
// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
func isSilent(request *launch.Request, output *ec2.CreateFleetOutput) bool {
	count := 0
	for _, set := range output.Instances {
		count += len(set.InstanceIds)
	}
	return count < request.Count && len(output.Errors) == 0
}

// earlier returns the instances that an earlier call with the same token launched. It reads the
// fleet, if its id is known, and else lists the instances by their tag.
func (c *Client) earlier(ctx context.Context, request *launch.Request, fleetID string) (Outcome, error) {
	described, undescribed := c.described(ctx, fleetID)
	if described != nil && !isSilent(request, described) {
		return c.result(request, described)
	}
	found, err := c.launchedFor(ctx, request)
	if err != nil {
		return Outcome{}, err
	}
	if len(found) == 0 {
		return Outcome{}, fmt.Errorf("%s: %w", request.Name, errors.Join(ErrUnseen, undescribed))
	}
	running := slices.DeleteFunc(
		found, func(i Instance) bool { return i.State == string(types.InstanceStateNameShuttingDown) },
	)
	slices.SortFunc(running, byID)
	switch {
	case len(running) == 0:
		return Outcome{}, fmt.Errorf("%s: %w: the instance of an earlier launch has ended", request.Name, ErrRefused)
	case len(running) < request.Count:
		return Outcome{Instances: running, Earlier: true}, fmt.Errorf(
			"%s: %d of %d instances: %w", request.Name, len(running), request.Count, errors.Join(ErrUnseen, undescribed),
		)
	}
	return Outcome{Instances: running, Earlier: true}, nil
}

// refusedAgain returns the meaning of an error about a whole call whose token an earlier call may
// have used. The error does not say whether the earlier call launched instances.
func (c *Client) refusedAgain(ctx context.Context, request *launch.Request, refusal error) (Outcome, error) {
	now, failure := refused(request, refusal)
	found, unseen := c.earlier(ctx, request, "")
	if len(found.Instances) > 0 {
		return found, unseen
	}
	if failure != nil {
		unseen = fmt.Errorf("%w; %w", failure, unseen)
	}
	return now, unseen
}

// described returns the instances and errors of a fleet as its creation answered them, or nil where
// EC2 does not show the fleet.
func (c *Client) described(ctx context.Context, fleetID string) (*ec2.CreateFleetOutput, error) {
	if fleetID == "" {
		return nil, nil
	}
	output, err := c.ec2.DescribeFleets(ctx, &ec2.DescribeFleetsInput{FleetIds: []string{fleetID}})
	if code(err) == "InvalidFleetId.NotFound" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading fleet %s: %w", fleetID, err)
	}
	made := &ec2.CreateFleetOutput{FleetId: aws.String(fleetID)}
	for _, fleet := range output.Fleets {
		for _, set := range fleet.Instances {
			made.Instances = append(made.Instances, types.CreateFleetInstance{
				InstanceIds: set.InstanceIds, InstanceType: set.InstanceType, Lifecycle: set.Lifecycle,
				LaunchTemplateAndOverrides: set.LaunchTemplateAndOverrides,
			})
		}
		for _, failed := range fleet.Errors {
			made.Errors = append(made.Errors, types.CreateFleetError{
				ErrorCode: failed.ErrorCode, ErrorMessage: failed.ErrorMessage, Lifecycle: failed.Lifecycle,
				LaunchTemplateAndOverrides: failed.LaunchTemplateAndOverrides,
			})
		}
	}
	return made, nil
}

func byID(a, b Instance) int { return strings.Compare(a.ID, b.ID) }

func (c *Client) launchedFor(ctx context.Context, request *launch.Request) ([]Instance, error) {
	if token := request.Tags[api.BatchTagKey]; token != "" {
		return c.InstancesOfBatch(ctx, token)
	}
	return c.InstancesOfClaim(ctx, request.Tags[api.NodeClaimTagKey])
}

// noteLost sets lost when a try of the call, the SDK's own repetitions included, fails without
// EC2's clear refusal. EC2 may have carried it out.
func noteLost(lost *bool) func(*ec2.Options) {
	note := middleware.DeserializeMiddlewareFunc("NoteLostAnswers", func(
		ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
	) (middleware.DeserializeOutput, middleware.Metadata, error) {
		output, metadata, err := next.HandleDeserialize(ctx, in)
		if err != nil && (code(err) == "" || isPassingCode(code(err)) && !IsThrottled(err)) {
			*lost = true
		}
		return output, metadata, err
	})
	return func(options *ec2.Options) {
		options.APIOptions = append(options.APIOptions, func(stack *middleware.Stack) error {
			return stack.Deserialize.Add(note, middleware.Before)
		})
	}
}
