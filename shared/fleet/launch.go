package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/launch"
)

// Outcome is what EC2 made of a request: an instance, or the offerings that it
// has no room for now.
type Outcome struct {
	Instance *Instance
	Short    []launch.Override // of the request's capacity type
}

// Launch asks EC2 for the request's instance. Asked again, after a crash or
// twice at once, it gives the same instance: EC2 recognises the token, and an
// earlier call that got through with other parameters is found by its tag.
// ErrRefused and ErrUnseen tell what has become of the token.
func (c *Client) Launch(ctx context.Context, request launch.Request) (Outcome, error) {
	for _, template := range request.Templates {
		if err := c.ensureTemplate(ctx, template.Content); err != nil {
			return Outcome{}, err
		}
	}
	output, err := c.ec2.CreateFleet(ctx, fleetInput(request))
	if isMismatch(err) {
		return c.earlier(ctx, request)
	}
	if missingTemplate(err, output) {
		// Someone removed a template that this container had seen; the caller's next
		// try makes it anew.
		for _, template := range request.Templates {
			c.forget(template.Content.Name)
		}
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("creating a fleet for nodeclaim %q: %w", request.Claim, err)
	}
	for _, set := range output.Instances {
		if len(set.InstanceIds) > 0 {
			return Outcome{Instance: launched(request, set)}, nil
		}
	}
	return shortages(request, output.Errors)
}

// missingTemplate tells that EC2 does not know a launch template of the request,
// in the error or in the fleet's own errors.
func missingTemplate(err error, output *ec2.CreateFleetOutput) bool {
	if IsGone(err) {
		return true
	}
	return err == nil && slices.ContainsFunc(output.Errors, func(failure types.CreateFleetError) bool {
		return strings.HasPrefix(aws.ToString(failure.ErrorCode), "InvalidLaunchTemplate")
	})
}

// earlier finds the instance that an earlier call with the same token launched.
func (c *Client) earlier(ctx context.Context, request launch.Request) (Outcome, error) {
	found, err := c.InstancesOfClaim(ctx, request.Claim)
	if err != nil {
		return Outcome{}, err
	}
	if len(found) == 0 {
		return Outcome{}, fmt.Errorf("nodeclaim %q: %w", request.Claim, ErrUnseen)
	}
	for i := range found {
		if found[i].State != string(types.InstanceStateNameShuttingDown) {
			return Outcome{Instance: &found[i]}, nil
		}
	}
	return Outcome{}, fmt.Errorf("nodeclaim %q: %w: the instance of an earlier launch has ended", request.Claim, ErrRefused)
}

func fleetInput(request launch.Request) *ec2.CreateFleetInput {
	input := &ec2.CreateFleetInput{
		Type:        types.FleetTypeInstant,
		ClientToken: aws.String(request.ClientToken),
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity:       aws.Int32(1),
			DefaultTargetCapacityType: types.DefaultTargetCapacityTypeOnDemand,
		},
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeInstance, Tags: tagList(request.Tags)},
			{ResourceType: types.ResourceTypeVolume, Tags: tagList(request.Tags)},
			{ResourceType: types.ResourceTypeFleet, Tags: tagList(request.Tags)},
		},
	}
	if request.CapacityType == api.CapacityTypeSpot {
		input.TargetCapacitySpecification.DefaultTargetCapacityType = types.DefaultTargetCapacityTypeSpot
		input.SpotOptions = &types.SpotOptionsRequest{AllocationStrategy: types.SpotAllocationStrategyPriceCapacityOptimized}
		if request.Prioritized {
			input.SpotOptions.AllocationStrategy = types.SpotAllocationStrategyCapacityOptimizedPrioritized
		}
	} else {
		input.OnDemandOptions = &types.OnDemandOptionsRequest{AllocationStrategy: types.FleetOnDemandAllocationStrategyLowestPrice}
		if request.Prioritized {
			input.OnDemandOptions.AllocationStrategy = types.FleetOnDemandAllocationStrategyPrioritized
		}
	}
	for _, template := range request.Templates {
		config := types.FleetLaunchTemplateConfigRequest{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{
				LaunchTemplateName: aws.String(template.Content.Name), Version: aws.String("$Latest"),
			},
		}
		for _, override := range template.Overrides {
			choice := types.FleetLaunchTemplateOverridesRequest{
				InstanceType:     types.InstanceType(override.InstanceType),
				SubnetId:         aws.String(override.SubnetID),
				AvailabilityZone: aws.String(override.Zone),
			}
			if request.Prioritized {
				choice.Priority = aws.Float64(override.Price) // the lowest number comes first
			}
			config.Overrides = append(config.Overrides, choice)
		}
		input.LaunchTemplateConfigs = append(input.LaunchTemplateConfigs, config)
	}
	return input
}

// launched is the instance of a fleet's answer.
func launched(request launch.Request, set types.CreateFleetInstance) *Instance {
	instance := &Instance{
		ID:           set.InstanceIds[0],
		InstanceType: string(set.InstanceType),
		CapacityType: request.CapacityType,
		State:        string(types.InstanceStateNamePending),
		Tags:         request.Tags,
	}
	if choice := set.LaunchTemplateAndOverrides; choice != nil {
		if choice.Overrides != nil {
			instance.Zone = aws.ToString(choice.Overrides.AvailabilityZone)
			instance.Zone = zoneOf(request, aws.ToString(choice.Overrides.SubnetId), instance.Zone)
		}
		if choice.LaunchTemplateSpecification != nil {
			instance.ImageID = imageOf(request, aws.ToString(choice.LaunchTemplateSpecification.LaunchTemplateName))
		}
	}
	if instance.ImageID == "" && len(request.Templates) == 1 {
		instance.ImageID = request.Templates[0].Content.ImageID
	}
	return instance
}

// zoneOf is the zone of the subnet in the request; EC2's answer need not name it.
func zoneOf(request launch.Request, subnet, answered string) string {
	for _, template := range request.Templates {
		for _, override := range template.Overrides {
			if override.SubnetID == subnet {
				return override.Zone
			}
		}
	}
	return answered
}

func imageOf(request launch.Request, template string) string {
	for _, candidate := range request.Templates {
		if candidate.Content.Name == template {
			return candidate.Content.ImageID
		}
	}
	return ""
}

// shortages reads why a fleet gave no instance. Only when every reason is a lack
// of room is it a shortage; any other is an error that someone must mend.
func shortages(request launch.Request, errors []types.CreateFleetError) (Outcome, error) {
	var outcome Outcome
	var others []string
	for _, failure := range errors {
		code := aws.ToString(failure.ErrorCode)
		if !isShortage(code) {
			others = append(others, code+": "+aws.ToString(failure.ErrorMessage))
			continue
		}
		choice := failure.LaunchTemplateAndOverrides
		if choice == nil || choice.Overrides == nil {
			continue
		}
		outcome.Short = append(outcome.Short, launch.Override{
			InstanceType: string(choice.Overrides.InstanceType),
			SubnetID:     aws.ToString(choice.Overrides.SubnetId),
			Zone:         zoneOf(request, aws.ToString(choice.Overrides.SubnetId), aws.ToString(choice.Overrides.AvailabilityZone)),
		})
	}
	if len(others) > 0 {
		return Outcome{}, fmt.Errorf("creating a fleet for nodeclaim %q: %w: %s", request.Claim, ErrRefused, strings.Join(slices.Compact(others), "; "))
	}
	// EC2 may name none, or only some, of the offerings that it tried: none of the
	// request gave an instance, so that none is worth another try at once.
	if len(outcome.Short) == 0 {
		for _, template := range request.Templates {
			outcome.Short = append(outcome.Short, template.Overrides...)
		}
	}
	return outcome, nil
}
