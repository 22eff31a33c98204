package ec2_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func (a *account) runOne(t *testing.T, spot bool) types.Instance {
	t.Helper()
	in := &awsec2.RunInstancesInput{
		ImageId: aws.String(a.image("x86_64")), InstanceType: types.InstanceTypeM5Large, MinCount: aws.Int32(1),
		MaxCount: aws.Int32(1), SubnetId: aws.String(a.subnet(t, "us-east-1a")),
	}
	if spot {
		in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
	}
	out, err := a.RunInstances(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out.Instances[0]
}

func filterOf(name, value string) []types.Filter {
	return []types.Filter{{Name: &name, Values: []string{value}}}
}

func TestDescribeNetworkInterfaces(t *testing.T) {
	a := newAccount(t)
	one, other := a.runOne(t, false), a.runOne(t, false)
	all, err := a.DescribeNetworkInterfaces(t.Context(), &awsec2.DescribeNetworkInterfacesInput{})
	if err != nil || len(all.NetworkInterfaces) != 2 {
		t.Fatalf("%d interfaces, %v", len(all.NetworkInterfaces), err)
	}
	found, err := a.DescribeNetworkInterfaces(t.Context(), &awsec2.DescribeNetworkInterfacesInput{
		Filters: filterOf("attachment.instance-id", *one.InstanceId),
	})
	if err != nil || len(found.NetworkInterfaces) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	seen := found.NetworkInterfaces[0]
	if *seen.NetworkInterfaceId != *one.NetworkInterfaces[0].NetworkInterfaceId ||
		*seen.PrivateIpAddress != *one.PrivateIpAddress || *seen.Attachment.InstanceId != *one.InstanceId ||
		*seen.Attachment.DeviceIndex != 0 || len(seen.Groups) == 0 || *seen.AvailabilityZone != "us-east-1a" {
		t.Errorf("the interface is %+v", seen)
	}
	if _, err = a.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{
		InstanceIds: []string{*other.InstanceId},
	}); err != nil {
		t.Fatal(err)
	}
	_, err = a.DescribeNetworkInterfaces(t.Context(), &awsec2.DescribeNetworkInterfacesInput{
		NetworkInterfaceIds: []string{*other.NetworkInterfaces[0].NetworkInterfaceId},
	})
	wantCode(t, err, "InvalidNetworkInterfaceID.NotFound")
}

func TestDescribeSpotInstanceRequests(t *testing.T) {
	a := newAccount(t)
	spot := a.runOne(t, true)
	a.runOne(t, false)
	out, err := a.DescribeSpotInstanceRequests(t.Context(), &awsec2.DescribeSpotInstanceRequestsInput{})
	if err != nil || len(out.SpotInstanceRequests) != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	if seen := out.SpotInstanceRequests[0]; *seen.InstanceId != *spot.InstanceId ||
		*seen.SpotInstanceRequestId != *spot.SpotInstanceRequestId || seen.State != types.SpotInstanceStateActive ||
		*seen.Status.Code != "fulfilled" {
		t.Errorf("the request is %+v", seen)
	}
	_, err = a.DescribeSpotInstanceRequests(t.Context(), &awsec2.DescribeSpotInstanceRequestsInput{
		SpotInstanceRequestIds: []string{"sir-00000000"},
	})
	wantCode(t, err, "InvalidSpotInstanceRequestID.NotFound")
}

func TestModifySubnetAttribute(t *testing.T) {
	a := newAccount(t)
	id := a.subnet(t, "us-east-1a")
	for _, public := range []bool{true, false} {
		if _, err := a.ModifySubnetAttribute(t.Context(), &awsec2.ModifySubnetAttributeInput{
			SubnetId: &id, MapPublicIpOnLaunch: &types.AttributeBooleanValue{Value: &public},
		}); err != nil {
			t.Fatal(err)
		}
		out, err := a.DescribeSubnets(t.Context(), &awsec2.DescribeSubnetsInput{SubnetIds: []string{id}})
		if err != nil || *out.Subnets[0].MapPublicIpOnLaunch != public {
			t.Errorf("the subnet is %+v, %v", out, err)
		}
	}
	_, err := a.ModifySubnetAttribute(t.Context(), &awsec2.ModifySubnetAttributeInput{SubnetId: &id})
	wantCode(t, err, "InvalidParameterCombination")
}

func TestCopyImage(t *testing.T) {
	a := newAccount(t)
	in := &awsec2.CopyImageInput{
		Name: aws.String("mine"), SourceImageId: aws.String(a.image("arm64")), SourceRegion: aws.String("us-east-1"),
	}
	out, err := a.CopyImage(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if copied := a.describeImage(t, *out.ImageId); *copied.Name != "mine" || *copied.OwnerId != "123456789012" ||
		copied.Architecture != types.ArchitectureValuesArm64 || *copied.Public {
		t.Errorf("the copy is %+v", copied)
	}
	_, err = a.CopyImage(t.Context(), in)
	wantCode(t, err, "InvalidAMIName.Duplicate")
	in.Name, in.SourceImageId = aws.String("other"), aws.String("ami-00000000000000000")
	_, err = a.CopyImage(t.Context(), in)
	wantCode(t, err, "InvalidAMIID.NotFound")
}
