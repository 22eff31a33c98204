package fleet

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// ensureTemplate creates the launch template unless one of its name is there: a
// name stands for a content, so that what is there is right.
func (c *Client) ensureTemplate(ctx context.Context, content nodeclass.LaunchTemplate) error {
	if c.known(content.Name) {
		return nil
	}
	// Launches side by side often want the same one: the first makes it.
	c.making.Lock()
	defer c.making.Unlock()
	if c.known(content.Name) {
		return nil
	}
	_, err := c.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String(content.Name),
		LaunchTemplateData: templateData(content),
		TagSpecifications:  []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate, Tags: tagList(content.Tags)}},
	})
	if err != nil && !exists(err) {
		return fmt.Errorf("creating launch template %s: %w", content.Name, err)
	}
	c.remember(content.Name)
	return nil
}

func templateData(content nodeclass.LaunchTemplate) *types.RequestLaunchTemplateData {
	data := &types.RequestLaunchTemplateData{
		ImageId:             aws.String(content.ImageID),
		UserData:            aws.String(base64.StdEncoding.EncodeToString([]byte(content.UserData))),
		IamInstanceProfile:  &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String(content.InstanceProfile)},
		Monitoring:          &types.LaunchTemplatesMonitoringRequest{Enabled: aws.Bool(content.DetailedMonitoring)},
		BlockDeviceMappings: blockDevices(content.BlockDevices),
		MetadataOptions:     metadataOptions(content.MetadataOptions),
		TagSpecifications:   []types.LaunchTemplateTagSpecificationRequest{{ResourceType: types.ResourceTypeNetworkInterface, Tags: tagList(content.Tags)}},
	}
	if content.SpotRequest {
		data.TagSpecifications = append(data.TagSpecifications, types.LaunchTemplateTagSpecificationRequest{ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: tagList(content.Tags)})
	}
	if content.PublicIPAddress == nil {
		data.SecurityGroupIds = content.SecurityGroups
		return data
	}
	// A public address is a property of the interface, which then carries the groups.
	data.NetworkInterfaces = []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{
		DeviceIndex: aws.Int32(0), Groups: content.SecurityGroups, AssociatePublicIpAddress: content.PublicIPAddress,
	}}
	return data
}

func metadataOptions(options *api.MetadataOptions) *types.LaunchTemplateInstanceMetadataOptionsRequest {
	request := &types.LaunchTemplateInstanceMetadataOptionsRequest{InstanceMetadataTags: types.LaunchTemplateInstanceMetadataTagsStateDisabled}
	if options == nil {
		return request
	}
	request.HttpEndpoint = types.LaunchTemplateInstanceMetadataEndpointState(aws.ToString(options.HTTPEndpoint))
	request.HttpProtocolIpv6 = types.LaunchTemplateInstanceMetadataProtocolIpv6(aws.ToString(options.HTTPProtocolIPv6))
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
				// EC2 counts in GiB; a part of one is a whole one.
				request.Ebs.VolumeSize = aws.Int32(int32(math.Ceil(device.VolumeSize.AsApproximateFloat64() / (1 << 30))))
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
