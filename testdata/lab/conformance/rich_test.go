//go:build conformance

package conformance

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	localec2 "github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// TestAnswersToRichRequestsAreKnownToTheModel launches with every field that the local EC2 holds.
// Moto holds few of them, so only the models check the answers.
func TestAnswersToRichRequestsAreKnownToTheModel(t *testing.T) {
	environment, err := Prepare(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	s := localAWS(t)
	s.network(t.Context())
	s.images(t.Context())
	s.profiles(t.Context())
	group, err := s.ec2.CreatePlacementGroup(t.Context(),
		&ec2.CreatePlacementGroupInput{GroupName: aws.String("parts"), Strategy: types.PlacementStrategyPartition})
	if err != nil {
		t.Fatal(err)
	}
	reservation, err := s.ec2.CreateCapacityReservation(t.Context(), &ec2.CreateCapacityReservationInput{
		InstanceType: aws.String("m5n.24xlarge"), InstancePlatform: types.CapacityReservationInstancePlatformLinuxUnix,
		AvailabilityZone: &s.zone, InstanceCount: aws.Int32(1),
		InstanceMatchCriteria: types.InstanceMatchCriteriaTargeted, Tenancy: types.CapacityReservationTenancyDedicated,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.richTemplate(t.Context(), aws.ToString(group.PlacementGroup.GroupId),
		aws.ToString(reservation.CapacityReservation.CapacityReservationId))
	in := s.fleet(types.DefaultTargetCapacityTypeOnDemand)
	in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName = aws.String("rich")
	in.LaunchTemplateConfigs[0].Overrides[0].InstanceType = "m5n.24xlarge"
	in.LaunchTemplateConfigs[0].Overrides[0].Priority, in.LaunchTemplateConfigs[0].Overrides[0].ImageId = aws.Float64(1.5),
		&s.image
	in.LaunchTemplateConfigs[0].Overrides[0].Placement = &types.Placement{PartitionNumber: aws.Int32(2)}
	in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(2)
	out, err := s.ec2.CreateFleet(t.Context(), in)
	if err != nil || len(out.Instances) != 1 || len(out.Errors) != 1 {
		t.Fatalf("one instance and one error are wanted: %+v, %v", out, err)
	}
	sick := out.Instances[0].InstanceIds[0]
	for deadline := time.Now().Add(time.Minute); s.local.Instances()[0].State != localec2.Running &&
		time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		continue
	}
	for _, err := range []error{
		s.local.Impair(sick, localec2.SystemCheck, time.Minute), s.local.Retire(sick, "", time.Now().Add(time.Hour)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	status, err := s.ec2.DescribeInstanceStatus(t.Context(),
		&ec2.DescribeInstanceStatusInput{Filters: filter("system-status.status", "impaired")})
	if err != nil || len(status.InstanceStatuses) != 1 || len(status.InstanceStatuses[0].Events) != 1 ||
		status.InstanceStatuses[0].SystemStatus.Details[0].ImpairedSince == nil {
		t.Errorf("the status of an impaired instance is %+v, %v", status, err)
	}
	for what, err := range map[string]error{
		"DescribeInstances": second(s.ec2.DescribeInstances(t.Context(),
			&ec2.DescribeInstancesInput{InstanceIds: out.Instances[0].InstanceIds})),
		"DescribeCapacityReservations": second(s.ec2.DescribeCapacityReservations(t.Context(),
			&ec2.DescribeCapacityReservationsInput{})),
		"DescribePlacementGroups": second(s.ec2.DescribePlacementGroups(t.Context(), &ec2.DescribePlacementGroupsInput{})),
		"DescribeVolumes":         second(s.ec2.DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{})),
		"DescribeInstanceTypes":   second(s.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{})),
		"DescribeImages": second(s.ec2.DescribeImages(t.Context(),
			&ec2.DescribeImagesInput{IncludeDeprecated: aws.Bool(true)})),
		"TerminateInstances": second(s.ec2.TerminateInstances(t.Context(),
			&ec2.TerminateInstancesInput{InstanceIds: out.Instances[0].InstanceIds})),
		"CancelCapacityReservation": second(s.ec2.CancelCapacityReservation(t.Context(), &ec2.CancelCapacityReservationInput{
			CapacityReservationId: reservation.CapacityReservation.CapacityReservationId,
		})),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, failure := range s.failed {
		t.Errorf("%s: %s", what, failure)
	}
	t.Logf("%d actions validated", validateAll(t, environment, s.all()))
}

func second[T any](_ T, err error) error { return err }

func (s *server) richTemplate(ctx context.Context, groupID, reservationID string) {
	_, err := s.ec2.CreateLaunchTemplate(ctx,
		&ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String(
			"rich"), LaunchTemplateData: &types.RequestLaunchTemplateData{
			ImageId: &s.image, InstanceType: "m5n.24xlarge", EbsOptimized: aws.Bool(true), DisableApiStop: aws.Bool(true),
			IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("nodes-profile")},
			BlockDeviceMappings: []types.LaunchTemplateBlockDeviceMappingRequest{{DeviceName: aws.String("/dev/xvda"),
				Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{
					VolumeSize: aws.Int32(80), VolumeType: types.VolumeTypeGp3, Iops: aws.Int32(4000), Throughput: aws.Int32(200),
					KmsKeyId: aws.String("alias/nodes"),
				}}},
			NetworkInterfaces: []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{
				{
					DeviceIndex: aws.Int32(0), NetworkCardIndex: aws.Int32(0), InterfaceType: aws.String("interface"),
					Groups: []string{s.group}, Ipv4PrefixCount: aws.Int32(1), SecondaryPrivateIpAddressCount: aws.Int32(1),
					ConnectionTrackingSpecification: &types.ConnectionTrackingSpecificationRequest{
						TcpEstablishedTimeout: aws.Int32(300), UdpStreamTimeout: aws.Int32(120), UdpTimeout: aws.Int32(30),
					},
				},
				{
					DeviceIndex: aws.Int32(1), NetworkCardIndex: aws.Int32(0), InterfaceType: aws.String("efa-only"),
					Groups: []string{s.group},
				},
			},
			Placement:           &types.LaunchTemplatePlacementRequest{GroupId: &groupID, Tenancy: types.TenancyDedicated},
			CpuOptions:          &types.LaunchTemplateCpuOptionsRequest{CoreCount: aws.Int32(24), ThreadsPerCore: aws.Int32(1)},
			EnclaveOptions:      &types.LaunchTemplateEnclaveOptionsRequest{Enabled: aws.Bool(true)},
			CreditSpecification: &types.CreditSpecificationRequest{CpuCredits: aws.String("standard")},
			CapacityReservationSpecification: &types.LaunchTemplateCapacityReservationSpecificationRequest{
				CapacityReservationPreference: types.CapacityReservationPreferenceCapacityReservationsOnly,
				CapacityReservationTarget:     &types.CapacityReservationTarget{CapacityReservationId: &reservationID},
			},
			PrivateDnsNameOptions: &types.LaunchTemplatePrivateDnsNameOptionsRequest{
				HostnameType: types.HostnameTypeIpName, EnableResourceNameDnsARecord: aws.Bool(false),
			},
			TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{
				{ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: tags("team", "blue")},
			},
		}})
	s.must("CreateLaunchTemplate with every field", err)
	_, err = s.ec2.DescribeLaunchTemplateVersions(ctx,
		&ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("rich")})
	s.must("DescribeLaunchTemplateVersions with every field", err)
}
