package ec2_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

func (a *account) template(t *testing.T, name string, change ...func(*types.RequestLaunchTemplateData)) {
	t.Helper()
	data := &types.RequestLaunchTemplateData{
		ImageId: aws.String(a.image("x86_64")), UserData: aws.String(base64.StdEncoding.EncodeToString([]byte("#!/bin/sh"))),
		IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("nodes")},
		BlockDeviceMappings: []types.LaunchTemplateBlockDeviceMappingRequest{
			{
				DeviceName: aws.String("/dev/xvda"),
				Ebs:        &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(30), Encrypted: aws.Bool(true)},
			},
		},
		NetworkInterfaces: []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{
			DeviceIndex: aws.Int32(0), Groups: []string{a.group(t)},
		}},
		MetadataOptions: &types.LaunchTemplateInstanceMetadataOptionsRequest{
			HttpTokens: types.LaunchTemplateHttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(1),
		},
	}
	for _, f := range change {
		f(data)
	}
	_, err := a.CreateLaunchTemplate(t.Context(),
		&awsec2.CreateLaunchTemplateInput{LaunchTemplateName: &name, LaunchTemplateData: data})
	if err != nil {
		t.Fatal(err)
	}
}

func (a *account) group(t *testing.T) string {
	t.Helper()
	groups, err := a.DescribeSecurityGroups(t.Context(), &awsec2.DescribeSecurityGroupsInput{})
	if err != nil {
		t.Fatal(err)
	}
	return text(groups.SecurityGroups[0].GroupId)
}

func (a *account) subnet(t *testing.T, zone string) string {
	t.Helper()
	subnets, err := a.DescribeSubnets(t.Context(),
		&awsec2.DescribeSubnetsInput{
			Filters: []types.Filter{{Name: aws.String("availability-zone"), Values: []string{zone}}},
		})
	if err != nil || len(subnets.Subnets) != 1 {
		t.Fatalf("subnet of %s: %v, %v", zone, subnets, err)
	}
	return text(subnets.Subnets[0].SubnetId)
}

// fleet is a request for one instance of some types in two zones, as an autoscaler makes it.
func (a *account) fleet(t *testing.T, capacityType types.DefaultTargetCapacityType,
	instanceTypes ...types.InstanceType) *awsec2.CreateFleetInput {
	t.Helper()
	var overrides []types.FleetLaunchTemplateOverridesRequest
	for i, instanceType := range instanceTypes {
		for _, zone := range []string{"us-east-1a", "us-east-1b"} {
			overrides = append(overrides, types.FleetLaunchTemplateOverridesRequest{
				InstanceType: instanceType, SubnetId: aws.String(a.subnet(t, zone)), AvailabilityZone: aws.String(zone),
				Priority: aws.Float64(float64(i)),
			})
		}
	}
	return &awsec2.CreateFleetInput{
		Type: types.FleetTypeInstant,
		SpotOptions: &types.SpotOptionsRequest{
			AllocationStrategy: types.SpotAllocationStrategyPriceCapacityOptimized,
		},
		OnDemandOptions: &types.OnDemandOptionsRequest{
			AllocationStrategy: types.FleetOnDemandAllocationStrategyLowestPrice,
		},
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: aws.Int32(1), DefaultTargetCapacityType: capacityType,
		},
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{
				LaunchTemplateName: aws.String("nodes"), Version: aws.String("$Latest"),
			},
			Overrides: overrides,
		}},
		TagSpecifications: []types.TagSpecification{
			{
				ResourceType: types.ResourceTypeInstance,
				Tags:         []types.Tag{{Key: aws.String("karpenter.sh/nodeclaim"), Value: aws.String("claim-1")}},
			},
			{ResourceType: types.ResourceTypeVolume, Tags: []types.Tag{{Key: aws.String("Name"), Value: aws.String("root")}}},
		},
	}
}

func launched(t *testing.T, out *awsec2.CreateFleetOutput) []string {
	t.Helper()
	var ids []string
	for _, i := range out.Instances {
		ids = append(ids, i.InstanceIds...)
	}
	return ids
}

func TestCreateFleetLaunchesTheCheapest(t *testing.T) {
	a := newAccount(t)
	a.template(t, "nodes")
	out, err := a.CreateFleet(t.Context(),
		a.fleet(t, types.DefaultTargetCapacityTypeOnDemand, "m5.2xlarge", "m5.large", "m5.xlarge"))
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Instances) != 1 || len(out.Errors) != 0 || out.Instances[0].InstanceType != "m5.large" {
		t.Fatalf("got %+v with errors %+v, want one m5.large", out.Instances, out.Errors)
	}
	ids := launched(t, out)
	eventually(t, "the instance runs", func() bool {
		return slices.Equal(a.heard.states(ids[0]), []ec2.State{ec2.Pending, ec2.Running})
	})
	described, err := a.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{Filters: []types.Filter{
		{Name: aws.String("tag:karpenter.sh/nodeclaim"), Values: []string{"claim-*"}},
		{Name: aws.String("instance-state-name"), Values: []string{"running"}},
	}})
	if err != nil || len(described.Reservations) != 1 {
		t.Fatalf("describing: %+v, %v", described, err)
	}
	i := described.Reservations[0].Instances[0]
	if text(i.InstanceId) != ids[0] || !strings.HasPrefix(text(i.PrivateDnsName), "ip-10-0-") ||
		text(i.IamInstanceProfile.Arn) != "arn:aws:iam::123456789012:instance-profile/nodes" {
		t.Errorf("the instance is described as %+v", i)
	}
	tags := map[string]string{}
	for _, tag := range i.Tags {
		tags[text(tag.Key)] = text(tag.Value)
	}
	if tags["aws:ec2:fleet-id"] != text(out.FleetId) || tags["karpenter.sh/nodeclaim"] != "claim-1" {
		t.Errorf("the instance's tags are %v", tags)
	}
	volumes, err := a.DescribeVolumes(t.Context(), &awsec2.DescribeVolumesInput{})
	if err != nil || len(volumes.Volumes) != 1 || aws.ToInt32(volumes.Volumes[0].Size) != 30 ||
		!aws.ToBool(volumes.Volumes[0].Encrypted) {
		t.Errorf("volumes: %+v, %v", volumes, err)
	}
	if types := a.heard.eventTypes(); !contains(types, "EC2 Instance State-change Notification") {
		t.Errorf("events: %q", types)
	}
}

func TestCreateFleetIsIdempotent(t *testing.T) {
	a := newAccount(t)
	a.template(t, "nodes")
	in := a.fleet(t, types.DefaultTargetCapacityTypeSpot, "m5.large", "m6i.large", "c5.large")
	in.ClientToken = aws.String("claim-uid-1")
	first, err := a.CreateFleet(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := a.CreateFleet(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if text(first.FleetId) != text(again.FleetId) || !slices.Equal(launched(t, first), launched(t, again)) ||
		len(launched(t, first)) != 1 {
		t.Errorf("the first call gave %s with %v, the second %s with %v", text(first.FleetId), launched(t, first),
			text(again.FleetId), launched(t, again))
	}
	if n := len(a.service.Instances()); n != 1 {
		t.Errorf("%d instances were launched, want 1", n)
	}
	in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(2)
	_, err = a.CreateFleet(t.Context(), in)
	wantCode(t, err, "IdempotentParameterMismatch")
	in.ClientToken = aws.String(strings.Repeat("x", 65))
	_, err = a.CreateFleet(t.Context(), in)
	wantCode(t, err, "InvalidParameterValue")
	in.ClientToken, in.DryRun = nil, aws.Bool(true)
	_, err = a.CreateFleet(t.Context(), in)
	wantCode(t, err, "DryRunOperation")
}

// EC2 promises that a repeated call does nothing, and not that its answer lists the instances.
func TestARepeatedCreateFleetMayBeSilent(t *testing.T) {
	a := newAccount(t)
	a.template(t, "nodes")
	in := a.fleet(t, types.DefaultTargetCapacityTypeSpot, "m5.large", "c5.large")
	in.ClientToken = aws.String("claim-uid-1")
	a.service.SilenceRepeats(true)
	first, err := a.CreateFleet(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := a.CreateFleet(t.Context(), in)
	if err != nil || text(first.FleetId) != text(again.FleetId) || len(again.Instances)+len(again.Errors) != 0 {
		t.Errorf("the repeated call gave %+v, %v", again, err)
	}
	out, err := a.DescribeFleets(t.Context(), &awsec2.DescribeFleetsInput{FleetIds: []string{text(first.FleetId)}})
	if err != nil || len(out.Fleets) != 1 || len(out.Fleets[0].Instances) != 1 ||
		!slices.Equal(out.Fleets[0].Instances[0].InstanceIds, launched(t, first)) {
		t.Errorf("the fleet is %+v, %v", out, err)
	}
	_, err = a.DescribeFleets(t.Context(), &awsec2.DescribeFleetsInput{FleetIds: []string{"fleet-1"}})
	wantCode(t, err, "InvalidFleetId.NotFound")
}

func TestStarvedCapacity(t *testing.T) {
	a := newAccount(t)
	a.template(t, "nodes")
	a.service.Starve(ec2.Starvation{InstanceType: "m5.*", Zone: "us-east-1a"})
	out, err := a.CreateFleet(t.Context(), a.fleet(t, types.DefaultTargetCapacityTypeOnDemand, "m5.large"))
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Instances) != 1 ||
		text(out.Instances[0].LaunchTemplateAndOverrides.Overrides.AvailabilityZone) != "us-east-1b" {
		t.Errorf("got %+v, want an instance in us-east-1b", out.Instances)
	}
	if len(out.Errors) != 1 || text(out.Errors[0].ErrorCode) != "InsufficientInstanceCapacity" ||
		text(out.Errors[0].LaunchTemplateAndOverrides.Overrides.AvailabilityZone) != "us-east-1a" {
		t.Errorf("errors are %+v, want one for us-east-1a", out.Errors)
	}

	a.service.Starve(ec2.Starvation{CapacityType: ec2.Spot, Code: "UnfulfillableCapacity"})
	out, err = a.CreateFleet(t.Context(), a.fleet(t, types.DefaultTargetCapacityTypeSpot, "m5.large", "c5.large"))
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, e := range out.Errors {
		codes = append(codes, text(e.ErrorCode))
	}
	if len(out.Instances) != 0 ||
		!slices.Equal(codes, []string{
			"InsufficientInstanceCapacity", "UnfulfillableCapacity", "UnfulfillableCapacity", "UnfulfillableCapacity",
		}) {
		t.Errorf("got %+v with the codes %q", out.Instances, codes)
	}

	if ended := a.service.Feed("", "", ""); ended != 2 {
		t.Errorf("feeding ended %d starvations, want 2", ended)
	}
	a.service.SetLimits(ec2.Limits{SpotInstances: 2, OnDemandVCPUs: -1})
	in := a.fleet(t, types.DefaultTargetCapacityTypeSpot, "m5.large")
	in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(5)
	if out, err = a.CreateFleet(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if n := len(launched(t, out)); n != 2 || len(out.Errors) != 2 ||
		text(out.Errors[0].ErrorCode) != "MaxSpotInstanceCountExceeded" {
		t.Errorf("%d of 5 instances came with the errors %+v, want 2 and MaxSpotInstanceCountExceeded", n, out.Errors)
	}
}

func TestFleetErrors(t *testing.T) {
	a := newAccount(t)
	_, err := a.CreateFleet(t.Context(), a.fleet(t, types.DefaultTargetCapacityTypeOnDemand, "m5.large"))
	wantCode(t, err, "InvalidLaunchTemplateName.NotFoundException")

	a.template(t, "nodes", func(d *types.RequestLaunchTemplateData) { d.IamInstanceProfile.Name = aws.String("nobody") })
	out, err := a.CreateFleet(t.Context(), a.fleet(t, types.DefaultTargetCapacityTypeOnDemand, "m5.large"))
	if err != nil || len(out.Errors) != 2 ||
		!strings.Contains(text(out.Errors[0].ErrorMessage), "Invalid IAM Instance Profile name") {
		t.Errorf("an unknown profile gave %+v, %v", out, err)
	}
	out, err = a.CreateFleet(t.Context(), a.fleet(t, types.DefaultTargetCapacityTypeOnDemand, "m7g.large"))
	if err != nil || len(out.Errors) != 2 || !strings.Contains(text(out.Errors[0].ErrorMessage), "architecture") {
		t.Errorf("an arm64 type with an x86_64 image gave %+v, %v", out, err)
	}
	in := a.fleet(t, types.DefaultTargetCapacityTypeOnDemand, "m5.large")
	in.Type = types.FleetTypeMaintain
	_, err = a.CreateFleet(t.Context(), in)
	wantCode(t, err, "UnsupportedOperation")
	in = a.fleet(t, types.DefaultTargetCapacityTypeOnDemand, "m5.large")
	in.OnDemandOptions.MaxTotalPrice = aws.String("1")
	_, err = a.CreateFleet(t.Context(), in)
	wantCode(t, err, "UnknownParameter")
	in = a.fleet(t, types.DefaultTargetCapacityTypeOnDemand, "m5.large")
	in.LaunchTemplateConfigs = slices.Repeat(in.LaunchTemplateConfigs, 51)
	_, err = a.CreateFleet(t.Context(), in)
	wantCode(t, err, "InvalidParameterValue")
}

func TestThrottling(t *testing.T) {
	a := newAccount(t)
	a.service.Throttle("DescribeInst*", 1, time.Minute)
	_, err := a.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{})
	wantCode(t, err, "RequestLimitExceeded")
	if _, err := a.DescribeSubnets(t.Context(), &awsec2.DescribeSubnetsInput{}); err != nil {
		t.Errorf("another action is throttled too: %v", err)
	}
	a.service.Throttle("DescribeInst*", 0, 0)
	if _, err := a.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{}); err != nil {
		t.Errorf("throttling did not end: %v", err)
	}
}

func TestLaunchTemplates(t *testing.T) {
	a := newAccount(t)
	a.template(t, "nodes")
	_, err := a.CreateLaunchTemplate(t.Context(),
		&awsec2.CreateLaunchTemplateInput{
			LaunchTemplateName: aws.String("nodes"),
			LaunchTemplateData: &types.RequestLaunchTemplateData{KeyName: aws.String("key")},
		})
	wantCode(t, err, "InvalidLaunchTemplateName.AlreadyExistsException")
	if _, err := a.CreateLaunchTemplateVersion(t.Context(), &awsec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateName: aws.String("nodes"), SourceVersion: aws.String("1"),
		LaunchTemplateData: &types.RequestLaunchTemplateData{InstanceType: "m5.large"},
	}); err != nil {
		t.Fatal(err)
	}
	versions, err := a.DescribeLaunchTemplateVersions(t.Context(),
		&awsec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("nodes"), Versions: []string{"$Latest"}})
	if err != nil || len(versions.LaunchTemplateVersions) != 1 {
		t.Fatalf("versions: %+v, %v", versions, err)
	}
	data := versions.LaunchTemplateVersions[0].LaunchTemplateData
	if data.InstanceType != "m5.large" || text(data.ImageId) != a.image("x86_64") || len(data.NetworkInterfaces) != 1 ||
		!slices.Equal(data.NetworkInterfaces[0].Groups, []string{a.group(t)}) ||
		aws.ToInt32(data.BlockDeviceMappings[0].Ebs.VolumeSize) != 30 ||
		aws.ToInt32(data.MetadataOptions.HttpPutResponseHopLimit) != 1 {
		t.Errorf("version 2 holds %+v", data)
	}
	if _, err := a.CreateLaunchTemplate(t.Context(), &awsec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("karpenter.k8s.aws/1"),
		LaunchTemplateData: &types.RequestLaunchTemplateData{KeyName: aws.String("key")},
		TagSpecifications: []types.TagSpecification{
			{
				ResourceType: types.ResourceTypeLaunchTemplate,
				Tags:         []types.Tag{{Key: aws.String("team"), Value: aws.String("blue")}},
			},
		},
	}); err != nil {
		t.Fatal(err)
	}
	if tags, found := a.service.ResourceTags(
		"arn:aws:ec2:us-east-1:123456789012:launch-template/karpenter.k8s.aws/1"); !found || tags["team"] != "blue" {
		t.Errorf("the template's tags by its name are %v, %v", tags, found)
	}
	_, err = a.CreateLaunchTemplate(t.Context(), &awsec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("big"),
		LaunchTemplateData: &types.RequestLaunchTemplateData{
			UserData: aws.String(base64.StdEncoding.EncodeToString(make([]byte, 16385))),
		},
	})
	wantCode(t, err, "InvalidUserData.Malformed")
	if _, err := a.DeleteLaunchTemplate(t.Context(),
		&awsec2.DeleteLaunchTemplateInput{LaunchTemplateName: aws.String("nodes")}); err != nil {
		t.Fatal(err)
	}
	_, err = a.DescribeLaunchTemplates(t.Context(),
		&awsec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"nodes"}})
	wantCode(t, err, "InvalidLaunchTemplateName.NotFoundException")
}
