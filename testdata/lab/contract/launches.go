package contract

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

const (
	// imageParameter names a small image for instances that run nothing.
	imageParameter = "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/arm64/standard/recommended/image_id"
	instanceType   = types.InstanceTypeT4gSmall
	contractTag    = prefix
)

// launchFacts launch instances that run nothing.
func launchFacts() []fact {
	return []fact{
		{
			assumption: "CreateFleet knows a launch template when CreateLaunchTemplate has answered.",
			creates:    "a launch template and a t4g.small",
			observe:    observeTemplate,
			changes:    "nothing: launches wait and try again",
		},
		{
			assumption: "A dry run of a permitted call fails with DryRunOperation.",
			observe:    observeDryRuns,
			changes:    "classes are not ready until somebody sets disableDryRun",
		},
		{
			assumption: "A repeated client token returns the first answer, with its instances.",
			observe:    observeToken,
			changes:    "nothing: a launch whose answer was lost is found by its tag",
		},
		{
			assumption: "The tags of a launch show with its instance.",
			observe:    observeTags,
			changes:    "nothing: an instance without tags is asked for by its id",
		},
		{
			assumption: "DescribeInstances shows a new instance within a minute.",
			creates:    "a second t4g.small",
			observe:    observeList,
			changes:    "the wait for a lost launch, shared/launch",
		},
		{
			assumption: "New instance profiles hold at once.",
			creates:    "a role without rights, an instance profile and a third t4g.small",
			observe:    observeProfile,
			changes:    "nothing: a launch with a new profile is tried again",
		},
		{
			assumption: "CreateFleet orders overrides by fractions of Priority.",
			creates:    "a t4g.nano",
			observe:    observePriorities,
			changes:    "prices of NodeOverlays and commitments have to become ranks, shared/fleet",
		},
		{
			assumption: "CreateFleet with MinTargetCapacity launches nothing where it would launch fewer.",
			observe:    observeMinimum,
			changes:    "a part of a gang launches, and goes back: cents for each short gang",
		},
		{
			assumption: "DescribeInstances shows the end of an instance within a minute.",
			observe:    observeEnd,
			changes:    "the time after which a node of an instance that ended is taken away",
		},
	}
}

func templateInput(name, image string, dry bool) *ec2.CreateLaunchTemplateInput {
	return &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name, DryRun: &dry,
		LaunchTemplateData: &types.RequestLaunchTemplateData{ImageId: &image, InstanceType: instanceType},
	}
}

// fleetInput asks for one instance, at once.
func fleetInput(template, token string) *ec2.CreateFleetInput {
	return &ec2.CreateFleetInput{
		Type: types.FleetTypeInstant, ClientToken: &token,
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: aws.Int32(1), DefaultTargetCapacityType: types.DefaultTargetCapacityTypeOnDemand,
		},
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{
				LaunchTemplateName: &template, Version: aws.String("$Latest"),
			},
		}},
		TagSpecifications: []types.TagSpecification{{
			ResourceType: types.ResourceTypeInstance,
			Tags:         []types.Tag{{Key: aws.String(contractTag), Value: &token}},
		}},
	}
}

// launch launches one instance of the template.
func (a *Account) launch(ctx context.Context, template, token string) (ids []string, refusal string, err error) {
	out, err := a.launchFleet(ctx, fleetInput(template, token))
	if err != nil {
		return nil, "", err
	}
	for _, set := range out.Instances {
		ids = append(ids, set.InstanceIds...)
	}
	return ids, refusalOf(out), nil
}

// refusalOf is the last error of a fleet's answer.
func refusalOf(out *ec2.CreateFleetOutput) string {
	if len(out.Errors) == 0 {
		return ""
	}
	return aws.ToString(out.Errors[len(out.Errors)-1].ErrorCode)
}

// launchFleet calls CreateFleet, and ends its instances later.
func (a *Account) launchFleet(ctx context.Context, input *ec2.CreateFleetInput) (*ec2.CreateFleetOutput, error) {
	out, err := a.ec2.CreateFleet(ctx, input)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, set := range out.Instances {
		ids = append(ids, set.InstanceIds...)
	}
	if len(ids) > 0 {
		a.later("instance "+ids[0], func(ctx context.Context) error {
			_, err := a.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids})
			if code(err) == "InvalidInstanceID.NotFound" {
				return nil
			}
			return err
		})
	}
	return out, nil
}

func observeTemplate(ctx context.Context, a *Account) (bool, string, error) {
	image, err := a.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(imageParameter)})
	if err != nil {
		return false, "", err
	}
	a.template = a.name("template")
	_, err = a.ec2.CreateLaunchTemplate(ctx, templateInput(a.template, aws.ToString(image.Parameter.Value), false))
	if err != nil {
		return false, "", err
	}
	a.later("launch template "+a.template, func(ctx context.Context) error {
		_, err := a.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: &a.template})
		return err
	})
	first := ""
	took, err := until(ctx, func() (bool, error) {
		ids, refusal, err := a.launch(ctx, a.template, a.name("token"))
		if first == "" && len(ids) == 0 {
			first = refusal + code(err)
		}
		if len(ids) > 0 {
			a.instance = ids[0]
		}
		return len(ids) > 0, nil
	})
	if err != nil {
		return false, "", fmt.Errorf("no instance: %s: %w", first, err)
	}
	if first == "" {
		return true, "the first CreateFleet launched", nil
	}
	return false, fmt.Sprintf("%s at first, a launch after %.1f s", first, took.Seconds()), nil
}

// observeDryRuns asks for each kind of call that the readiness of a class asks for.
func observeDryRuns(ctx context.Context, a *Account) (bool, string, error) {
	if a.template == "" {
		return false, "", errNoInstance
	}
	dry := aws.Bool(true)
	fleet := fleetInput(a.template, a.name("dry"))
	fleet.DryRun = dry
	answers := map[string]error{}
	template := templateInput(a.name("dry"), "ami-00000000", true)
	_, answers["CreateLaunchTemplate"] = a.ec2.CreateLaunchTemplate(ctx, template)
	_, answers["CreateFleet"] = a.ec2.CreateFleet(ctx, fleet)
	_, answers["RunInstances"] = a.ec2.RunInstances(ctx, &ec2.RunInstancesInput{
		DryRun: dry, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateName: &a.template},
	})
	holds, saw := true, []string{}
	for _, call := range slices.Sorted(maps.Keys(answers)) {
		answer := code(answers[call])
		if answers[call] == nil {
			answer = "no error"
		}
		holds = holds && answer == "DryRunOperation"
		saw = append(saw, call+": "+answer)
	}
	return holds, strings.Join(saw, ", "), nil
}

// observePriorities offers a small type for a fraction less than a larger one. Whole numbers alone would
// make the two equal.
func observePriorities(ctx context.Context, a *Account) (bool, string, error) {
	if a.template == "" {
		return false, "", errNoInstance
	}
	input := fleetInput(a.template, a.name("priorities"))
	input.OnDemandOptions = &types.OnDemandOptionsRequest{
		AllocationStrategy: types.FleetOnDemandAllocationStrategyPrioritized,
	}
	input.LaunchTemplateConfigs[0].Overrides = []types.FleetLaunchTemplateOverridesRequest{
		{InstanceType: types.InstanceTypeT4gMicro, Priority: aws.Float64(0.0084)},
		{InstanceType: types.InstanceTypeT4gNano, Priority: aws.Float64(0.0042)},
	}
	out, err := a.launchFleet(ctx, input)
	if err != nil {
		return false, "", err
	}
	if len(out.Instances) == 0 {
		return false, "", fmt.Errorf("no instance: %s", refusalOf(out))
	}
	launched := out.Instances[0].InstanceType
	return launched == types.InstanceTypeT4gNano, fmt.Sprintf("%s was launched", launched), nil
}

// observeMinimum asks for twelve instances and pays for two at most, so that EC2 runs short without a lack
// of capacity.
func observeMinimum(ctx context.Context, a *Account) (bool, string, error) {
	if a.template == "" {
		return false, "", errNoInstance
	}
	input := fleetInput(a.template, a.name("minimum"))
	input.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(12)
	input.OnDemandOptions = &types.OnDemandOptionsRequest{
		AllocationStrategy: types.FleetOnDemandAllocationStrategyLowestPrice, MinTargetCapacity: aws.Int32(12),
		MaxTotalPrice: aws.String("0.01"), SingleInstanceType: aws.Bool(true), SingleAvailabilityZone: aws.Bool(true),
	}
	input.LaunchTemplateConfigs[0].Overrides = []types.FleetLaunchTemplateOverridesRequest{
		{InstanceType: types.InstanceTypeT4gNano},
	}
	out, err := a.launchFleet(ctx, input)
	if err != nil {
		return false, "", err
	}
	launched := 0
	for _, set := range out.Instances {
		launched += len(set.InstanceIds)
	}
	return launched == 0, fmt.Sprintf("%d of 12 were launched; %s", launched, refusalOf(out)), nil
}

// errNoInstance says that an earlier fact has launched nothing.
var errNoInstance = errors.New("there is no instance")

func observeToken(ctx context.Context, a *Account) (bool, string, error) {
	if a.instance == "" {
		return false, "", errNoInstance
	}
	out, err := a.ec2.CreateFleet(ctx, fleetInput(a.template, a.name("token")))
	if err != nil {
		return false, code(err), nil
	}
	for _, set := range out.Instances {
		if slices.Contains(set.InstanceIds, a.instance) {
			return true, "the first call's instance", nil
		}
	}
	return false, fmt.Sprintf("%d instance sets, without the first call's instance", len(out.Instances)), nil
}

// described returns the instances that EC2 lists for the filter, or for the id.
func (a *Account) described(ctx context.Context, input *ec2.DescribeInstancesInput) ([]types.Instance, error) {
	out, err := a.ec2.DescribeInstances(ctx, input)
	if code(err) == "InvalidInstanceID.NotFound" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []types.Instance
	for _, reservation := range out.Reservations {
		all = append(all, reservation.Instances...)
	}
	return all, nil
}

func byToken(token string) *ec2.DescribeInstancesInput {
	return &ec2.DescribeInstancesInput{
		Filters: []types.Filter{{Name: aws.String("tag:" + contractTag), Values: []string{token}}},
	}
}

func observeTags(ctx context.Context, a *Account) (bool, string, error) {
	if a.instance == "" {
		return false, "", errNoInstance
	}
	bare := false
	took, err := until(ctx, func() (bool, error) {
		found, err := a.described(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{a.instance}})
		if err != nil || len(found) == 0 {
			return false, err
		}
		tagged := slices.ContainsFunc(found[0].Tags, func(tag types.Tag) bool { return aws.ToString(tag.Key) == contractTag })
		bare = bare || !tagged
		return tagged, nil
	})
	if err != nil {
		return false, "", err
	}
	return !bare, fmt.Sprintf("the tag %.1f s after the first look; an instance without it was seen: %t", took.Seconds(),
		bare), nil
}

func observeList(ctx context.Context, a *Account) (bool, string, error) {
	if a.template == "" {
		return false, "", errNoInstance
	}
	token := a.name("list")
	ids, refusal, err := a.launch(ctx, a.template, token)
	if err != nil || len(ids) == 0 {
		return false, "", fmt.Errorf("no instance: %s %w", refusal, err)
	}
	took, err := until(ctx, func() (bool, error) {
		found, err := a.described(ctx, byToken(token))
		return len(found) > 0, err
	})
	if err != nil {
		return false, "", err
	}
	return took < time.Minute, fmt.Sprintf("after %.1f s, by its tag", took.Seconds()), nil
}

// observeProfile launches with a profile that has just been made.
func observeProfile(ctx context.Context, a *Account) (bool, string, error) {
	if a.template == "" {
		return false, "", errNoInstance
	}
	name := a.name("profile")
	if err := a.makeProfile(ctx, name); err != nil {
		return false, "", err
	}
	_, err := a.ec2.CreateLaunchTemplateVersion(ctx, &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateName: &a.template, SourceVersion: aws.String("1"),
		LaunchTemplateData: &types.RequestLaunchTemplateData{
			IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: &name},
		},
	})
	if err != nil {
		return false, "", err
	}
	refused, try := "", 0
	took, err := until(ctx, func() (bool, error) {
		try++
		ids, refusal, err := a.launch(ctx, a.template, fmt.Sprintf("%s-%d", name, try))
		if len(ids) == 0 {
			refused = refusal + code(err)
		}
		return len(ids) > 0, nil
	})
	if err != nil {
		return false, "", fmt.Errorf("no instance: %s: %w", refused, err)
	}
	if refused == "" {
		return true, "the first launch had it", nil
	}
	return false, fmt.Sprintf("%s for %.1f s", refused, took.Seconds()), nil
}

// makeProfile makes a role without rights in an instance profile, both of the name.
func (a *Account) makeProfile(ctx context.Context, name string) error {
	if err := a.makeRole(ctx, name, "ec2.amazonaws.com"); err != nil {
		return err
	}
	_, err := a.iam.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: &name})
	if err != nil {
		return err
	}
	a.later("instance profile "+name, func(ctx context.Context) error {
		_, err := a.iam.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: &name})
		return err
	})
	_, err = a.iam.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{
		InstanceProfileName: &name, RoleName: &name,
	})
	if err == nil {
		a.later("role in instance profile "+name, func(ctx context.Context) error {
			_, err := a.iam.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{
				InstanceProfileName: &name, RoleName: &name,
			})
			return err
		})
	}
	return err
}

// makeRole makes a role without rights that a service may assume.
func (a *Account) makeRole(ctx context.Context, name, service string) error {
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole",` +
		`"Principal":{"Service":"` + service + `"}}]}`
	_, err := a.iam.CreateRole(ctx, &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: &trust})
	if err == nil {
		a.later("role "+name, func(ctx context.Context) error {
			_, err := a.iam.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: &name})
			return err
		})
	}
	return err
}

func observeEnd(ctx context.Context, a *Account) (bool, string, error) {
	if a.instance == "" {
		return false, "", errNoInstance
	}
	ids := []string{a.instance}
	if _, err := a.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids}); err != nil {
		return false, "", err
	}
	took, err := until(ctx, func() (bool, error) {
		found, err := a.described(ctx, &ec2.DescribeInstancesInput{InstanceIds: ids})
		return err == nil && len(found) > 0 && found[0].State.Name == types.InstanceStateNameTerminated, err
	})
	if err != nil {
		return false, "", err
	}
	return took < time.Minute, fmt.Sprintf("terminated after %.1f s", took.Seconds()), nil
}
