package ec2

import (
	"strings"
)

func setNumber(to *int, from *int) {
	if from != nil {
		*to = *from
	}
}

func describeState(state State) stateXML { return stateXML{state.code(), string(state)} }

func (s *Service) describeInstance(i *instance) instanceXML {
	x := instanceXML{
		InstanceID: i.ID, ImageID: i.ImageID, State: describeState(i.State), KeyName: i.data.KeyName,
		AmiLaunchIndex: i.launchIndex,
		InstanceType:   i.InstanceType, LaunchTime: timestamp(i.Launched), Placement: describePlacement(i),
		Monitoring: monitoringXML{"disabled"}, Architecture: i.Architecture, ClientToken: i.clientToken, EnaSupport: true,
		Hypervisor:   "xen",
		EbsOptimized: i.Facts.EBS.OptimizedSupport == "default", RootDeviceName: i.Image.root().Name, RootDeviceType: "ebs",
		SourceDestCheck: true,
		Tags:            tagSet(i.Tags), VirtualizationType: "hvm",
		CPUOptions: cpuOptionsXML{CoreCount: i.Facts.CoresDefault, ThreadsPerCore: i.Facts.ThreadsPerCore},
		Platform:   i.Image.Platform, PlatformDetails: platformDetails(&i.Image), UsageOperation: usageOperation(&i.Image),
	}
	if i.data.Monitoring != nil && i.data.Monitoring.Enabled {
		x.Monitoring.State = "enabled"
	}
	x.CapacityReservationID, x.EnclaveOptions = i.CapacityReservationID, i.data.EnclaveOptions
	if options := i.data.CPUOptions; options != nil {
		setNumber(&x.CPUOptions.CoreCount, options.CoreCount)
		setNumber(&x.CPUOptions.ThreadsPerCore, options.ThreadsPerCore)
		x.CPUOptions.AmdSevSnp, x.CPUOptions.NestedVirtualization = options.AmdSevSnp, options.NestedVirtualization
	}
	if i.CapacityType != OnDemand {
		x.InstanceLifecycle = i.CapacityType
	}
	if i.CapacityType == Spot {
		x.SpotInstanceRequestID = spotRequestID(i)
	}
	if i.InstanceProfileARN != "" {
		x.IamInstanceProfile = &profileXML{i.InstanceProfileARN, i.profileID}
	}
	if i.State == Pending {
		x.StateReason = &stateReasonXML{"pending", "pending"}
	}
	if i.Reason != "" && i.State != Running && i.State != Pending {
		x.Reason, x.StateReason = i.reasonMessage, &stateReasonXML{i.Reason, i.reasonMessage}
	}
	x.MetadataOptions = describeMetadata(i)
	if i.data.CapacityReservationSpecification != nil {
		x.CapacityReservation = &reservationPrefXML{
			i.data.CapacityReservationSpecification.Preference, i.data.CapacityReservationSpecification.Target,
		}
	}
	if i.ending() {
		return x // an instance that is going has no network any more
	}
	s.describeAttached(i, &x)
	return x
}

// describeMetadata adds EC2's defaults to a launch's metadata options.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceMetadataOptionsResponse.html
func describeMetadata(i *instance) *instanceMetadata {
	x := &instanceMetadata{State: "applied"}
	if i.State == Pending {
		x.State = "pending"
	}
	if i.data.MetadataOptions != nil {
		x.metadataOptions = *i.data.MetadataOptions
	}
	hops := 1
	if x.HTTPPutResponseHopLimit == nil {
		x.HTTPPutResponseHopLimit = &hops
	}
	setDefault(&x.HTTPTokens, "optional")
	setDefault(&x.HTTPEndpoint, "enabled")
	setDefault(&x.HTTPProtocolIpv6, "disabled")
	setDefault(&x.InstanceMetadataTags, "disabled")
	return x
}

// describeAttached adds network and volumes.
func (s *Service) describeAttached(i *instance, x *instanceXML) {
	x.SubnetID, x.VpcID, x.PrivateIPAddress = i.SubnetID, s.vpc.id, i.PrivateIPAddress
	if s.nameKnown(i) {
		x.PrivateDNSName = i.PrivateDNSName
	}
	for _, id := range i.securityGroups {
		x.SecurityGroups.Items = append(x.SecurityGroups.Items, groupXML{id, s.groupName(id)})
	}
	for at := range i.interfaces {
		x.NetworkInterfaces.Items = append(x.NetworkInterfaces.Items, s.describeInterface(i, at))
	}
	if i.interfaces[0].public {
		x.PublicIPAddress = publicAddress(i)
		x.PublicDNSName = "ec2-" + strings.ReplaceAll(x.PublicIPAddress, ".", "-") + ".compute-1.amazonaws.com"
	}
	for _, v := range i.volumes {
		a := attachmentXML{DeviceName: v.device}
		a.Ebs.VolumeID, a.Ebs.Status, a.Ebs.AttachTime, a.Ebs.DeleteOnTermination = v.id, "attached", timestamp(v.created),
			v.deleteOnTermination
		x.BlockDeviceMappings.Items = append(x.BlockDeviceMappings.Items, a)
	}
}

func (s *Service) groupName(id string) string {
	if g := s.vpc.group(id); g != nil {
		return g.name
	}
	return ""
}

// spotRequestID is the id of the request that launched a spot instance.
func spotRequestID(i *instance) string {
	return strings.Replace(derivedID("sir", i.ID), "sir-0", "sir-", 1)[:12]
}
