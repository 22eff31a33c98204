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

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/launch"
)

// Outcome is the result of a launch.
type Outcome struct {
	// Instances are sorted by id.
	Instances []Instance
	// Short lists what EC2 lacked capacity for. Where there are fewer instances than requested and
	// no error, EC2 has no capacity for the rest.
	Short []Shortage
	// Unfit lists the offerings that EC2 refused for a reason that nobody knows.
	Unfit []Shortage
	// Refused is why EC2 refuses offerings of the class that are in Short, as a policy that denies some
	// types. It is nil if EC2 only lacks capacity.
	Refused *Failure
	// Earlier is true when an earlier call launched the instances, and they were found by their
	// tag. They are those that EC2 shows by now.
	Earlier bool
}

// Launch launches the instances of a request. After a crash, or when two callers send the same
// request, it returns the same instances. EC2 recognises the client token. Where EC2's answer does
// not say what an earlier call did, Launch finds its instances by the fleet or by their tag.
//
// Errors: ErrRefused and ErrUnseen tell the state of the token, and come with the instances that
// exist. FailureIn returns the Failure in an error, with its reason and remedy. IsThrottled tells
// that EC2 throttled the call. After any error but ErrRefused the caller repeats the call with the
// same token.
func (c *Client) Launch(ctx context.Context, request launch.Request) (Outcome, error) {
	output, lost, err := c.createFleet(ctx, &request)
	repeated := request.Repeated || lost
	switch {
	case isMismatch(err):
		return c.earlier(ctx, &request, "")
	case err != nil && (isPassing(err) || code(err) == ""):
		return Outcome{}, fmt.Errorf("creating a fleet for %s: %w", request.Name, err)
	case err != nil && repeated:
		return c.refusedAgain(ctx, &request, err)
	case err != nil:
		return refused(&request, err)
	case repeated && isSilent(&request, output):
		return c.earlier(ctx, &request, aws.ToString(output.FleetId))
	}
	return c.result(&request, output)
}

// refused returns the meaning of an error about a whole call. EC2 did not store the call's token.
func refused(request *launch.Request, err error) (Outcome, error) {
	if short, is := shortOfAll(request, code(err), message(err)); is {
		return Outcome{Short: short}, nil
	}
	return Outcome{}, fmt.Errorf("creating a fleet for %s: %w: %w", request.Name, failureOf(code(err), message(err)), err)
}

// result returns the meaning of EC2's answer about a fleet.
func (c *Client) result(request *launch.Request, output *ec2.CreateFleetOutput) (Outcome, error) {
	outcome, failure := c.read(request, output)
	if failure == nil {
		return outcome, nil
	}
	if failure.Reason == reasonTemplateNotFound {
		c.forgetTemplates(request)
	}
	return outcome, fmt.Errorf("creating a fleet for %s: %w: %w", request.Name, ErrRefused, failure)
}

// createFleet calls CreateFleet, after it has created the launch templates. When somebody deleted a
// template that this container knows, createFleet creates it again and repeats the call once. lost
// is true when EC2 may have carried out a call whose answer did not arrive.
func (c *Client) createFleet(
	ctx context.Context, request *launch.Request,
) (output *ec2.CreateFleetOutput, lost bool, err error) {
	for again := false; ; again = true {
		for _, template := range request.Templates {
			if err := c.ensureTemplate(ctx, template.Content); err != nil {
				return nil, lost, err
			}
		}
		output, err = c.fleets.CreateFleet(ctx, fleetInput(request), noteLost(&lost))
		if again || !isTemplateGone(code(err)) {
			return output, lost, err
		}
		c.forgetTemplates(request)
	}
}

func (c *Client) forgetTemplates(request *launch.Request) {
	for _, template := range request.Templates {
		c.forget(template.Content.Name)
	}
}

func isTemplateGone(code string) bool {
	return strings.HasPrefix(code, "InvalidLaunchTemplate") && strings.Contains(code, "NotFound")
}

func fleetInput(request *launch.Request) *ec2.CreateFleetInput {
	input := &ec2.CreateFleetInput{
		Type:        types.FleetTypeInstant,
		ClientToken: aws.String(request.ClientToken),
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: aws.Int32(int32(request.Count)),
		},
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeInstance, Tags: tagList(request.Tags)},
			{ResourceType: types.ResourceTypeVolume, Tags: tagList(request.Tags)},
			{ResourceType: types.ResourceTypeFleet, Tags: tagList(request.Tags)},
		},
	}
	if request.Context != "" {
		input.Context = aws.String(request.Context)
	}
	buy(input, request)
	if request.Whole {
		whole(input, request.Count)
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
				choice.Priority = aws.Float64(override.Price) // the lowest number has priority
			}
			config.Overrides = append(config.Overrides, choice)
		}
		input.LaunchTemplateConfigs = append(input.LaunchTemplateConfigs, config)
	}
	return input
}

// whole has EC2 launch all instances or none. EC2 takes a minimum only together with one zone or
// one instance type.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_SpotOptionsRequest.html
func whole(input *ec2.CreateFleetInput, count int) {
	least, oneZone := aws.Int32(int32(count)), aws.Bool(true)
	if input.SpotOptions != nil {
		input.SpotOptions.MinTargetCapacity, input.SpotOptions.SingleAvailabilityZone = least, oneZone
	}
	if input.OnDemandOptions != nil {
		input.OnDemandOptions.MinTargetCapacity, input.OnDemandOptions.SingleAvailabilityZone = least, oneZone
	}
}

// buy sets the purchase options. The launch templates name the reservation.
func buy(input *ec2.CreateFleetInput, request *launch.Request) {
	target := input.TargetCapacitySpecification
	switch {
	case request.CapacityType == api.CapacityTypeSpot:
		target.DefaultTargetCapacityType = types.DefaultTargetCapacityTypeSpot
		input.SpotOptions = &types.SpotOptionsRequest{AllocationStrategy: types.SpotAllocationStrategyPriceCapacityOptimized}
		if request.Prioritized {
			input.SpotOptions.AllocationStrategy = types.SpotAllocationStrategyCapacityOptimizedPrioritized
		}
	case request.CapacityType == api.CapacityTypeReserved && request.Interruptible:
		target.DefaultTargetCapacityType = types.DefaultTargetCapacityTypeReservedCapacity
		input.ReservedCapacityOptions = &types.ReservedCapacityOptionsRequest{
			ReservationTypes: []types.FleetReservationType{types.FleetReservationTypeInterruptibleCapacityReservation},
		}
	case request.CapacityType == api.CapacityTypeReserved &&
		request.ReservationType == api.CapacityReservationTypeCapacityBlock:
		target.DefaultTargetCapacityType = types.DefaultTargetCapacityTypeCapacityBlock
	default:
		target.DefaultTargetCapacityType = types.DefaultTargetCapacityTypeOnDemand
		input.OnDemandOptions = &types.OnDemandOptionsRequest{
			AllocationStrategy: types.FleetOnDemandAllocationStrategyLowestPrice,
		}
		if request.Prioritized {
			input.OnDemandOptions.AllocationStrategy = types.FleetOnDemandAllocationStrategyPrioritized
		}
	}
}

// read returns the instances and shortages in EC2's answer. The failure is for instances that are
// missing for a reason other than capacity.
func (c *Client) read(request *launch.Request, output *ec2.CreateFleetOutput) (Outcome, *Failure) {
	r := reading{request: request, accepted: len(output.Instances) > 0, named: map[string]bool{}}
	for _, set := range output.Instances {
		r.outcome.Instances = append(r.outcome.Instances, launched(request, set)...)
	}
	slices.SortFunc(r.outcome.Instances, byID)
	for _, told := range output.Errors {
		r.add(told)
	}
	ofClass, short, partly := r.refused.split(request, r.accepted)
	failures := append(r.failures, ofClass...)
	outcome := r.outcome
	outcome.Short, outcome.Refused = append(outcome.Short, short...), partly
	switch missing := request.Count - len(outcome.Instances); {
	case missing <= 0:
		return outcome, nil
	case len(failures) > 0:
		return outcome, worst(failures)
	case len(outcome.Short) == 0:
		// EC2 may name none, or only some, of the offerings that it tried: what the
		// request lacks none of them gave, so that none is worth another try at once.
		outcome.Short, _ = shortOfAll(
			request, "UnfulfillableCapacity", "EC2 launched fewer instances than asked for and does not say why",
		)
	}
	return outcome, nil
}

// reading is an answer of CreateFleet as far as it is read.
type reading struct {
	request  *launch.Request
	outcome  Outcome
	failures []*Failure // without those in refused
	refused  refusals
	// accepted is true once EC2 found nothing wrong with an override.
	accepted bool
	named    map[string]bool // the keys of shortages
}

// add reads one error of the answer.
func (r *reading) add(told types.CreateFleetError) {
	code, message := aws.ToString(told.ErrorCode), aws.ToString(told.ErrorMessage)
	override, template := choice(r.request, told.LaunchTemplateAndOverrides)
	if short, is := shortage(r.request, override, template.ReservationID, code, message); is {
		r.accepted = r.accepted || names(override) && code == codeNoCapacity
		if override.InstanceType != "" || !strings.Contains(short.Key, "::") {
			r.leaveOut(&r.outcome.Short, short)
		}
		return
	}
	failure := failureOf(code, message)
	if r.refused.add(r.request, override, template.Content.ImageID, failure) {
		return
	}
	r.failures = append(r.failures, failure)
	if short, is := unfit(r.request, override, failure); is {
		r.leaveOut(&r.outcome.Unfit, short)
	}
}

// leaveOut adds the shortage to the list, unless its key has been named.
func (r *reading) leaveOut(list *[]Shortage, short Shortage) {
	if !r.named[short.Key] {
		r.named[short.Key] = true
		*list = append(*list, short)
	}
}

// worst returns the first failure with a remedy, because a person must act on it, else the first
// failure. It is nil without failures.
func worst(failures []*Failure) *Failure {
	if len(failures) == 0 {
		return nil
	}
	for _, failure := range failures {
		if failure.Remedy != "" {
			return failure
		}
	}
	return failures[0]
}

// shortOfAll returns the shortages of all overrides of a request, for an error that names none of
// them.
func shortOfAll(request *launch.Request, code, message string) ([]Shortage, bool) {
	var all []Shortage
	named := map[string]bool{}
	for _, template := range request.Templates {
		for _, override := range template.Overrides {
			short, is := shortage(request, override, template.ReservationID, code, message)
			if !is {
				return nil, false
			}
			if !named[short.Key] {
				named[short.Key] = true
				all = append(all, short)
			}
		}
	}
	return all, len(all) > 0
}

// launched returns the instances of one set in the answer of CreateFleet.
func launched(request *launch.Request, set types.CreateFleetInstance) []Instance {
	override, template := choice(request, set.LaunchTemplateAndOverrides)
	var made []Instance
	for _, id := range set.InstanceIds {
		made = append(made, Instance{
			ID:            id,
			InstanceType:  string(set.InstanceType),
			Zone:          override.Zone,
			SubnetID:      override.SubnetID,
			CapacityType:  request.CapacityType,
			ReservationID: template.ReservationID,
			ImageID:       template.Content.ImageID,
			State:         string(types.InstanceStateNamePending),
			Tags:          request.Tags,
		})
	}
	return made
}

// choice returns the override and the template that a part of the answer is about. The answer names
// the subnet, but not always the zone.
func choice(
	request *launch.Request, answered *types.LaunchTemplateAndOverridesResponse,
) (launch.Override, launch.Template) {
	var override launch.Override
	var template launch.Template
	if len(request.Templates) == 1 {
		template = request.Templates[0]
	}
	if answered == nil {
		return override, template
	}
	if answered.LaunchTemplateSpecification != nil {
		name := aws.ToString(answered.LaunchTemplateSpecification.LaunchTemplateName)
		for _, candidate := range request.Templates {
			if candidate.Content.Name == name {
				template = candidate
			}
		}
	}
	if answered.Overrides == nil {
		return override, template
	}
	override = launch.Override{
		InstanceType: string(answered.Overrides.InstanceType), SubnetID: aws.ToString(answered.Overrides.SubnetId),
		Zone: aws.ToString(answered.Overrides.AvailabilityZone),
	}
	for _, candidate := range request.Overrides() {
		if candidate.SubnetID == override.SubnetID {
			override.Zone = candidate.Zone
		}
	}
	if template.Content.Name == "" {
		if _, asked, found := request.Find(override.InstanceType, override.SubnetID); found {
			template = asked
		}
	}
	return override, template
}

// FailureIn returns the Failure in an error of Launch, or nil.
func FailureIn(err error) *Failure {
	var failure *Failure
	if errors.As(err, &failure) {
		return failure
	}
	return nil
}
