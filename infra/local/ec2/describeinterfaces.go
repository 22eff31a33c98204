package ec2

import (
	"strconv"
	"time"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

// attachedInterface is a network interface with its instance and its place there.
type attachedInterface struct {
	xml      interfaceXML
	instance *instance
}

// describeNetworkInterfaces describes the interfaces of instances. The local EC2 has no others.
func (s *Service) describeNetworkInterfaces(_ *wire.Call, in *describeNetworkInterfacesRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := pick(s.interfaces(), in.NetworkInterfaceIDs,
		func(n attachedInterface) string { return n.xml.NetworkInterfaceID }, "InvalidNetworkInterfaceID.NotFound",
		"networkInterface ID")
	if err == nil {
		found, err = matching(found, in.Filters, interfaceFilters(),
			func(attachedInterface) map[string]string { return nil })
	}
	if err != nil {
		return nil, err
	}
	page, next, err := paginate(found, in.MaxResults, in.NextToken, manyResults)
	if err != nil {
		return nil, err
	}
	out := &describeNetworkInterfacesResult{NextToken: next}
	for _, n := range page {
		out.NetworkInterfaces.Items = append(out.NetworkInterfaces.Items, n.describe())
	}
	return out, nil
}

// interfaces are those of all instances that have not ended.
func (s *Service) interfaces() []attachedInterface {
	var all []attachedInterface
	for _, i := range s.sorted(func(i *instance) bool { return !i.ending() }) {
		for at := range i.interfaces {
			all = append(all, attachedInterface{s.describeInterface(i, at), i})
		}
	}
	return all
}

// interfaceFilters are those of
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeNetworkInterfaces.html that
// mean something here.
func interfaceFilters() fields[attachedInterface] {
	return fields[attachedInterface]{
		"attachment.instance-id": func(n attachedInterface) []string { return one(n.instance.ID) },
		"attachment.device-index": func(n attachedInterface) []string {
			return one(strconv.Itoa(n.xml.Attachment.DeviceIndex))
		},
		"attachment.status": func(n attachedInterface) []string { return one(n.xml.Attachment.Status) },
		"availability-zone": func(n attachedInterface) []string { return one(n.instance.Zone) },
		"group-id": func(n attachedInterface) []string {
			var ids []string
			for _, group := range n.xml.Groups.Items {
				ids = append(ids, group.ID)
			}
			return ids
		},
		"interface-type":       func(n attachedInterface) []string { return one(n.xml.InterfaceType) },
		"mac-address":          func(n attachedInterface) []string { return one(n.xml.MacAddress) },
		"network-interface-id": func(n attachedInterface) []string { return one(n.xml.NetworkInterfaceID) },
		"owner-id":             func(n attachedInterface) []string { return one(n.xml.OwnerID) },
		"private-ip-address":   func(n attachedInterface) []string { return one(n.xml.PrivateIPAddress) },
		"addresses.private-ip-address": func(n attachedInterface) []string {
			var all []string
			for _, address := range n.xml.Addresses.Items {
				all = append(all, address.PrivateIPAddress)
			}
			return all
		},
		"status":    func(n attachedInterface) []string { return one(n.xml.Status) },
		"subnet-id": func(n attachedInterface) []string { return one(n.xml.SubnetID) },
		"vpc-id":    func(n attachedInterface) []string { return one(n.xml.VpcID) },
	}
}

func (n attachedInterface) describe() networkInterfaceXML {
	x := networkInterfaceXML{
		NetworkInterfaceID: n.xml.NetworkInterfaceID, SubnetID: n.xml.SubnetID, VpcID: n.xml.VpcID,
		AvailabilityZone: n.instance.Zone, OwnerID: n.xml.OwnerID, Status: n.xml.Status, MacAddress: n.xml.MacAddress,
		PrivateIPAddress: n.xml.PrivateIPAddress, PrivateDNSName: n.xml.PrivateDNSName,
		SourceDestCheck: n.xml.SourceDestCheck, InterfaceType: n.xml.InterfaceType, Groups: n.xml.Groups,
		Attachment: networkInterfaceAttachmentXML{
			AttachmentID: n.xml.Attachment.AttachmentID, InstanceID: n.instance.ID, InstanceOwnerID: n.xml.OwnerID,
			DeviceIndex: n.xml.Attachment.DeviceIndex, NetworkCardIndex: n.xml.Attachment.NetworkCardIndex,
			Status: n.xml.Attachment.Status, AttachTime: n.xml.Attachment.AttachTime, DeleteOnTermination: true,
		},
	}
	for _, address := range n.xml.Addresses.Items {
		x.Addresses.Items = append(x.Addresses.Items,
			networkInterfaceAddressXML{address.PrivateIPAddress, address.PrivateDNSName, address.Primary})
	}
	return x
}

// describeSpotInstanceRequests describes the requests behind spot instances. A fleet makes no other
// requests here.
func (s *Service) describeSpotInstanceRequests(
	_ *wire.Call, in *describeSpotInstanceRequestsRequest,
) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	spot := s.sorted(func(i *instance) bool { return i.CapacityType == Spot })
	found, err := pick(spot, in.SpotInstanceRequestIDs, spotRequestID, "InvalidSpotInstanceRequestID.NotFound",
		"spot instance request ID")
	if err == nil {
		found, err = matching(found, in.Filters, fields[*instance]{
			"instance-id":                func(i *instance) []string { return one(i.ID) },
			"launch.instance-type":       func(i *instance) []string { return one(i.InstanceType) },
			"launched-availability-zone": func(i *instance) []string { return one(i.Zone) },
			"spot-instance-request-id":   func(i *instance) []string { return one(spotRequestID(i)) },
			"state":                      func(i *instance) []string { return one(spotRequestState(i)) },
			"type":                       func(*instance) []string { return one("one-time") },
		}, instanceTags)
	}
	if err != nil {
		return nil, err
	}
	page, next, err := paginate(found, in.MaxResults, in.NextToken, manyResults)
	if err != nil {
		return nil, err
	}
	out := &describeSpotInstanceRequestsResult{NextToken: next}
	for _, i := range page {
		x := spotRequestXML{
			SpotInstanceRequestID: spotRequestID(i), State: spotRequestState(i), Type: "one-time", InstanceID: i.ID,
			CreateTime: timestamp(i.Launched), ProductDescription: "Linux/UNIX", LaunchedAvailabilityZone: i.Zone,
			Status: spotStatusXML{"fulfilled", "Your spot request is fulfilled.", timestamp(i.Launched)},
		}
		if i.ending() {
			x.Status.Code, x.Status.Message = "instance-terminated-by-user", "Spot Instance terminated due to user action."
		}
		out.SpotInstanceRequests.Items = append(out.SpotInstanceRequests.Items, x)
	}
	return out, nil
}

func spotRequestState(i *instance) string {
	if i.ending() {
		return "closed"
	}
	return "active"
}

// modifySubnetAttribute changes whether instances in the subnet get a public address.
func (s *Service) modifySubnetAttribute(_ *wire.Call, in *modifySubnetAttributeRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := pick(s.vpc.subnets, []string{in.SubnetID}, func(n *subnet) string { return n.id },
		"InvalidSubnetID.NotFound", "subnet ID")
	if err != nil {
		return nil, err
	}
	if in.MapPublicIPOnLaunch == nil {
		return nil, refuse(codeInvalidParameterCombination,
			"No attributes specified: the local EC2 holds MapPublicIpOnLaunch alone.")
	}
	found[0].public = in.MapPublicIPOnLaunch.Value
	return &returned{true}, nil
}

// copyImage makes an image of the account's own from another one of the region.
func (s *Service) copyImage(_ *wire.Call, in *copyImageRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case in.Name == "":
		return nil, missing("name")
	case in.SourceRegion != s.config.Region:
		return nil, invalidValue(in.SourceRegion, "sourceRegion", "The local EC2 has images of its own region alone.")
	}
	source, known := s.images[in.SourceImageID]
	if !known {
		return nil, refuse("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", in.SourceImageID)
	}
	made := *source
	made.Name, made.Tags, made.Public, made.Deprecated = in.Name, map[string]string{}, false, time.Time{}
	if in.Description != "" {
		made.Description = in.Description
	}
	if in.CopyImageTags {
		made.Tags = source.Tags
	}
	id, err := s.addImage(made)
	if err != nil {
		return nil, refuse("InvalidAMIName.Duplicate", "%v", err)
	}
	return &copyImageResult{ImageID: id}, nil
}
