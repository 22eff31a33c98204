package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// triedSubnets is the maximum number of subnets of a dry run. A policy may deny single subnets, and
// one allowed subnet is enough.
const triedSubnets = 5

// authorizationPool is the node pool in the tags of a dry run.
const authorizationPool = "validation"

// Authorize asks EC2 by dry runs whether it would launch one of the trials with the class. The class's
// status must be resolved. Without trials Authorize asks about a common instance type. It creates launch
// templates, which the sweep of unused templates removes. An answer that is neither yes nor no, such as
// a region without the instance type, counts as yes, and the launch will tell. The error is for faults
// that may pass.
func (c *Client) Authorize(
	ctx context.Context, class *api.EC2NodeClass, cluster nodeclass.Cluster, trials []launch.Trial,
) (nodeclass.Authorization, error) {
	if len(class.Status.AMIs) == 0 || len(class.Status.Subnets) == 0 {
		return nodeclass.Authorization{}, nil
	}
	if len(trials) == 0 {
		image := class.Status.AMIs[0]
		trials = []launch.Trial{{
			InstanceType: anyType(image), CapacityType: api.CapacityTypeOnDemand, Image: image, Subnets: class.Status.Subnets,
		}}
	}
	tags := map[string]string{
		api.ClusterTagKey(c.cluster): api.ClusterTagOwned, api.EKSClusterNameTagKey: c.cluster,
		api.NodePoolTagKey: authorizationPool, api.NodeClassTagKey: class.Name,
	}
	for key, value := range class.Spec.Tags {
		tags[key] = value
	}
	var first nodeclass.Problem
	var asked []string
	for _, trial := range trials {
		problem, err := c.try(ctx, class, cluster, tags, trial)
		if err != nil {
			return nodeclass.Authorization{}, err
		}
		if problem.Message == "" {
			return nodeclass.Authorization{Asked: true}, nil
		}
		if first.Message == "" {
			first = problem
		}
		asked = append(asked, trial.InstanceType)
	}
	if first.Reason != api.ReasonDryRunRefused {
		first.Message += " Whittle asked about " + strings.Join(asked, ", ") + ": give the function the right. Where a " +
			"policy allows other types only, name them in the NodePools, or deploy with disableDryRun"
	}
	return nodeclass.Authorization{Asked: true, Problem: first}, nil
}

// try asks about one launch, and returns the first refusal.
func (c *Client) try(
	ctx context.Context, class *api.EC2NodeClass, cluster nodeclass.Cluster, tags map[string]string, trial launch.Trial,
) (nodeclass.Problem, error) {
	spot := trial.CapacityType == api.CapacityTypeSpot
	content, err := nodeclass.Template(
		class, trial.Image, nodeclass.Join{Cluster: cluster}, nodeclass.Variation{SpotRequest: spot}, tags,
	)
	if err != nil {
		return nodeclass.Problem{}, err
	}
	made := &dryRun{ec2: c.ec2, content: content, trial: trial, tags: tagList(tags)}
	for _, step := range []struct {
		reason string
		ask    func(subnet api.Subnet) error
	}{
		{api.ReasonCreateLaunchTemplateAuthCheckFailed, func(api.Subnet) error { return c.ensureTemplate(ctx, content) }},
		{api.ReasonCreateFleetAuthCheckFailed, func(subnet api.Subnet) error { return made.createFleet(ctx, subnet) }},
		{api.ReasonRunInstancesAuthCheckFailed, func(subnet api.Subnet) error { return made.runInstances(ctx, subnet) }},
	} {
		var answered error
		for i, subnet := range trial.Subnets {
			answered = step.ask(subnet)
			if isPassing(answered) {
				return nodeclass.Problem{}, answered
			}
			if !IsDenied(answered) || i+1 == triedSubnets {
				break
			}
		}
		if IsDenied(answered) {
			return nodeclass.Problem{Reason: step.reason, Message: inWords(answered)}, nil
		}
		if problem := classFault(answered); problem.Message != "" {
			return problem, nil
		}
	}
	return nodeclass.Problem{}, nil
}

// classFault returns what EC2 finds wrong with the class. EC2 may not know a new instance profile yet,
// so that this is none.
func classFault(answered error) nodeclass.Problem {
	if answered == nil {
		return nodeclass.Problem{}
	}
	failure := failureOf(code(answered), message(answered))
	if failure.Condition == "" || failure.Condition == api.ConditionTypeInstanceProfileReady {
		return nodeclass.Problem{}
	}
	return nodeclass.Problem{Reason: api.ReasonDryRunRefused, Message: failure.Error()}
}

// inWords returns EC2's refusal without the part that differs between calls.
func inWords(err error) string {
	var answer smithy.APIError
	if !errors.As(err, &answer) {
		return err.Error()
	}
	message, _, _ := strings.Cut(answer.ErrorMessage(), "Encoded authorization failure message")
	return fmt.Sprintf(
		"EC2 refuses the function provision a launch with this class: %s: %s", answer.ErrorCode(),
		strings.TrimSpace(message),
	)
}

// anyType returns an instance type that most regions have and that runs the image.
func anyType(image api.AMI) string {
	for _, requirement := range image.Requirements {
		if requirement.Key == corev1.LabelArchStable && len(requirement.Values) > 0 &&
			requirement.Values[0] == api.ArchitectureArm64 {
			return string(types.InstanceTypeM6gLarge)
		}
	}
	return string(types.InstanceTypeM5Large)
}

// dryRun is a launch that EC2 checks and does not carry out. It is not retried, because the next
// resolution of the class repeats it.
type dryRun struct {
	ec2     *ec2.Client
	content nodeclass.LaunchTemplate
	trial   launch.Trial
	tags    []types.Tag
}

func once(o *ec2.Options) { o.Retryer = aws.NopRetryer{} }

func (d *dryRun) tagged(kinds ...types.ResourceType) []types.TagSpecification {
	var list []types.TagSpecification
	for _, kind := range kinds {
		list = append(list, types.TagSpecification{ResourceType: kind, Tags: d.tags})
	}
	return list
}

func (d *dryRun) createFleet(ctx context.Context, subnet api.Subnet) error {
	input := &ec2.CreateFleetInput{
		DryRun: aws.Bool(true),
		Type:   types.FleetTypeInstant,
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: aws.Int32(1),
		},
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{
				LaunchTemplateName: &d.content.Name, Version: aws.String("$Latest"),
			},
			Overrides: []types.FleetLaunchTemplateOverridesRequest{{
				InstanceType: types.InstanceType(d.trial.InstanceType), SubnetId: &subnet.ID, AvailabilityZone: &subnet.Zone,
			}},
		}},
		TagSpecifications: d.tagged(types.ResourceTypeInstance, types.ResourceTypeVolume, types.ResourceTypeFleet),
	}
	buy(input, &launch.Request{CapacityType: d.trial.CapacityType})
	_, err := d.ec2.CreateFleet(ctx, input, once)
	return err
}

// runInstances repeats the template's metadata options, because EC2 may take the values that a policy
// asks for from the call and not from the template.
func (d *dryRun) runInstances(ctx context.Context, subnet api.Subnet) error {
	options := metadataOptions(d.content.MetadataOptions, d.ec2.Options().Region)
	input := &ec2.RunInstancesInput{
		DryRun: aws.Bool(true), MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		InstanceType: types.InstanceType(d.trial.InstanceType), SubnetId: &subnet.ID,
		LaunchTemplate: &types.LaunchTemplateSpecification{
			LaunchTemplateName: &d.content.Name, Version: aws.String("$Latest"),
		},
		MetadataOptions: &types.InstanceMetadataOptionsRequest{
			HttpEndpoint:            types.InstanceMetadataEndpointState(options.HttpEndpoint),
			HttpProtocolIpv6:        types.InstanceMetadataProtocolState(options.HttpProtocolIpv6),
			HttpPutResponseHopLimit: options.HttpPutResponseHopLimit,
			HttpTokens:              types.HttpTokensState(options.HttpTokens),
			InstanceMetadataTags:    types.InstanceMetadataTagsState(options.InstanceMetadataTags),
		},
		TagSpecifications: d.tagged(types.ResourceTypeInstance, types.ResourceTypeVolume),
	}
	if d.trial.CapacityType == api.CapacityTypeSpot {
		input.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
	}
	_, err := d.ec2.RunInstances(ctx, input, once)
	return err
}
