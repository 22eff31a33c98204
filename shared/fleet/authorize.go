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
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// triedSubnets is the maximum number of subnets of a dry run. A policy may deny single subnets, and
// one allowed subnet is enough.
const triedSubnets = 5

// authorizationPool is the node pool in the tags of a dry run.
const authorizationPool = "validation"

// Authorize asks EC2 by dry runs whether provision may launch with the class. The class's status
// must be resolved. Authorize creates one launch template, which the sweep of unused templates
// removes. An answer that is neither yes nor no, such as a region without the instance type, counts
// as yes, and the launch will tell. The error is for faults that may pass.
func (c *Client) Authorize(
	ctx context.Context, class *api.EC2NodeClass, cluster nodeclass.Cluster,
) (nodeclass.Authorization, error) {
	if len(class.Status.AMIs) == 0 || len(class.Status.Subnets) == 0 {
		return nodeclass.Authorization{}, nil
	}
	tags := map[string]string{
		api.ClusterTagKey(c.cluster): api.ClusterTagOwned, api.EKSClusterNameTagKey: c.cluster,
		api.NodePoolTagKey: authorizationPool, api.NodeClassTagKey: class.Name,
	}
	for key, value := range class.Spec.Tags {
		tags[key] = value
	}
	image := class.Status.AMIs[0]
	content, err := nodeclass.Template(class, image, nodeclass.Join{Cluster: cluster}, nodeclass.Variation{}, tags)
	if err != nil {
		return nodeclass.Authorization{}, err
	}
	made := &dryRun{ec2: c.ec2, template: content.Name, instanceType: anyType(image), tags: tagList(tags)}
	for _, step := range []struct {
		reason string
		ask    func(subnet api.Subnet) error
	}{
		{api.ReasonCreateLaunchTemplateAuthCheckFailed, func(api.Subnet) error { return c.ensureTemplate(ctx, content) }},
		{api.ReasonCreateFleetAuthCheckFailed, func(subnet api.Subnet) error { return made.createFleet(ctx, subnet) }},
		{api.ReasonRunInstancesAuthCheckFailed, func(subnet api.Subnet) error { return made.runInstances(ctx, subnet) }},
	} {
		var refused error
		for i, subnet := range class.Status.Subnets {
			refused = step.ask(subnet)
			if isPassing(refused) {
				return nodeclass.Authorization{}, refused
			}
			if !IsDenied(refused) || i+1 == triedSubnets {
				break
			}
		}
		if IsDenied(refused) {
			return nodeclass.Authorization{
				Asked: true, Problem: nodeclass.Problem{Reason: step.reason, Message: inWords(refused)},
			}, nil
		}
	}
	return nodeclass.Authorization{Asked: true}, nil
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
func anyType(image api.AMI) types.InstanceType {
	for _, requirement := range image.Requirements {
		if requirement.Key == corev1.LabelArchStable && len(requirement.Values) > 0 &&
			requirement.Values[0] == api.ArchitectureArm64 {
			return types.InstanceTypeM6gLarge
		}
	}
	return types.InstanceTypeM5Large
}

// dryRun is a launch that EC2 checks and does not carry out. It is not retried, because the next
// resolution of the class repeats it.
type dryRun struct {
	ec2          *ec2.Client
	template     string
	instanceType types.InstanceType
	tags         []types.Tag
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
	_, err := d.ec2.CreateFleet(ctx, &ec2.CreateFleetInput{
		DryRun: aws.Bool(true),
		Type:   types.FleetTypeInstant,
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: aws.Int32(1), DefaultTargetCapacityType: types.DefaultTargetCapacityTypeOnDemand,
		},
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{
				LaunchTemplateName: &d.template, Version: aws.String("$Latest"),
			},
			Overrides: []types.FleetLaunchTemplateOverridesRequest{
				{InstanceType: d.instanceType, SubnetId: &subnet.ID, AvailabilityZone: &subnet.Zone},
			},
		}},
		TagSpecifications: d.tagged(types.ResourceTypeInstance, types.ResourceTypeVolume, types.ResourceTypeFleet),
	}, once)
	return err
}

func (d *dryRun) runInstances(ctx context.Context, subnet api.Subnet) error {
	input := &ec2.RunInstancesInput{
		DryRun: aws.Bool(true), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: d.instanceType,
		SubnetId: &subnet.ID,
		LaunchTemplate: &types.LaunchTemplateSpecification{
			LaunchTemplateName: &d.template, Version: aws.String("$Latest"),
		},
		TagSpecifications: d.tagged(types.ResourceTypeInstance, types.ResourceTypeVolume),
	}
	_, err := d.ec2.RunInstances(ctx, input, once)
	return err
}
