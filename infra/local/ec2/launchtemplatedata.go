package ec2

// launchTemplateData is what a launch template says of its instances. Its tags are the names of the query form, of the XML answer and of
// CloudFormation. What is not in it is refused, see decode.
type launchTemplateData struct {
	ImageID                          string                         `query:"ImageId" xml:"imageId,omitempty" json:"ImageId,omitempty"`
	InstanceType                     string                         `query:"InstanceType" xml:"instanceType,omitempty" json:"InstanceType,omitempty"`
	KeyName                          string                         `query:"KeyName" xml:"keyName,omitempty" json:"KeyName,omitempty"`
	EbsOptimized                     *bool                          `query:"EbsOptimized" xml:"ebsOptimized" json:"EbsOptimized,omitempty"`
	UserData                         string                         `query:"UserData" xml:"userData,omitempty" json:"UserData,omitempty"`
	IamInstanceProfile               *instanceProfileRef            `query:"IamInstanceProfile" xml:"iamInstanceProfile" json:"IamInstanceProfile,omitempty"`
	BlockDeviceMappings              []blockDeviceMapping           `query:"BlockDeviceMapping" xml:"blockDeviceMappingSet>item" json:"BlockDeviceMappings,omitempty"`
	NetworkInterfaces                []networkInterface             `query:"NetworkInterface" xml:"networkInterfaceSet>item" json:"NetworkInterfaces,omitempty"`
	SecurityGroupIDs                 []string                       `query:"SecurityGroupId" xml:"securityGroupIdSet>item" json:"SecurityGroupIds,omitempty"`
	SecurityGroups                   []string                       `query:"SecurityGroup" xml:"securityGroupSet>item" json:"SecurityGroups,omitempty"`
	Monitoring                       *enabled                       `query:"Monitoring" xml:"monitoring" json:"Monitoring,omitempty"`
	Placement                        *placement                     `query:"Placement" xml:"placement" json:"Placement,omitempty"`
	TagSpecifications                []tagSpecification             `query:"TagSpecification" xml:"tagSpecificationSet>item" json:"TagSpecifications,omitempty"`
	MetadataOptions                  *metadataOptions               `query:"MetadataOptions" xml:"metadataOptions" json:"MetadataOptions,omitempty"`
	CPUOptions                       *cpuOptions                    `query:"CpuOptions" xml:"cpuOptions" json:"CpuOptions,omitempty"`
	CreditSpecification              *creditSpecification           `query:"CreditSpecification" xml:"creditSpecification" json:"CreditSpecification,omitempty"`
	CapacityReservationSpecification *capacityReservationPreference `query:"CapacityReservationSpecification" xml:"capacityReservationSpecification" json:"CapacityReservationSpecification,omitempty"`
	InstanceMarketOptions            *marketOptions                 `query:"InstanceMarketOptions" xml:"instanceMarketOptions" json:"InstanceMarketOptions,omitempty"`
	EnclaveOptions                   *enabled                       `query:"EnclaveOptions" xml:"enclaveOptions" json:"EnclaveOptions,omitempty"`
	PrivateDNSNameOptions            *privateDNSNameOptions         `query:"PrivateDnsNameOptions" xml:"privateDnsNameOptions" json:"PrivateDnsNameOptions,omitempty"`
	DisableAPITermination            *bool                          `query:"DisableApiTermination" xml:"disableApiTermination" json:"DisableApiTermination,omitempty"`
	DisableAPIStop                   *bool                          `query:"DisableApiStop" xml:"disableApiStop" json:"DisableApiStop,omitempty"`
	InitiatedShutdownBehavior        string                         `query:"InstanceInitiatedShutdownBehavior" xml:"instanceInitiatedShutdownBehavior,omitempty" json:"InstanceInitiatedShutdownBehavior,omitempty"`
}

// instanceProfileRef names an instance profile by one of the two.
type instanceProfileRef struct {
	ARN  string `query:"Arn" xml:"arn,omitempty" json:"Arn,omitempty"`
	Name string `query:"Name" xml:"name,omitempty" json:"Name,omitempty"`
}

type enabled struct {
	Enabled bool `query:"Enabled" xml:"enabled" json:"Enabled"`
}

type blockDeviceMapping struct {
	DeviceName  string     `query:"DeviceName" xml:"deviceName,omitempty" json:"DeviceName,omitempty"`
	VirtualName string     `query:"VirtualName" xml:"virtualName,omitempty" json:"VirtualName,omitempty"`
	NoDevice    string     `query:"NoDevice" xml:"noDevice,omitempty" json:"NoDevice,omitempty"`
	Ebs         *ebsVolume `query:"Ebs" xml:"ebs" json:"Ebs,omitempty"`
}

type ebsVolume struct {
	Encrypted                *bool  `query:"Encrypted" xml:"encrypted" json:"Encrypted,omitempty"`
	DeleteOnTermination      *bool  `query:"DeleteOnTermination" xml:"deleteOnTermination" json:"DeleteOnTermination,omitempty"`
	Iops                     *int   `query:"Iops" xml:"iops" json:"Iops,omitempty"`
	Throughput               *int   `query:"Throughput" xml:"throughput" json:"Throughput,omitempty"`
	KmsKeyID                 string `query:"KmsKeyId" xml:"kmsKeyId,omitempty" json:"KmsKeyId,omitempty"`
	SnapshotID               string `query:"SnapshotId" xml:"snapshotId,omitempty" json:"SnapshotId,omitempty"`
	VolumeInitializationRate *int   `query:"VolumeInitializationRate" xml:"volumeInitializationRate" json:"VolumeInitializationRate,omitempty"`
	VolumeSize               *int   `query:"VolumeSize" xml:"volumeSize" json:"VolumeSize,omitempty"`
	VolumeType               string `query:"VolumeType" xml:"volumeType,omitempty" json:"VolumeType,omitempty"`
}

type networkInterface struct {
	AssociatePublicIPAddress        *bool               `query:"AssociatePublicIpAddress" xml:"associatePublicIpAddress" json:"AssociatePublicIpAddress,omitempty"`
	DeleteOnTermination             *bool               `query:"DeleteOnTermination" xml:"deleteOnTermination" json:"DeleteOnTermination,omitempty"`
	Description                     string              `query:"Description" xml:"description,omitempty" json:"Description,omitempty"`
	DeviceIndex                     *int                `query:"DeviceIndex" xml:"deviceIndex" json:"DeviceIndex,omitempty"`
	Groups                          []string            `query:"SecurityGroupId" xml:"groupSet>groupId" json:"Groups,omitempty"`
	InterfaceType                   string              `query:"InterfaceType" xml:"interfaceType,omitempty" json:"InterfaceType,omitempty"`
	Ipv4PrefixCount                 *int                `query:"Ipv4PrefixCount" xml:"ipv4PrefixCount" json:"Ipv4PrefixCount,omitempty"`
	Ipv6AddressCount                *int                `query:"Ipv6AddressCount" xml:"ipv6AddressCount" json:"Ipv6AddressCount,omitempty"`
	Ipv6PrefixCount                 *int                `query:"Ipv6PrefixCount" xml:"ipv6PrefixCount" json:"Ipv6PrefixCount,omitempty"`
	NetworkCardIndex                *int                `query:"NetworkCardIndex" xml:"networkCardIndex" json:"NetworkCardIndex,omitempty"`
	PrimaryIpv6                     *bool               `query:"PrimaryIpv6" xml:"primaryIpv6" json:"PrimaryIpv6,omitempty"`
	SecondaryPrivateIPAddressCount  *int                `query:"SecondaryPrivateIpAddressCount" xml:"secondaryPrivateIpAddressCount" json:"SecondaryPrivateIpAddressCount,omitempty"`
	SubnetID                        string              `query:"SubnetId" xml:"subnetId,omitempty" json:"SubnetId,omitempty"`
	ConnectionTrackingSpecification *connectionTracking `query:"ConnectionTrackingSpecification" xml:"connectionTrackingSpecification" json:"ConnectionTrackingSpecification,omitempty"`
}

type connectionTracking struct {
	TCPEstablishedTimeout *int `query:"TcpEstablishedTimeout" xml:"tcpEstablishedTimeout" json:"TcpEstablishedTimeout,omitempty"`
	UDPStreamTimeout      *int `query:"UdpStreamTimeout" xml:"udpStreamTimeout" json:"UdpStreamTimeout,omitempty"`
	UDPTimeout            *int `query:"UdpTimeout" xml:"udpTimeout" json:"UdpTimeout,omitempty"`
}

type placement struct {
	AvailabilityZone   string `query:"AvailabilityZone" xml:"availabilityZone,omitempty" json:"AvailabilityZone,omitempty"`
	AvailabilityZoneID string `query:"AvailabilityZoneId" xml:"availabilityZoneId,omitempty" json:"AvailabilityZoneId,omitempty"`
	Tenancy            string `query:"Tenancy" xml:"tenancy,omitempty" json:"Tenancy,omitempty"`
	GroupID            string `query:"GroupId" xml:"groupId,omitempty" json:"GroupId,omitempty"`
	GroupName          string `query:"GroupName" xml:"groupName,omitempty" json:"GroupName,omitempty"`
	PartitionNumber    *int   `query:"PartitionNumber" xml:"partitionNumber" json:"PartitionNumber,omitempty"`
}

type tagSpecification struct {
	ResourceType string   `query:"ResourceType" xml:"resourceType" json:"ResourceType"`
	Tags         []tagXML `query:"Tag" xml:"tagSet>item" json:"Tags"`
}

type metadataOptions struct {
	HTTPTokens              string `query:"HttpTokens" xml:"httpTokens,omitempty" json:"HttpTokens,omitempty"`
	HTTPPutResponseHopLimit *int   `query:"HttpPutResponseHopLimit" xml:"httpPutResponseHopLimit" json:"HttpPutResponseHopLimit,omitempty"`
	HTTPEndpoint            string `query:"HttpEndpoint" xml:"httpEndpoint,omitempty" json:"HttpEndpoint,omitempty"`
	HTTPProtocolIpv6        string `query:"HttpProtocolIpv6" xml:"httpProtocolIpv6,omitempty" json:"HttpProtocolIpv6,omitempty"`
	InstanceMetadataTags    string `query:"InstanceMetadataTags" xml:"instanceMetadataTags,omitempty" json:"InstanceMetadataTags,omitempty"`
}

type cpuOptions struct {
	CoreCount            *int   `query:"CoreCount" xml:"coreCount" json:"CoreCount,omitempty"`
	ThreadsPerCore       *int   `query:"ThreadsPerCore" xml:"threadsPerCore" json:"ThreadsPerCore,omitempty"`
	AmdSevSnp            string `query:"AmdSevSnp" xml:"amdSevSnp,omitempty" json:"AmdSevSnp,omitempty"`
	NestedVirtualization string `query:"NestedVirtualization" xml:"nestedVirtualization,omitempty" json:"NestedVirtualization,omitempty"`
}

type creditSpecification struct {
	CPUCredits string `query:"CpuCredits" xml:"cpuCredits" json:"CpuCredits"`
}

type capacityReservationPreference struct {
	Preference string                     `query:"CapacityReservationPreference" xml:"capacityReservationPreference,omitempty" json:"CapacityReservationPreference,omitempty"`
	Target     *capacityReservationTarget `query:"CapacityReservationTarget" xml:"capacityReservationTarget" json:"CapacityReservationTarget,omitempty"`
}

type capacityReservationTarget struct {
	ID               string `query:"CapacityReservationId" xml:"capacityReservationId,omitempty" json:"CapacityReservationId,omitempty"`
	ResourceGroupARN string `query:"CapacityReservationResourceGroupArn" xml:"capacityReservationResourceGroupArn,omitempty" json:"CapacityReservationResourceGroupArn,omitempty"`
}

type marketOptions struct {
	MarketType  string             `query:"MarketType" xml:"marketType,omitempty" json:"MarketType,omitempty"`
	SpotOptions *spotMarketOptions `query:"SpotOptions" xml:"spotOptions" json:"SpotOptions,omitempty"`
}

type spotMarketOptions struct {
	MaxPrice             string `query:"MaxPrice" xml:"maxPrice,omitempty" json:"MaxPrice,omitempty"`
	SpotInstanceType     string `query:"SpotInstanceType" xml:"spotInstanceType,omitempty" json:"SpotInstanceType,omitempty"`
	InterruptionBehavior string `query:"InstanceInterruptionBehavior" xml:"instanceInterruptionBehavior,omitempty" json:"InstanceInterruptionBehavior,omitempty"`
}

type privateDNSNameOptions struct {
	HostnameType                    string `query:"HostnameType" xml:"hostnameType,omitempty" json:"HostnameType,omitempty"`
	EnableResourceNameDNSARecord    *bool  `query:"EnableResourceNameDnsARecord" xml:"enableResourceNameDnsARecord" json:"EnableResourceNameDnsARecord,omitempty"`
	EnableResourceNameDNSAAAARecord *bool  `query:"EnableResourceNameDnsAAAARecord" xml:"enableResourceNameDnsAAAARecord" json:"EnableResourceNameDnsAAAARecord,omitempty"`
}

// securityGroups are the template's groups, wherever it names them.
func (d *launchTemplateData) securityGroups() []string {
	groups := append(append([]string{}, d.SecurityGroupIDs...), d.SecurityGroups...)
	for _, n := range d.NetworkInterfaces {
		groups = append(groups, n.Groups...)
	}
	return groups
}

// overlaid is the data with what a call says instead.
func (d launchTemplateData) overlaid(over launchTemplateData) launchTemplateData {
	setText(&d.ImageID, over.ImageID)
	setText(&d.InstanceType, over.InstanceType)
	setText(&d.KeyName, over.KeyName)
	setText(&d.UserData, over.UserData)
	setText(&d.InitiatedShutdownBehavior, over.InitiatedShutdownBehavior)
	setPointer(&d.EbsOptimized, over.EbsOptimized)
	setPointer(&d.IamInstanceProfile, over.IamInstanceProfile)
	setPointer(&d.Monitoring, over.Monitoring)
	setPointer(&d.Placement, over.Placement)
	setPointer(&d.MetadataOptions, over.MetadataOptions)
	setPointer(&d.CPUOptions, over.CPUOptions)
	setPointer(&d.CreditSpecification, over.CreditSpecification)
	setPointer(&d.CapacityReservationSpecification, over.CapacityReservationSpecification)
	setPointer(&d.InstanceMarketOptions, over.InstanceMarketOptions)
	setPointer(&d.EnclaveOptions, over.EnclaveOptions)
	setPointer(&d.PrivateDNSNameOptions, over.PrivateDNSNameOptions)
	setPointer(&d.DisableAPITermination, over.DisableAPITermination)
	setPointer(&d.DisableAPIStop, over.DisableAPIStop)
	setList(&d.BlockDeviceMappings, over.BlockDeviceMappings)
	setList(&d.NetworkInterfaces, over.NetworkInterfaces)
	setList(&d.SecurityGroupIDs, over.SecurityGroupIDs)
	setList(&d.SecurityGroups, over.SecurityGroups)
	// Tags of a call add to those of the template.
	d.TagSpecifications = append(append([]tagSpecification{}, d.TagSpecifications...), over.TagSpecifications...)
	return d
}

func setText(to *string, from string) {
	if from != "" {
		*to = from
	}
}

func setPointer[T any](to **T, from *T) {
	if from != nil {
		*to = from
	}
}

func setList[T any](to *[]T, from []T) {
	if len(from) > 0 {
		*to = from
	}
}
