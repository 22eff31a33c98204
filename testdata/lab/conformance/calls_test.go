//go:build conformance

package conformance

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	sdksavings "github.com/aws/aws-sdk-go-v2/service/savingsplans"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	localec2 "github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/savingsplans"
)

// server is one of the two, with the SDK's clients to it.
type server struct {
	ec2 *ec2.Client
	ssm *ssm.Client
	iam *iam.Client
	sts *sts.Client
	// savings is called in tests of the local AWS alone: moto has no Savings Plans.
	savings *sdksavings.Client
	*recorder
	// refused has the codes of calls that must fail, and failed those of calls that must not, by
	// name.
	refused, failed map[string]string

	local                           *localec2.Service     // nil where others made the server
	localPlans                      *savingsplans.Service // likewise
	image, subnet, zone, group, vpc string
	instances                       []string
}

func newServer(config aws.Config) *server {
	r := &recorder{}
	config.HTTPClient = r
	return &server{
		ec2: ec2.NewFromConfig(config), ssm: ssm.NewFromConfig(config), iam: iam.NewFromConfig(config),
		sts: sts.NewFromConfig(config), savings: sdksavings.NewFromConfig(config), recorder: r,
		refused: map[string]string{}, failed: map[string]string{},
	}
}

// must notes a call that fails though it should not.
func (s *server) must(what string, err error) bool {
	if err != nil {
		s.failed[what] = err.Error()
	}
	return err == nil
}

// code is that of an error that a service answered.
func code(err error) string {
	var refused smithy.APIError
	if errors.As(err, &refused) {
		return refused.ErrorCode()
	}
	return fmt.Sprint(err)
}

const cluster = "prod"

// run makes all calls in one order. Later calls use earlier results.
func (s *server) run(ctx context.Context) {
	s.network(ctx)
	s.catalogue(ctx)
	s.images(ctx)
	s.profiles(ctx)
	s.templates(ctx)
	s.fleets(ctx)
	s.lives(ctx)
	s.refusals(ctx)
}

func (s *server) network(ctx context.Context) {
	_, err := s.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	s.must("GetCallerIdentity", err)
	_, err = s.ec2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	s.must("DescribeAvailabilityZones", err)
	vpcs, err := s.ec2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{Filters: filter("is-default", "true")})
	if s.must("DescribeVpcs", err) && len(vpcs.Vpcs) == 1 {
		s.vpc = aws.ToString(vpcs.Vpcs[0].VpcId)
	}
	subnets, err := s.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: filter("availability-zone", Region+"a")})
	if s.must("DescribeSubnets", err) && len(subnets.Subnets) == 1 {
		s.subnet, s.zone = aws.ToString(subnets.Subnets[0].SubnetId), aws.ToString(subnets.Subnets[0].AvailabilityZone)
	}
	groups, err := s.ec2.DescribeSecurityGroups(ctx,
		&ec2.DescribeSecurityGroupsInput{Filters: append(filter("group-name", "default"), filter("vpc-id", s.vpc)...)})
	if s.must("DescribeSecurityGroups", err) && len(groups.SecurityGroups) == 1 {
		s.group = aws.ToString(groups.SecurityGroups[0].GroupId)
	}
	_, err = s.ec2.CreateTags(ctx,
		&ec2.CreateTagsInput{Resources: []string{s.subnet, s.group}, Tags: tags("karpenter.sh/discovery", cluster)})
	s.must("CreateTags", err)
	found, err := s.ec2.DescribeSubnets(ctx,
		&ec2.DescribeSubnetsInput{Filters: filter("tag:karpenter.sh/discovery", cluster)})
	if s.must("DescribeSubnets by tag", err) &&
		(len(found.Subnets) == 0 || !slices.ContainsFunc(found.Subnets, func(n types.Subnet) bool {
			return aws.ToString(n.SubnetId) == s.subnet
		})) {
		s.failed["DescribeSubnets by tag"] = "the tagged subnet is not found"
	}
}

func (s *server) catalogue(ctx context.Context) {
	_, err := s.ec2.DescribeInstanceTypes(ctx,
		&ec2.DescribeInstanceTypesInput{
			InstanceTypes: []types.InstanceType{"m5.large", "g5.xlarge", "inf2.xlarge", "c6gd.xlarge", "p4d.24xlarge"},
		})
	s.must("DescribeInstanceTypes", err)
	_, err = s.ec2.DescribeInstanceTypeOfferings(ctx,
		&ec2.DescribeInstanceTypeOfferingsInput{
			LocationType: types.LocationTypeAvailabilityZone, Filters: filter("instance-type", "m5.large"),
		})
	s.must("DescribeInstanceTypeOfferings", err)
	_, err = s.ec2.DescribeSpotPriceHistory(ctx, &ec2.DescribeSpotPriceHistoryInput{
		InstanceTypes: []types.InstanceType{"m5.large"}, ProductDescriptions: []string{"Linux/UNIX"},
		StartTime: aws.Time(time.Now()),
	})
	s.must("DescribeSpotPriceHistory", err)
}

func (s *server) images(ctx context.Context) {
	found, err := s.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{
		Owners: []string{"amazon"}, Filters: append(filter("architecture", "x86_64"), filter("state", "available")...),
		IncludeDeprecated: aws.Bool(true),
	})
	if s.must("DescribeImages", err) {
		at := slices.IndexFunc(found.Images, func(i types.Image) bool {
			return !strings.EqualFold(string(i.Platform), "windows") && i.RootDeviceType == types.DeviceTypeEbs
		})
		if at < 0 {
			s.failed["DescribeImages"] = "no image of amazon's for x86_64"
			return
		}
		s.image = aws.ToString(found.Images[at].ImageId)
	}
	name := aws.String("/local/image")
	_, err = s.ssm.PutParameter(ctx, &ssm.PutParameterInput{Name: name, Value: &s.image, Type: "String"})
	s.must("PutParameter", err)
	_, err = s.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: name})
	s.must("GetParameter", err)
	_, err = s.ssm.GetParameters(ctx, &ssm.GetParametersInput{Names: []string{"/local/image", "/local/none"}})
	s.must("GetParameters", err)
}

const trust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole",` +
	`"Principal":{"Service":"ec2.amazonaws.com"}}]}`

func (s *server) profiles(ctx context.Context) {
	role, profile := aws.String("nodes"), aws.String("nodes-profile")
	_, err := s.iam.CreateRole(ctx, &iam.CreateRoleInput{RoleName: role, AssumeRolePolicyDocument: aws.String(trust)})
	s.must("CreateRole", err)
	_, err = s.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: role})
	s.must("GetRole", err)
	_, err = s.iam.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{
		InstanceProfileName: profile, Path: aws.String("/karpenter/us-east-1/prod/"),
		Tags: []iamtypes.Tag{{Key: aws.String("team"), Value: aws.String("blue")}},
	})
	s.must("CreateInstanceProfile", err)
	_, err = s.iam.AddRoleToInstanceProfile(ctx,
		&iam.AddRoleToInstanceProfileInput{InstanceProfileName: profile, RoleName: role})
	s.must("AddRoleToInstanceProfile", err)
	_, err = s.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: profile})
	s.must("GetInstanceProfile", err)
	_, err = s.iam.ListInstanceProfiles(ctx,
		&iam.ListInstanceProfilesInput{PathPrefix: aws.String("/karpenter/us-east-1/prod/")})
	s.must("ListInstanceProfiles", err)
}

func (s *server) templates(ctx context.Context) {
	name := aws.String("karpenter.k8s.aws/0123")
	data := &types.RequestLaunchTemplateData{
		ImageId: &s.image, UserData: aws.String(base64.StdEncoding.EncodeToString([]byte("#!/bin/sh\n"))),
		EbsOptimized:       aws.Bool(true),
		IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("nodes-profile")},
		Monitoring:         &types.LaunchTemplatesMonitoringRequest{Enabled: aws.Bool(true)},
		BlockDeviceMappings: []types.LaunchTemplateBlockDeviceMappingRequest{{DeviceName: aws.String("/dev/xvda"),
			Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{
				VolumeSize: aws.Int32(100), VolumeType: types.VolumeTypeGp3, Encrypted: aws.Bool(true),
				DeleteOnTermination: aws.Bool(true),
			}}},
		MetadataOptions: &types.LaunchTemplateInstanceMetadataOptionsRequest{
			HttpTokens: types.LaunchTemplateHttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(1),
			HttpEndpoint: types.LaunchTemplateInstanceMetadataEndpointStateEnabled,
		},
		SecurityGroupIds: []string{s.group},
		TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{
			{ResourceType: types.ResourceTypeNetworkInterface, Tags: tags("team", "blue")},
		},
	}
	_, err := s.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: name, LaunchTemplateData: data, VersionDescription: aws.String("first"),
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeLaunchTemplate, Tags: tags("team", "blue")},
		},
	})
	s.must("CreateLaunchTemplate", err)
	_, err = s.ec2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{Filters: filter("tag:team", "blue")})
	s.must("DescribeLaunchTemplates", err)
	_, err = s.ec2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{*name}})
	s.must("DescribeLaunchTemplates by name", err)
	_, err = s.ec2.CreateLaunchTemplateVersion(ctx,
		&ec2.CreateLaunchTemplateVersionInput{
			LaunchTemplateName: name, SourceVersion: aws.String("1"),
			LaunchTemplateData: &types.RequestLaunchTemplateData{KeyName: aws.String("key")},
		})
	s.must("CreateLaunchTemplateVersion", err)
	_, err = s.ec2.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: name})
	s.must("DescribeLaunchTemplateVersions", err)
}

// fleet asks for one instance.
func (s *server) fleet(kind types.DefaultTargetCapacityType) *ec2.CreateFleetInput {
	in := &ec2.CreateFleetInput{
		Type: types.FleetTypeInstant,
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: aws.Int32(1), DefaultTargetCapacityType: kind,
		},
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{
				LaunchTemplateName: aws.String("karpenter.k8s.aws/0123"), Version: aws.String("1"),
			},
			Overrides: []types.FleetLaunchTemplateOverridesRequest{
				{InstanceType: "m5.large", SubnetId: &s.subnet, AvailabilityZone: &s.zone},
			},
		}},
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: tags("team", "blue")}},
	}
	if kind == types.DefaultTargetCapacityTypeSpot {
		in.SpotOptions = &types.SpotOptionsRequest{AllocationStrategy: types.SpotAllocationStrategyPriceCapacityOptimized}
	} else {
		in.OnDemandOptions = &types.OnDemandOptionsRequest{
			AllocationStrategy: types.FleetOnDemandAllocationStrategyLowestPrice,
		}
	}
	return in
}

func (s *server) fleets(ctx context.Context) {
	for _, kind := range []types.DefaultTargetCapacityType{
		types.DefaultTargetCapacityTypeOnDemand, types.DefaultTargetCapacityTypeSpot,
	} {
		out, err := s.ec2.CreateFleet(ctx, s.fleet(kind))
		if !s.must("CreateFleet "+string(kind), err) {
			continue
		}
		for _, set := range out.Instances {
			s.instances = append(s.instances, set.InstanceIds...)
		}
		_, err = s.ec2.DescribeFleets(ctx, &ec2.DescribeFleetsInput{FleetIds: []string{aws.ToString(out.FleetId)}})
		s.must("DescribeFleets "+string(kind), err)
	}
	out, err := s.ec2.RunInstances(ctx, &ec2.RunInstancesInput{
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ImageId: &s.image, InstanceType: "m5.large", SubnetId: &s.subnet,
		SecurityGroupIds:  []string{s.group},
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: tags("team", "blue")}},
	})
	if s.must("RunInstances", err) {
		s.instances = append(s.instances, aws.ToString(out.Instances[0].InstanceId))
	}
}

func (s *server) lives(ctx context.Context) {
	running := func() bool {
		out, err := s.ec2.DescribeInstances(ctx,
			&ec2.DescribeInstancesInput{
				Filters: append(filter("tag:team", "blue"), filter("instance-state-name", "running")...),
			})
		count := 0
		if s.must("DescribeInstances", err) {
			for _, r := range out.Reservations {
				count += len(r.Instances)
			}
		}
		return count == len(s.instances)
	}
	for deadline := time.Now().Add(10 * time.Second); !running() &&
		time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		continue
	}
	_, err := s.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: s.instances})
	s.must("DescribeInstances by id", err)
	_, err = s.ec2.DescribeInstanceStatus(ctx,
		&ec2.DescribeInstanceStatusInput{InstanceIds: s.instances, IncludeAllInstances: aws.Bool(true)})
	s.must("DescribeInstanceStatus", err)
	_, err = s.ec2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{})
	s.must("DescribeVolumes", err)
	_, err = s.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: s.instances, Tags: tags("Name", "node")})
	s.must("CreateTags of instances", err)
	_, err = s.ec2.DeleteTags(ctx,
		&ec2.DeleteTagsInput{Resources: s.instances, Tags: []types.Tag{{Key: aws.String("Name")}}})
	s.must("DeleteTags", err)
	_, err = s.ec2.GetConsoleOutput(ctx, &ec2.GetConsoleOutputInput{InstanceId: &s.instances[len(s.instances)-1]})
	s.must("GetConsoleOutput", err)
	_, err = s.ec2.StopInstances(ctx, &ec2.StopInstancesInput{InstanceIds: s.instances[len(s.instances)-1:]})
	s.must("StopInstances", err)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		_, err = s.ec2.StartInstances(ctx, &ec2.StartInstancesInput{InstanceIds: s.instances[len(s.instances)-1:]})
		if err == nil { // a real one takes none either while it stops
			break
		}
	}
	s.must("StartInstances", err)
	_, err = s.ec2.CreatePlacementGroup(ctx,
		&ec2.CreatePlacementGroupInput{
			GroupName: aws.String("parts"), Strategy: types.PlacementStrategyPartition, PartitionCount: aws.Int32(3),
		})
	s.must("CreatePlacementGroup", err)
	_, err = s.ec2.DescribePlacementGroups(ctx, &ec2.DescribePlacementGroupsInput{})
	s.must("DescribePlacementGroups", err)
	_, err = s.ec2.CreateCapacityReservation(ctx, &ec2.CreateCapacityReservationInput{
		InstanceType: aws.String("m5.large"), InstancePlatform: types.CapacityReservationInstancePlatformLinuxUnix,
		AvailabilityZone: &s.zone, InstanceCount: aws.Int32(2),
	})
	s.must("CreateCapacityReservation", err)
	_, err = s.ec2.DescribeCapacityReservations(ctx, &ec2.DescribeCapacityReservationsInput{})
	s.must("DescribeCapacityReservations", err)
	_, err = s.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: s.instances})
	s.must("TerminateInstances", err)
	_, err = s.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: s.instances})
	s.must("DescribeInstances of those that end", err)
}

// refusals are calls that an EC2 refuses, by the codes that the project's clients go by.
func (s *server) refusals(ctx context.Context) {
	refuse := func(what string, err error) { s.refused[what] = code(err) }
	_, err := s.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{"i-0123456789abcdef0"}})
	refuse("an instance that is not there", err)
	_, err = s.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{"i-0123456789abcdef0"}})
	refuse("ending an instance that is not there", err)
	_, err = s.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{"subnet-0123456789abcdef0"}})
	refuse("a subnet that is not there", err)
	_, err = s.ec2.DescribeSecurityGroups(ctx,
		&ec2.DescribeSecurityGroupsInput{GroupIds: []string{"sg-0123456789abcdef0"}})
	refuse("a security group that is not there", err)
	_, err = s.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{"ami-0123456789abcdef0"}})
	refuse("an image that is not there", err)
	_, err = s.ec2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"none"}})
	refuse("a launch template that is not there", err)
	_, err = s.ec2.CreateLaunchTemplate(ctx,
		&ec2.CreateLaunchTemplateInput{
			LaunchTemplateName: aws.String("karpenter.k8s.aws/0123"),
			LaunchTemplateData: &types.RequestLaunchTemplateData{ImageId: &s.image},
		})
	refuse("a launch template of a name that is taken", err)
	_, err = s.ec2.DescribePlacementGroups(ctx, &ec2.DescribePlacementGroupsInput{GroupNames: []string{"none"}})
	refuse("a placement group that is not there", err)
	_, err = s.ec2.RunInstances(ctx,
		&ec2.RunInstancesInput{
			MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ImageId: &s.image, InstanceType: "m5.large", SubnetId: &s.subnet,
			DryRun: aws.Bool(true),
		})
	refuse("a dry run of RunInstances", err)
	_, err = s.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("/local/none")})
	refuse("a parameter that is not there", err)
	_, err = s.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String("none")})
	refuse("an instance profile that is not there", err)
	_, err = s.iam.CreateInstanceProfile(ctx,
		&iam.CreateInstanceProfileInput{InstanceProfileName: aws.String("nodes-profile")})
	refuse("an instance profile of a name that is taken", err)
	_, err = s.iam.AddRoleToInstanceProfile(ctx,
		&iam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String("nodes-profile"), RoleName: aws.String("nodes")})
	refuse("a second role of an instance profile", err)
	_, err = s.iam.DeleteInstanceProfile(ctx,
		&iam.DeleteInstanceProfileInput{InstanceProfileName: aws.String("nodes-profile")})
	refuse("deleting an instance profile with a role", err)
	_, err = s.iam.RemoveRoleFromInstanceProfile(ctx,
		&iam.RemoveRoleFromInstanceProfileInput{
			InstanceProfileName: aws.String("nodes-profile"), RoleName: aws.String("nodes"),
		})
	s.must("RemoveRoleFromInstanceProfile", err)
	_, err = s.iam.DeleteInstanceProfile(ctx,
		&iam.DeleteInstanceProfileInput{InstanceProfileName: aws.String("nodes-profile")})
	s.must("DeleteInstanceProfile", err)
	_, err = s.ec2.DeleteLaunchTemplate(ctx,
		&ec2.DeleteLaunchTemplateInput{LaunchTemplateName: aws.String("karpenter.k8s.aws/0123")})
	s.must("DeleteLaunchTemplate", err)
}

func filter(name string, values ...string) []types.Filter {
	return []types.Filter{{Name: &name, Values: values}}
}

func tags(key, value string) []types.Tag { return []types.Tag{{Key: &key, Value: &value}} }
