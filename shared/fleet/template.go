package fleet

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// ensureTemplate creates the launch template, unless it exists. A template's name is derived from
// its content, so an existing template has the right content.
func (c *Client) ensureTemplate(ctx context.Context, content nodeclass.LaunchTemplate) error {
	if c.known(content.Name) {
		return nil
	}
	// Concurrent launches often need the same template. They share one call and its outcome.
	_, err, _ := c.making.Do(content.Name, func() (any, error) {
		if c.known(content.Name) {
			return nil, nil
		}
		return nil, c.createTemplate(ctx, content)
	})
	return err
}

func (c *Client) createTemplate(ctx context.Context, content nodeclass.LaunchTemplate) error {
	_, err := c.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String(content.Name),
		LaunchTemplateData: c.templateData(content),
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeLaunchTemplate, Tags: tagList(content.Tags)},
		},
	})
	if err != nil && !exists(err) {
		return fmt.Errorf("creating launch template %s: %w", content.Name, err)
	}
	c.remember(content.Name)
	return nil
}

func (c *Client) templateData(content nodeclass.LaunchTemplate) *types.RequestLaunchTemplateData {
	data := &types.RequestLaunchTemplateData{
		ImageId:  aws.String(content.ImageID),
		UserData: aws.String(base64.StdEncoding.EncodeToString([]byte(content.UserData))),
		IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{
			Name: aws.String(content.InstanceProfile),
		},
		Monitoring: &types.LaunchTemplatesMonitoringRequest{
			Enabled: aws.Bool(content.DetailedMonitoring),
		},
		BlockDeviceMappings:              blockDevices(content.BlockDevices),
		MetadataOptions:                  metadataOptions(content.MetadataOptions, c.ec2.Options().Region),
		NetworkInterfaces:                networkInterfaces(content),
		Placement:                        placement(content),
		CapacityReservationSpecification: reservation(content),
		TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{
			{ResourceType: types.ResourceTypeNetworkInterface, Tags: tagList(content.Tags)},
		},
	}
	if content.SpotRequest {
		data.TagSpecifications = append(data.TagSpecifications, types.LaunchTemplateTagSpecificationRequest{
			ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: tagList(content.Tags),
		})
	}
	if len(data.NetworkInterfaces) == 0 {
		data.SecurityGroupIds = content.SecurityGroups // otherwise the interfaces have them
	}
	if options := content.CPUOptions; options != nil && options.NestedVirtualization != nil {
		data.CpuOptions = &types.LaunchTemplateCpuOptionsRequest{
			NestedVirtualization: types.NestedVirtualizationSpecification(*options.NestedVirtualization),
		}
	}
	if content.Enclaves {
		data.EnclaveOptions = &types.LaunchTemplateEnclaveOptionsRequest{Enabled: aws.Bool(true)}
	}
	switch {
	case content.ReservationType == api.CapacityReservationTypeCapacityBlock:
		data.InstanceMarketOptions = &types.LaunchTemplateInstanceMarketOptionsRequest{
			MarketType: types.MarketTypeCapacityBlock,
		}
	case content.Interruptible:
		data.InstanceMarketOptions = &types.LaunchTemplateInstanceMarketOptionsRequest{
			MarketType: types.MarketTypeInterruptibleCapacityReservation,
		}
	}
	return data
}

// reservation restricts the instance to its reservation. Without a reservation it excludes all of
// them, including open ones that would match.
func reservation(content nodeclass.LaunchTemplate) *types.LaunchTemplateCapacityReservationSpecificationRequest {
	if content.ReservationID == "" {
		return &types.LaunchTemplateCapacityReservationSpecificationRequest{
			CapacityReservationPreference: types.CapacityReservationPreferenceNone,
		}
	}
	return &types.LaunchTemplateCapacityReservationSpecificationRequest{
		CapacityReservationPreference: types.CapacityReservationPreferenceCapacityReservationsOnly,
		CapacityReservationTarget: &types.CapacityReservationTarget{
			CapacityReservationId: aws.String(content.ReservationID),
		},
	}
}

func placement(content nodeclass.LaunchTemplate) *types.LaunchTemplatePlacementRequest {
	if content.Tenancy == "" && content.PlacementGroup == "" {
		return nil
	}
	request := &types.LaunchTemplatePlacementRequest{Tenancy: types.Tenancy(content.Tenancy)}
	if content.PlacementGroup != "" {
		request.GroupId = aws.String(content.PlacementGroup)
	}
	if content.Partition > 0 {
		request.PartitionNumber = aws.Int32(int32(content.Partition))
	}
	return request
}

func networkInterfaces(
	content nodeclass.LaunchTemplate,
) []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest {
	var requests []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest
	for _, wanted := range content.NetworkInterfaces {
		request := types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{
			NetworkCardIndex:         aws.Int32(int32(wanted.NetworkCard)),
			DeviceIndex:              aws.Int32(int32(wanted.Device)),
			InterfaceType:            aws.String(wanted.Type),
			Groups:                   content.SecurityGroups,
			AssociatePublicIpAddress: wanted.PublicAddress,
			Ipv4PrefixCount:          wanted.IPv4Prefixes,
			Ipv6PrefixCount:          wanted.IPv6Prefixes,
		}
		if wanted.PrimaryIPv6 {
			request.PrimaryIpv6, request.Ipv6AddressCount = aws.Bool(true), aws.Int32(1)
		}
		if tracking := wanted.ConnectionTracking; tracking != nil {
			request.ConnectionTrackingSpecification = &types.ConnectionTrackingSpecificationRequest{
				TcpEstablishedTimeout: tracking.TCPEstablishedTimeout, UdpStreamTimeout: tracking.UDPStreamTimeout,
				UdpTimeout: tracking.UDPTimeout,
			}
		}
		requests = append(requests, request)
	}
	return requests
}

// knowsIPv6Metadata reports whether EC2 in the region accepts HttpProtocolIpv6. The isolated
// partitions do not.
func knowsIPv6Metadata(region string) bool {
	for _, isolated := range []string{"us-iso-", "us-isob-", "us-isof-"} {
		if strings.HasPrefix(region, isolated) {
			return false
		}
	}
	return true
}

func metadataOptions(options *api.MetadataOptions, region string) *types.LaunchTemplateInstanceMetadataOptionsRequest {
	request := &types.LaunchTemplateInstanceMetadataOptionsRequest{
		InstanceMetadataTags: types.LaunchTemplateInstanceMetadataTagsStateDisabled,
	}
	if options == nil {
		return request
	}
	request.HttpEndpoint = types.LaunchTemplateInstanceMetadataEndpointState(aws.ToString(options.HTTPEndpoint))
	if knowsIPv6Metadata(region) {
		request.HttpProtocolIpv6 = types.LaunchTemplateInstanceMetadataProtocolIpv6(aws.ToString(options.HTTPProtocolIPv6))
	}
	request.HttpTokens = types.LaunchTemplateHttpTokensState(aws.ToString(options.HTTPTokens))
	if options.HTTPPutResponseHopLimit != nil {
		request.HttpPutResponseHopLimit = aws.Int32(int32(*options.HTTPPutResponseHopLimit))
	}
	return request
}

func blockDevices(mappings []*api.BlockDeviceMapping) []types.LaunchTemplateBlockDeviceMappingRequest {
	var requests []types.LaunchTemplateBlockDeviceMappingRequest
	for _, mapping := range mappings {
		request := types.LaunchTemplateBlockDeviceMappingRequest{DeviceName: mapping.DeviceName}
		if device := mapping.EBS; device != nil {
			request.Ebs = &types.LaunchTemplateEbsBlockDeviceRequest{
				DeleteOnTermination:      device.DeleteOnTermination,
				Encrypted:                device.Encrypted,
				KmsKeyId:                 device.KMSKeyID,
				SnapshotId:               device.SnapshotID,
				VolumeType:               types.VolumeType(aws.ToString(device.VolumeType)),
				VolumeInitializationRate: device.VolumeInitializationRate,
				Iops:                     narrow(device.IOPS),
				Throughput:               narrow(device.Throughput),
			}
			if device.VolumeSize != nil {
				request.Ebs.VolumeSize = aws.Int32(int32(nodeclass.WholeGiB(*device.VolumeSize)))
			}
		}
		requests = append(requests, request)
	}
	return requests
}

func narrow(value *int64) *int32 {
	if value == nil {
		return nil
	}
	return aws.Int32(int32(*value))
}
