// Code generated from AWS's service model by servicemodel; DO NOT EDIT.

package ec2

import "time"

type (
	terminateInstancesRequest struct {
		InstanceIDs    []string `query:"InstanceId"`
		Force          bool     `query:"Force"`
		SkipOSShutdown bool     `query:"SkipOsShutdown"`
	}
	stopInstancesRequest struct {
		InstanceIDs    []string `query:"InstanceId"`
		Force          bool     `query:"Force"`
		Hibernate      bool     `query:"Hibernate"`
		SkipOSShutdown bool     `query:"SkipOsShutdown"`
	}
	startInstancesRequest struct {
		InstanceIDs []string `query:"InstanceId"`
	}
	rebootInstancesRequest struct {
		InstanceIDs []string `query:"InstanceId"`
	}
	instanceStateChangeXML struct {
		InstanceID    string   `xml:"instanceId"`
		CurrentState  stateXML `xml:"currentState"`
		PreviousState stateXML `xml:"previousState"`
	}
	instanceStateChanges struct {
		Instances set[instanceStateChangeXML] `xml:"instancesSet"`
	}
	describeImagesRequest struct {
		ImageIDs          []string `query:"ImageId"`
		Owners            []string `query:"Owner"`
		ExecutableUsers   []string `query:"ExecutableBy"`
		IncludeDeprecated bool     `query:"IncludeDeprecated"`
		IncludeDisabled   bool     `query:"IncludeDisabled"`
		Filters           []filter `query:"Filter"`
		MaxResults        *int     `query:"MaxResults"`
		NextToken         string   `query:"NextToken"`
	}
	imageXML struct {
		ImageID             string              `xml:"imageId"`
		ImageLocation       string              `xml:"imageLocation"`
		State               string              `xml:"imageState"`
		OwnerID             string              `xml:"imageOwnerId"`
		OwnerAlias          string              `xml:"imageOwnerAlias,omitempty"`
		CreationDate        string              `xml:"creationDate"`
		DeprecationTime     string              `xml:"deprecationTime,omitempty"`
		Public              bool                `xml:"isPublic"`
		Architecture        string              `xml:"architecture"`
		ImageType           string              `xml:"imageType"`
		Name                string              `xml:"name"`
		Description         string              `xml:"description,omitempty"`
		Platform            string              `xml:"platform,omitempty"`
		PlatformDetails     string              `xml:"platformDetails"`
		UsageOperation      string              `xml:"usageOperation"`
		EnaSupport          bool                `xml:"enaSupport"`
		Hypervisor          string              `xml:"hypervisor"`
		RootDeviceName      string              `xml:"rootDeviceName"`
		RootDeviceType      string              `xml:"rootDeviceType"`
		VirtualizationType  string              `xml:"virtualizationType"`
		BootMode            string              `xml:"bootMode,omitempty"`
		ImdsSupport         string              `xml:"imdsSupport,omitempty"`
		BlockDeviceMappings set[blockDeviceXML] `xml:"blockDeviceMapping"`
		Tags                set[tagXML]         `xml:"tagSet"`
	}
	blockDeviceXML struct {
		DeviceName string         `xml:"deviceName"`
		Ebs        imageVolumeXML `xml:"ebs"`
	}
	imageVolumeXML struct {
		SnapshotID          string `xml:"snapshotId"`
		DeleteOnTermination bool   `xml:"deleteOnTermination"`
		VolumeSize          int    `xml:"volumeSize"`
		VolumeType          string `xml:"volumeType"`
		Encrypted           bool   `xml:"encrypted"`
	}
	describeImagesResult struct {
		Images    set[imageXML] `xml:"imagesSet"`
		NextToken string        `xml:"nextToken,omitempty"`
	}
	describeInstancesRequest struct {
		InstanceIDs []string `query:"InstanceId"`
		Filters     []filter `query:"Filter"`
		MaxResults  *int     `query:"MaxResults"`
		NextToken   string   `query:"NextToken"`
	}
	reservationXML struct {
		ReservationID string           `xml:"reservationId"`
		OwnerID       string           `xml:"ownerId"`
		Groups        set[groupXML]    `xml:"groupSet"`
		Instances     set[instanceXML] `xml:"instancesSet"`
	}
	describeInstancesResult struct {
		Reservations set[reservationXML] `xml:"reservationSet"`
		NextToken    string              `xml:"nextToken,omitempty"`
	}
	getConsoleOutputRequest struct {
		InstanceID string `query:"InstanceId"`
		Latest     bool   `query:"Latest"`
	}
	getConsoleOutputResult struct {
		InstanceID string `xml:"instanceId"`
		Timestamp  string `xml:"timestamp"`
		Output     string `xml:"output"`
	}
	filter struct {
		Name   string   `query:"Name"`
		Values []string `query:"Value"`
	}
	createFleetRequest struct {
		ClientToken                     string                 `query:"ClientToken"`
		Type                            string                 `query:"Type"`
		Context                         string                 `query:"Context"`
		ExcessCapacityTerminationPolicy string                 `query:"ExcessCapacityTerminationPolicy"`
		SpotOptions                     fleetOptions           `query:"SpotOptions"`
		OnDemandOptions                 fleetOptions           `query:"OnDemandOptions"`
		ReservedCapacityOptions         *reservedOptions       `query:"ReservedCapacityOptions"`
		LaunchTemplateConfigs           []launchTemplateConfig `query:"LaunchTemplateConfigs"`
		Target                          targetCapacity         `query:"TargetCapacitySpecification"`
		TagSpecifications               []tagSpecification     `query:"TagSpecification"`
	}
	fleetOptions struct {
		AllocationStrategy           string            `query:"AllocationStrategy"`
		InstanceInterruptionBehavior string            `query:"InstanceInterruptionBehavior"`
		MinTargetCapacity            int               `query:"MinTargetCapacity"`
		SingleInstanceType           bool              `query:"SingleInstanceType"`
		SingleAvailabilityZone       bool              `query:"SingleAvailabilityZone"`
		CapacityReservationOptions   *reservationUsage `query:"CapacityReservationOptions"`
	}
	reservationUsage struct {
		UsageStrategy string `query:"UsageStrategy"`
	}
	reservedOptions struct {
		AllocationStrategy string   `query:"AllocationStrategy"`
		ReservationTypes   []string `query:"ReservationType"`
	}
	launchTemplateConfig struct {
		Specification fleetTemplate   `query:"LaunchTemplateSpecification"`
		Overrides     []fleetOverride `query:"Overrides"`
	}
	fleetTemplate struct {
		ID      string `query:"LaunchTemplateId" xml:"launchTemplateId,omitempty"`
		Name    string `query:"LaunchTemplateName" xml:"launchTemplateName,omitempty"`
		Version string `query:"Version" xml:"version,omitempty"`
	}
	fleetOverride struct {
		InstanceType       string              `query:"InstanceType" xml:"instanceType,omitempty"`
		MaxPrice           string              `query:"MaxPrice" xml:"maxPrice,omitempty"`
		SubnetID           string              `query:"SubnetId" xml:"subnetId,omitempty"`
		AvailabilityZone   string              `query:"AvailabilityZone" xml:"availabilityZone,omitempty"`
		AvailabilityZoneID string              `query:"AvailabilityZoneId" xml:"availabilityZoneId,omitempty"`
		WeightedCapacity   *float64            `query:"WeightedCapacity" xml:"weightedCapacity"`
		Priority           *float64            `query:"Priority" xml:"priority"`
		ImageID            string              `query:"ImageId" xml:"imageId,omitempty"`
		Placement          *fleetOverPlacement `query:"Placement" xml:"-"`
		ShownPlacement     *fleetPlacementXML  `query:"-" xml:"placement"`
	}
	fleetOverPlacement struct {
		Tenancy         string `query:"Tenancy"`
		GroupName       string `query:"GroupName"`
		GroupID         string `query:"GroupId"`
		PartitionNumber *int   `query:"PartitionNumber"`
	}
	fleetPlacementXML struct {
		GroupName string `xml:"groupName"`
	}
	targetCapacity struct {
		Total       *int   `query:"TotalTargetCapacity"`
		OnDemand    int    `query:"OnDemandTargetCapacity"`
		Spot        int    `query:"SpotTargetCapacity"`
		DefaultType string `query:"DefaultTargetCapacityType"`
	}
	createFleetResult struct {
		FleetID   string              `xml:"fleetId"`
		Errors    set[fleetError]     `xml:"errorSet"`
		Instances set[fleetInstances] `xml:"fleetInstanceSet"`
	}
	templateAndOverrides struct {
		Specification fleetTemplate `xml:"launchTemplateSpecification"`
		Overrides     fleetOverride `xml:"overrides"`
	}
	fleetError struct {
		TemplateAndOverrides templateAndOverrides `xml:"launchTemplateAndOverrides"`
		Lifecycle            string               `xml:"lifecycle"`
		Code                 string               `xml:"errorCode"`
		Message              string               `xml:"errorMessage"`
	}
	fleetInstances struct {
		TemplateAndOverrides templateAndOverrides `xml:"launchTemplateAndOverrides"`
		Lifecycle            string               `xml:"lifecycle"`
		InstanceIDs          set[string]          `xml:"instanceIds"`
		InstanceType         string               `xml:"instanceType"`
		AvailabilityZone     string               `xml:"availabilityZone"`
		AvailabilityZoneID   string               `xml:"availabilityZoneId"`
		SubnetID             string               `xml:"subnetId"`
	}
	describeFleetsRequest struct {
		FleetIDs   []string `query:"FleetId"`
		Filters    []filter `query:"Filter"`
		MaxResults *int     `query:"MaxResults"`
		NextToken  string   `query:"NextToken"`
	}
	describeFleetsResult struct {
		Fleets    set[fleetXML] `xml:"fleetSet"`
		NextToken string        `xml:"nextToken,omitempty"`
	}
	fleetXML struct {
		FleetID        string               `xml:"fleetId"`
		ClientToken    string               `xml:"clientToken"`
		Type           string               `xml:"type"`
		FleetState     string               `xml:"fleetState"`
		ActivityStatus string               `xml:"activityStatus"`
		Errors         set[fleetFailureXML] `xml:"errorSet"`
		Instances      set[fleetLaunchXML]  `xml:"fleetInstanceSet"`
	}
	fleetFailureXML struct {
		TemplateAndOverrides templateAndOverrides `xml:"launchTemplateAndOverrides"`
		Lifecycle            string               `xml:"lifecycle"`
		Code                 string               `xml:"errorCode"`
		Message              string               `xml:"errorMessage"`
	}
	fleetLaunchXML struct {
		TemplateAndOverrides templateAndOverrides `xml:"launchTemplateAndOverrides"`
		Lifecycle            string               `xml:"lifecycle"`
		InstanceIDs          set[string]          `xml:"instanceIds"`
		InstanceType         string               `xml:"instanceType"`
	}
	describeInstanceStatusRequest struct {
		InstanceIDs         []string `query:"InstanceId"`
		IncludeAllInstances bool     `query:"IncludeAllInstances"`
		Filters             []filter `query:"Filter"`
		MaxResults          *int     `query:"MaxResults"`
		NextToken           string   `query:"NextToken"`
	}
	statusSummaryXML struct {
		Status  string             `xml:"status"`
		Details set[statusDetails] `xml:"details"`
	}
	statusDetails struct {
		Name          string `xml:"name"`
		Status        string `xml:"status"`
		ImpairedSince string `xml:"impairedSince,omitempty"`
	}
	scheduledEventXML struct {
		ID          string `xml:"instanceEventId"`
		Code        string `xml:"code"`
		Description string `xml:"description"`
		NotBefore   string `xml:"notBefore"`
	}
	instanceStatusXML struct {
		AvailabilityZone   string                 `xml:"availabilityZone"`
		AvailabilityZoneID string                 `xml:"availabilityZoneId"`
		Events             set[scheduledEventXML] `xml:"eventsSet"`
		InstanceID         string                 `xml:"instanceId"`
		State              stateXML               `xml:"instanceState"`
		InstanceStatus     statusSummaryXML       `xml:"instanceStatus"`
		SystemStatus       statusSummaryXML       `xml:"systemStatus"`
	}
	describeInstanceStatusResult struct {
		Statuses  set[instanceStatusXML] `xml:"instanceStatusSet"`
		NextToken string                 `xml:"nextToken,omitempty"`
	}
	instanceTypeXML struct {
		InstanceType                  string                       `xml:"instanceType"`
		CurrentGeneration             bool                         `xml:"currentGeneration"`
		SupportedUsageClasses         set[string]                  `xml:"supportedUsageClasses"`
		SupportedRootDeviceTypes      set[string]                  `xml:"supportedRootDeviceTypes"`
		SupportedVirtualizationTypes  set[string]                  `xml:"supportedVirtualizationTypes"`
		BareMetal                     bool                         `xml:"bareMetal"`
		Hypervisor                    string                       `xml:"hypervisor,omitempty"`
		ProcessorInfo                 processorInfoXML             `xml:"processorInfo"`
		VCPUInfo                      vCPUInfoXML                  `xml:"vCpuInfo"`
		MemoryInfo                    memoryXML                    `xml:"memoryInfo"`
		InstanceStorageSupported      bool                         `xml:"instanceStorageSupported"`
		InstanceStorageInfo           *instanceStorageXML          `xml:"instanceStorageInfo"`
		EbsInfo                       ebsInfoXML                   `xml:"ebsInfo"`
		NetworkInfo                   networkInfoXML               `xml:"networkInfo"`
		GpuInfo                       *gpuInfoXML                  `xml:"gpuInfo"`
		InferenceAcceleratorInfo      *inferenceAcceleratorInfoXML `xml:"inferenceAcceleratorInfo"`
		NeuronInfo                    *neuronInfoXML               `xml:"neuronInfo"`
		BurstablePerformanceSupported bool                         `xml:"burstablePerformanceSupported"`
		NitroEnclavesSupport          string                       `xml:"nitroEnclavesSupport"`
		NitroTpmSupport               string                       `xml:"nitroTpmSupport"`
		SupportedInRegion             bool                         `xml:"supportedInRegion"`
		PlacementGroupInfo            placementStrategiesXML       `xml:"placementGroupInfo"`
		NitroTpmInfo                  *nitroTPMInfoXML             `xml:"nitroTpmInfo"`
		SupportedBootModes            set[string]                  `xml:"supportedBootModes"`
	}
	placementStrategiesXML struct {
		SupportedStrategies set[string] `xml:"supportedStrategies"`
	}
	nitroTPMInfoXML struct {
		SupportedVersions set[string] `xml:"supportedVersions"`
	}
	describeInstanceTypesRequest struct {
		InstanceTypes []string `query:"InstanceType"`
		Filters       []filter `query:"Filter"`
		MaxResults    *int     `query:"MaxResults"`
		NextToken     string   `query:"NextToken"`
	}
	describeInstanceTypesResult struct {
		InstanceTypes set[instanceTypeXML] `xml:"instanceTypeSet"`
		NextToken     string               `xml:"nextToken,omitempty"`
	}
	describeInstanceTypeOfferingsRequest struct {
		LocationType string   `query:"LocationType"`
		Filters      []filter `query:"Filter"`
		MaxResults   *int     `query:"MaxResults"`
		NextToken    string   `query:"NextToken"`
	}
	instanceTypeOffering struct {
		InstanceType string `xml:"instanceType"`
		LocationType string `xml:"locationType"`
		Location     string `xml:"location"`
	}
	describeInstanceTypeOfferingsResult struct {
		Offerings set[instanceTypeOffering] `xml:"instanceTypeOfferingSet"`
		NextToken string                    `xml:"nextToken,omitempty"`
	}
	processorInfoXML struct {
		SupportedArchitectures   set[string]  `xml:"supportedArchitectures"`
		SustainedClockSpeedInGhz float64      `xml:"sustainedClockSpeedInGhz,omitempty"`
		SupportedFeatures        *set[string] `xml:"supportedFeatures"`
		Manufacturer             string       `xml:"manufacturer"`
	}
	vCPUInfoXML struct {
		DefaultVCpus          int `xml:"defaultVCpus"`
		DefaultCores          int `xml:"defaultCores"`
		DefaultThreadsPerCore int `xml:"defaultThreadsPerCore"`
	}
	memoryXML struct {
		SizeInMiB int64 `xml:"sizeInMiB"`
	}
	instanceStorageXML struct {
		TotalSizeInGB     int64        `xml:"totalSizeInGB"`
		Disks             set[diskXML] `xml:"disks"`
		NvmeSupport       string       `xml:"nvmeSupport"`
		EncryptionSupport string       `xml:"encryptionSupport"`
	}
	diskXML struct {
		SizeInGB int64  `xml:"sizeInGB"`
		Count    int    `xml:"count"`
		Type     string `xml:"type"`
	}
	ebsInfoXML struct {
		EbsOptimizedSupport   string               `xml:"ebsOptimizedSupport"`
		EncryptionSupport     string               `xml:"encryptionSupport"`
		EbsOptimizedInfo      *ebsOptimizedInfoXML `xml:"ebsOptimizedInfo"`
		NvmeSupport           string               `xml:"nvmeSupport"`
		MaximumEbsAttachments int                  `xml:"maximumEbsAttachments,omitempty"`
		AttachmentLimitType   string               `xml:"attachmentLimitType,omitempty"`
	}
	ebsOptimizedInfoXML struct {
		BaselineBandwidthInMbps  int     `xml:"baselineBandwidthInMbps"`
		BaselineThroughputInMBps float64 `xml:"baselineThroughputInMBps"`
		MaximumBandwidthInMbps   int     `xml:"maximumBandwidthInMbps"`
		MaximumThroughputInMBps  float64 `xml:"maximumThroughputInMBps"`
	}
	networkInfoXML struct {
		NetworkPerformance           string              `xml:"networkPerformance"`
		MaximumNetworkInterfaces     int                 `xml:"maximumNetworkInterfaces"`
		MaximumNetworkCards          int                 `xml:"maximumNetworkCards"`
		DefaultNetworkCardIndex      int                 `xml:"defaultNetworkCardIndex"`
		NetworkCards                 set[networkCardXML] `xml:"networkCards"`
		Ipv4AddressesPerInterface    int                 `xml:"ipv4AddressesPerInterface"`
		Ipv6AddressesPerInterface    int                 `xml:"ipv6AddressesPerInterface"`
		Ipv6Supported                bool                `xml:"ipv6Supported"`
		EnaSupport                   string              `xml:"enaSupport"`
		EfaSupported                 bool                `xml:"efaSupported"`
		EfaInfo                      *efaInfoXML         `xml:"efaInfo"`
		EncryptionInTransitSupported bool                `xml:"encryptionInTransitSupported"`
	}
	networkCardXML struct {
		NetworkCardIndex         int     `xml:"networkCardIndex"`
		NetworkPerformance       string  `xml:"networkPerformance"`
		MaximumNetworkInterfaces int     `xml:"maximumNetworkInterfaces"`
		BaselineBandwidthInGbps  float64 `xml:"baselineBandwidthInGbps,omitempty"`
		PeakBandwidthInGbps      float64 `xml:"peakBandwidthInGbps,omitempty"`
	}
	efaInfoXML struct {
		MaximumEfaInterfaces int `xml:"maximumEfaInterfaces"`
	}
	gpuInfoXML struct {
		Gpus                set[gpuXML] `xml:"gpus"`
		TotalGpuMemoryInMiB int64       `xml:"totalGpuMemoryInMiB"`
	}
	gpuXML struct {
		Name             string    `xml:"name"`
		Manufacturer     string    `xml:"manufacturer"`
		Count            int       `xml:"count"`
		LogicalGpuCount  int       `xml:"logicalGpuCount"`
		GpuPartitionSize float64   `xml:"gpuPartitionSize"`
		MemoryInfo       memoryXML `xml:"memoryInfo"`
	}
	inferenceDeviceXML struct {
		Count        int       `xml:"count"`
		Name         string    `xml:"name"`
		Manufacturer string    `xml:"manufacturer"`
		MemoryInfo   memoryXML `xml:"memoryInfo"`
	}
	neuronInfoXML struct {
		NeuronDevices                set[neuronDeviceXML] `xml:"neuronDevices"`
		TotalNeuronDeviceMemoryInMiB int64                `xml:"totalNeuronDeviceMemoryInMiB"`
	}
	neuronDeviceXML struct {
		Count      int           `xml:"count"`
		Name       string        `xml:"name"`
		CoreInfo   neuronCoreXML `xml:"coreInfo"`
		MemoryInfo memoryXML     `xml:"memoryInfo"`
	}
	neuronCoreXML struct {
		Count   int `xml:"count"`
		Version int `xml:"version"`
	}
	instanceXML struct {
		InstanceID            string              `xml:"instanceId"`
		ImageID               string              `xml:"imageId"`
		State                 stateXML            `xml:"instanceState"`
		PrivateDNSName        string              `xml:"privateDnsName"`
		PublicDNSName         string              `xml:"dnsName"`
		Reason                string              `xml:"reason"`
		KeyName               string              `xml:"keyName,omitempty"`
		AmiLaunchIndex        int                 `xml:"amiLaunchIndex"`
		InstanceType          string              `xml:"instanceType"`
		LaunchTime            string              `xml:"launchTime"`
		Placement             placementXML        `xml:"placement"`
		Monitoring            monitoringXML       `xml:"monitoring"`
		SubnetID              string              `xml:"subnetId,omitempty"`
		VpcID                 string              `xml:"vpcId,omitempty"`
		PrivateIPAddress      string              `xml:"privateIpAddress,omitempty"`
		Architecture          string              `xml:"architecture"`
		BlockDeviceMappings   set[attachmentXML]  `xml:"blockDeviceMapping"`
		ClientToken           string              `xml:"clientToken,omitempty"`
		EbsOptimized          bool                `xml:"ebsOptimized"`
		EnaSupport            bool                `xml:"enaSupport"`
		Hypervisor            string              `xml:"hypervisor"`
		IamInstanceProfile    *profileXML         `xml:"iamInstanceProfile"`
		InstanceLifecycle     string              `xml:"instanceLifecycle,omitempty"`
		SpotInstanceRequestID string              `xml:"spotInstanceRequestId,omitempty"`
		NetworkInterfaces     set[interfaceXML]   `xml:"networkInterfaceSet"`
		RootDeviceName        string              `xml:"rootDeviceName"`
		RootDeviceType        string              `xml:"rootDeviceType"`
		SecurityGroups        set[groupXML]       `xml:"groupSet"`
		SourceDestCheck       bool                `xml:"sourceDestCheck"`
		StateReason           *stateReasonXML     `xml:"stateReason"`
		Tags                  set[tagXML]         `xml:"tagSet"`
		VirtualizationType    string              `xml:"virtualizationType"`
		CPUOptions            cpuOptionsXML       `xml:"cpuOptions"`
		MetadataOptions       *instanceMetadata   `xml:"metadataOptions"`
		CapacityReservationID string              `xml:"capacityReservationId,omitempty"`
		CapacityReservation   *reservationPrefXML `xml:"capacityReservationSpecification"`
		EnclaveOptions        *enabled            `xml:"enclaveOptions"`
		PublicIPAddress       string              `xml:"ipAddress,omitempty"`
		Platform              string              `xml:"platform,omitempty"`
		PlatformDetails       string              `xml:"platformDetails"`
		UsageOperation        string              `xml:"usageOperation"`
	}
	stateXML struct {
		Code int    `xml:"code"`
		Name string `xml:"name"`
	}
	placementXML struct {
		AvailabilityZone   string `xml:"availabilityZone"`
		AvailabilityZoneID string `xml:"availabilityZoneId"`
		GroupName          string `xml:"groupName"`
		GroupID            string `xml:"groupId,omitempty"`
		PartitionNumber    int    `xml:"partitionNumber,omitempty"`
		Tenancy            string `xml:"tenancy"`
	}
	monitoringXML struct {
		State string `xml:"state"`
	}
	attachmentXML struct {
		DeviceName string            `xml:"deviceName"`
		Ebs        attachedVolumeXML `xml:"ebs"`
	}
	attachedVolumeXML struct {
		VolumeID            string `xml:"volumeId"`
		Status              string `xml:"status"`
		AttachTime          string `xml:"attachTime"`
		DeleteOnTermination bool   `xml:"deleteOnTermination"`
	}
	profileXML struct {
		ARN string `xml:"arn"`
		ID  string `xml:"id"`
	}
	groupXML struct {
		ID   string `xml:"groupId"`
		Name string `xml:"groupName"`
	}
	stateReasonXML struct {
		Code    string `xml:"code"`
		Message string `xml:"message"`
	}
	cpuOptionsXML struct {
		CoreCount            int    `xml:"coreCount"`
		ThreadsPerCore       int    `xml:"threadsPerCore"`
		AmdSevSnp            string `xml:"amdSevSnp,omitempty"`
		NestedVirtualization string `xml:"nestedVirtualization,omitempty"`
	}
	instanceMetadata struct {
		State string `xml:"state"`
		metadataOptions
	}
	reservationPrefXML struct {
		Preference string                     `xml:"capacityReservationPreference,omitempty"`
		Target     *capacityReservationTarget `xml:"capacityReservationTarget"`
	}
	interfaceXML struct {
		NetworkInterfaceID string                 `xml:"networkInterfaceId"`
		SubnetID           string                 `xml:"subnetId"`
		VpcID              string                 `xml:"vpcId"`
		OwnerID            string                 `xml:"ownerId"`
		Status             string                 `xml:"status"`
		MacAddress         string                 `xml:"macAddress"`
		PrivateIPAddress   string                 `xml:"privateIpAddress,omitempty"`
		PrivateDNSName     string                 `xml:"privateDnsName,omitempty"`
		SourceDestCheck    bool                   `xml:"sourceDestCheck"`
		InterfaceType      string                 `xml:"interfaceType"`
		Groups             set[groupXML]          `xml:"groupSet"`
		Attachment         interfaceAttachmentXML `xml:"attachment"`
		Association        *associationXML        `xml:"association"`
		Addresses          set[addressXML]        `xml:"privateIpAddressesSet"`
		Prefixes           *set[prefixXML]        `xml:"ipv4PrefixSet"`
		Tracking           *connectionTracking    `xml:"connectionTrackingConfiguration"`
	}
	interfaceAttachmentXML struct {
		AttachmentID        string `xml:"attachmentId"`
		AttachTime          string `xml:"attachTime"`
		DeviceIndex         int    `xml:"deviceIndex"`
		NetworkCardIndex    int    `xml:"networkCardIndex"`
		Status              string `xml:"status"`
		DeleteOnTermination bool   `xml:"deleteOnTermination"`
	}
	associationXML struct {
		PublicIP      string `xml:"publicIp"`
		PublicDNSName string `xml:"publicDnsName"`
		OwnerID       string `xml:"ipOwnerId"`
	}
	addressXML struct {
		PrivateIPAddress string          `xml:"privateIpAddress"`
		PrivateDNSName   string          `xml:"privateDnsName"`
		Primary          bool            `xml:"primary"`
		Association      *associationXML `xml:"association"`
	}
	prefixXML struct {
		Prefix string `xml:"ipv4Prefix"`
	}
	launchTemplateData struct {
		ImageID                          string                         `query:"ImageId" xml:"imageId,omitempty" json:"ImageId"`
		InstanceType                     string                         `query:"InstanceType" xml:"instanceType,omitempty" json:"InstanceType"`
		KeyName                          string                         `query:"KeyName" xml:"keyName,omitempty" json:"KeyName"`
		EbsOptimized                     *bool                          `query:"EbsOptimized" xml:"ebsOptimized" json:"EbsOptimized"`
		UserData                         string                         `query:"UserData" xml:"userData,omitempty" json:"UserData"`
		IamInstanceProfile               *instanceProfileRef            `query:"IamInstanceProfile" xml:"iamInstanceProfile" json:"IamInstanceProfile"`
		BlockDeviceMappings              []blockDeviceMapping           `query:"BlockDeviceMapping" xml:"blockDeviceMappingSet>item" json:"BlockDeviceMappings"`
		NetworkInterfaces                []networkInterface             `query:"NetworkInterface" xml:"networkInterfaceSet>item" json:"NetworkInterfaces"`
		SecurityGroupIDs                 []string                       `query:"SecurityGroupId" xml:"securityGroupIdSet>item" json:"SecurityGroupIds"`
		SecurityGroups                   []string                       `query:"SecurityGroup" xml:"securityGroupSet>item" json:"SecurityGroups"`
		Monitoring                       *enabled                       `query:"Monitoring" xml:"monitoring" json:"Monitoring"`
		Placement                        *placement                     `query:"Placement" xml:"placement" json:"Placement"`
		TagSpecifications                []tagSpecification             `query:"TagSpecification" xml:"tagSpecificationSet>item" json:"TagSpecifications"`
		MetadataOptions                  *metadataOptions               `query:"MetadataOptions" xml:"metadataOptions" json:"MetadataOptions"`
		CPUOptions                       *cpuOptions                    `query:"CpuOptions" xml:"cpuOptions" json:"CpuOptions"`
		CreditSpecification              *creditSpecification           `query:"CreditSpecification" xml:"creditSpecification" json:"CreditSpecification"`
		CapacityReservationSpecification *capacityReservationPreference `query:"CapacityReservationSpecification" xml:"capacityReservationSpecification" json:"CapacityReservationSpecification"`
		InstanceMarketOptions            *marketOptions                 `query:"InstanceMarketOptions" xml:"instanceMarketOptions" json:"InstanceMarketOptions"`
		EnclaveOptions                   *enabled                       `query:"EnclaveOptions" xml:"enclaveOptions" json:"EnclaveOptions"`
		PrivateDNSNameOptions            *privateDNSNameOptions         `query:"PrivateDnsNameOptions" xml:"privateDnsNameOptions" json:"PrivateDnsNameOptions"`
		DisableAPITermination            *bool                          `query:"DisableApiTermination" xml:"disableApiTermination" json:"DisableApiTermination"`
		DisableAPIStop                   *bool                          `query:"DisableApiStop" xml:"disableApiStop" json:"DisableApiStop"`
		InitiatedShutdownBehavior        string                         `query:"InstanceInitiatedShutdownBehavior" xml:"instanceInitiatedShutdownBehavior,omitempty" json:"InstanceInitiatedShutdownBehavior"`
	}
	instanceProfileRef struct {
		ARN  string `query:"Arn" xml:"arn,omitempty" json:"Arn"`
		Name string `query:"Name" xml:"name,omitempty" json:"Name"`
	}
	enabled struct {
		Enabled bool `query:"Enabled" xml:"enabled" json:"Enabled"`
	}
	blockDeviceMapping struct {
		DeviceName  string     `query:"DeviceName" xml:"deviceName,omitempty" json:"DeviceName"`
		VirtualName string     `query:"VirtualName" xml:"virtualName,omitempty" json:"VirtualName"`
		NoDevice    string     `query:"NoDevice" xml:"noDevice,omitempty" json:"NoDevice"`
		Ebs         *ebsVolume `query:"Ebs" xml:"ebs" json:"Ebs"`
	}
	ebsVolume struct {
		Encrypted                *bool  `query:"Encrypted" xml:"encrypted" json:"Encrypted"`
		DeleteOnTermination      *bool  `query:"DeleteOnTermination" xml:"deleteOnTermination" json:"DeleteOnTermination"`
		Iops                     *int   `query:"Iops" xml:"iops" json:"Iops"`
		Throughput               *int   `query:"Throughput" xml:"throughput" json:"Throughput"`
		KmsKeyID                 string `query:"KmsKeyId" xml:"kmsKeyId,omitempty" json:"KmsKeyId"`
		SnapshotID               string `query:"SnapshotId" xml:"snapshotId,omitempty" json:"SnapshotId"`
		VolumeInitializationRate *int   `query:"VolumeInitializationRate" xml:"volumeInitializationRate" json:"VolumeInitializationRate"`
		VolumeSize               *int   `query:"VolumeSize" xml:"volumeSize" json:"VolumeSize"`
		VolumeType               string `query:"VolumeType" xml:"volumeType,omitempty" json:"VolumeType"`
	}
	networkInterface struct {
		AssociatePublicIPAddress        *bool               `query:"AssociatePublicIpAddress" xml:"associatePublicIpAddress" json:"AssociatePublicIpAddress"`
		DeleteOnTermination             *bool               `query:"DeleteOnTermination" xml:"deleteOnTermination" json:"DeleteOnTermination"`
		Description                     string              `query:"Description" xml:"description,omitempty" json:"Description"`
		DeviceIndex                     *int                `query:"DeviceIndex" xml:"deviceIndex" json:"DeviceIndex"`
		Groups                          []string            `query:"SecurityGroupId" xml:"groupSet>groupId" json:"Groups"`
		InterfaceType                   string              `query:"InterfaceType" xml:"interfaceType,omitempty" json:"InterfaceType"`
		Ipv4PrefixCount                 *int                `query:"Ipv4PrefixCount" xml:"ipv4PrefixCount" json:"Ipv4PrefixCount"`
		Ipv6AddressCount                *int                `query:"Ipv6AddressCount" xml:"ipv6AddressCount" json:"Ipv6AddressCount"`
		Ipv6PrefixCount                 *int                `query:"Ipv6PrefixCount" xml:"ipv6PrefixCount" json:"Ipv6PrefixCount"`
		NetworkCardIndex                *int                `query:"NetworkCardIndex" xml:"networkCardIndex" json:"NetworkCardIndex"`
		PrimaryIpv6                     *bool               `query:"PrimaryIpv6" xml:"primaryIpv6" json:"PrimaryIpv6"`
		SecondaryPrivateIPAddressCount  *int                `query:"SecondaryPrivateIpAddressCount" xml:"secondaryPrivateIpAddressCount" json:"SecondaryPrivateIpAddressCount"`
		SubnetID                        string              `query:"SubnetId" xml:"subnetId,omitempty" json:"SubnetId"`
		ConnectionTrackingSpecification *connectionTracking `query:"ConnectionTrackingSpecification" xml:"connectionTrackingSpecification" json:"ConnectionTrackingSpecification"`
	}
	connectionTracking struct {
		TCPEstablishedTimeout *int `query:"TcpEstablishedTimeout" xml:"tcpEstablishedTimeout" json:"TcpEstablishedTimeout"`
		UDPStreamTimeout      *int `query:"UdpStreamTimeout" xml:"udpStreamTimeout" json:"UdpStreamTimeout"`
		UDPTimeout            *int `query:"UdpTimeout" xml:"udpTimeout" json:"UdpTimeout"`
	}
	placement struct {
		AvailabilityZone   string `query:"AvailabilityZone" xml:"availabilityZone,omitempty" json:"AvailabilityZone"`
		AvailabilityZoneID string `query:"AvailabilityZoneId" xml:"availabilityZoneId,omitempty" json:"AvailabilityZoneId"`
		Tenancy            string `query:"Tenancy" xml:"tenancy,omitempty" json:"Tenancy"`
		GroupID            string `query:"GroupId" xml:"groupId,omitempty" json:"GroupId"`
		GroupName          string `query:"GroupName" xml:"groupName,omitempty" json:"GroupName"`
		PartitionNumber    *int   `query:"PartitionNumber" xml:"partitionNumber" json:"PartitionNumber"`
	}
	tagSpecification struct {
		ResourceType string   `query:"ResourceType" xml:"resourceType" json:"ResourceType"`
		Tags         []tagXML `query:"Tag" xml:"tagSet>item" json:"Tags"`
	}
	metadataOptions struct {
		HTTPTokens              string `query:"HttpTokens" xml:"httpTokens,omitempty" json:"HttpTokens"`
		HTTPPutResponseHopLimit *int   `query:"HttpPutResponseHopLimit" xml:"httpPutResponseHopLimit" json:"HttpPutResponseHopLimit"`
		HTTPEndpoint            string `query:"HttpEndpoint" xml:"httpEndpoint,omitempty" json:"HttpEndpoint"`
		HTTPProtocolIpv6        string `query:"HttpProtocolIpv6" xml:"httpProtocolIpv6,omitempty" json:"HttpProtocolIpv6"`
		InstanceMetadataTags    string `query:"InstanceMetadataTags" xml:"instanceMetadataTags,omitempty" json:"InstanceMetadataTags"`
	}
	cpuOptions struct {
		CoreCount            *int   `query:"CoreCount" xml:"coreCount" json:"CoreCount"`
		ThreadsPerCore       *int   `query:"ThreadsPerCore" xml:"threadsPerCore" json:"ThreadsPerCore"`
		AmdSevSnp            string `query:"AmdSevSnp" xml:"amdSevSnp,omitempty" json:"AmdSevSnp"`
		NestedVirtualization string `query:"NestedVirtualization" xml:"nestedVirtualization,omitempty" json:"NestedVirtualization"`
	}
	creditSpecification struct {
		CPUCredits string `query:"CpuCredits" xml:"cpuCredits" json:"CpuCredits"`
	}
	capacityReservationPreference struct {
		Preference string                     `query:"CapacityReservationPreference" xml:"capacityReservationPreference,omitempty" json:"CapacityReservationPreference"`
		Target     *capacityReservationTarget `query:"CapacityReservationTarget" xml:"capacityReservationTarget" json:"CapacityReservationTarget"`
	}
	capacityReservationTarget struct {
		ID               string `query:"CapacityReservationId" xml:"capacityReservationId,omitempty" json:"CapacityReservationId"`
		ResourceGroupARN string `query:"CapacityReservationResourceGroupArn" xml:"capacityReservationResourceGroupArn,omitempty" json:"CapacityReservationResourceGroupArn"`
	}
	marketOptions struct {
		MarketType  string             `query:"MarketType" xml:"marketType,omitempty" json:"MarketType"`
		SpotOptions *spotMarketOptions `query:"SpotOptions" xml:"spotOptions" json:"SpotOptions"`
	}
	spotMarketOptions struct {
		MaxPrice             string `query:"MaxPrice" xml:"maxPrice,omitempty" json:"MaxPrice"`
		SpotInstanceType     string `query:"SpotInstanceType" xml:"spotInstanceType,omitempty" json:"SpotInstanceType"`
		InterruptionBehavior string `query:"InstanceInterruptionBehavior" xml:"instanceInterruptionBehavior,omitempty" json:"InstanceInterruptionBehavior"`
	}
	privateDNSNameOptions struct {
		HostnameType                    string `query:"HostnameType" xml:"hostnameType,omitempty" json:"HostnameType"`
		EnableResourceNameDNSARecord    *bool  `query:"EnableResourceNameDnsARecord" xml:"enableResourceNameDnsARecord" json:"EnableResourceNameDnsARecord"`
		EnableResourceNameDNSAAAARecord *bool  `query:"EnableResourceNameDnsAAAARecord" xml:"enableResourceNameDnsAAAARecord" json:"EnableResourceNameDnsAAAARecord"`
	}
	launchTemplateXML struct {
		ID             string      `xml:"launchTemplateId"`
		Name           string      `xml:"launchTemplateName"`
		CreateTime     string      `xml:"createTime"`
		CreatedBy      string      `xml:"createdBy"`
		DefaultVersion int         `xml:"defaultVersionNumber"`
		LatestVersion  int         `xml:"latestVersionNumber"`
		Tags           set[tagXML] `xml:"tagSet"`
	}
	launchTemplateResult struct {
		LaunchTemplate launchTemplateXML `xml:"launchTemplate"`
	}
	createLaunchTemplateRequest struct {
		ClientToken        string              `query:"ClientToken"`
		Name               string              `query:"LaunchTemplateName"`
		VersionDescription string              `query:"VersionDescription"`
		Data               *launchTemplateData `query:"LaunchTemplateData"`
		TagSpecifications  []tagSpecification  `query:"TagSpecification"`
	}
	createLaunchTemplateVersionRequest struct {
		ClientToken        string              `query:"ClientToken"`
		ID                 string              `query:"LaunchTemplateId"`
		Name               string              `query:"LaunchTemplateName"`
		SourceVersion      string              `query:"SourceVersion"`
		VersionDescription string              `query:"VersionDescription"`
		Data               *launchTemplateData `query:"LaunchTemplateData"`
	}
	createLaunchTemplateVersionResult struct {
		Version launchTemplateVersionXML `xml:"launchTemplateVersion"`
	}
	describeLaunchTemplatesRequest struct {
		IDs        []string `query:"LaunchTemplateId"`
		Names      []string `query:"LaunchTemplateName"`
		Filters    []filter `query:"Filter"`
		MaxResults *int     `query:"MaxResults"`
		NextToken  string   `query:"NextToken"`
	}
	describeLaunchTemplatesResult struct {
		LaunchTemplates set[launchTemplateXML] `xml:"launchTemplates"`
		NextToken       string                 `xml:"nextToken,omitempty"`
	}
	describeLaunchTemplateVersionsRequest struct {
		ID         string   `query:"LaunchTemplateId"`
		Name       string   `query:"LaunchTemplateName"`
		Versions   []string `query:"LaunchTemplateVersion"`
		MaxResults *int     `query:"MaxResults"`
		NextToken  string   `query:"NextToken"`
	}
	launchTemplateVersionXML struct {
		ID             string             `xml:"launchTemplateId"`
		Name           string             `xml:"launchTemplateName"`
		VersionNumber  int                `xml:"versionNumber"`
		Description    string             `xml:"versionDescription,omitempty"`
		CreateTime     string             `xml:"createTime"`
		CreatedBy      string             `xml:"createdBy"`
		DefaultVersion bool               `xml:"defaultVersion"`
		Data           launchTemplateData `xml:"launchTemplateData"`
	}
	describeLaunchTemplateVersionsResult struct {
		Versions  set[launchTemplateVersionXML] `xml:"launchTemplateVersionSet"`
		NextToken string                        `xml:"nextToken,omitempty"`
	}
	deleteLaunchTemplateRequest struct {
		ID   string `query:"LaunchTemplateId"`
		Name string `query:"LaunchTemplateName"`
	}
	tagXML struct {
		Key   string `query:"Key" xml:"key" json:"Key"`
		Value string `query:"Value" xml:"value" json:"Value"`
	}
	describeAvailabilityZonesRequest struct {
		ZoneNames            []string `query:"ZoneName"`
		ZoneIDs              []string `query:"ZoneId"`
		AllAvailabilityZones bool     `query:"AllAvailabilityZones"`
		Filters              []filter `query:"Filter"`
	}
	zoneXML struct {
		OptInStatus        string `xml:"optInStatus"`
		RegionName         string `xml:"regionName"`
		ZoneName           string `xml:"zoneName"`
		ZoneID             string `xml:"zoneId"`
		GroupName          string `xml:"groupName"`
		NetworkBorderGroup string `xml:"networkBorderGroup"`
		ZoneType           string `xml:"zoneType"`
		State              string `xml:"zoneState"`
	}
	describeAvailabilityZonesResult struct {
		Zones set[zoneXML] `xml:"availabilityZoneInfo"`
	}
	describeVpcsRequest struct {
		VpcIDs     []string `query:"VpcId"`
		Filters    []filter `query:"Filter"`
		MaxResults *int     `query:"MaxResults"`
		NextToken  string   `query:"NextToken"`
	}
	vpcXML struct {
		OwnerID         string          `xml:"ownerId"`
		InstanceTenancy string          `xml:"instanceTenancy"`
		IsDefault       bool            `xml:"isDefault"`
		Tags            set[tagXML]     `xml:"tagSet"`
		VpcID           string          `xml:"vpcId"`
		State           string          `xml:"state"`
		CidrBlock       string          `xml:"cidrBlock"`
		DHCPOptionsID   string          `xml:"dhcpOptionsId"`
		Associations    set[vpcCIDRXML] `xml:"cidrBlockAssociationSet"`
	}
	vpcCIDRXML struct {
		AssociationID string       `xml:"associationId"`
		CidrBlock     string       `xml:"cidrBlock"`
		State         cidrStateXML `xml:"cidrBlockState"`
	}
	cidrStateXML struct {
		State string `xml:"state"`
	}
	describeVpcsResult struct {
		Vpcs      set[vpcXML] `xml:"vpcSet"`
		NextToken string      `xml:"nextToken,omitempty"`
	}
	describeSubnetsRequest struct {
		SubnetIDs  []string `query:"SubnetId"`
		Filters    []filter `query:"Filter"`
		MaxResults *int     `query:"MaxResults"`
		NextToken  string   `query:"NextToken"`
	}
	subnetXML struct {
		AvailabilityZoneID      string       `xml:"availabilityZoneId"`
		OwnerID                 string       `xml:"ownerId"`
		Tags                    set[tagXML]  `xml:"tagSet"`
		SubnetARN               string       `xml:"subnetArn"`
		SubnetID                string       `xml:"subnetId"`
		State                   string       `xml:"state"`
		VpcID                   string       `xml:"vpcId"`
		CidrBlock               string       `xml:"cidrBlock"`
		AvailableIPAddressCount int          `xml:"availableIpAddressCount"`
		AvailabilityZone        string       `xml:"availabilityZone"`
		DefaultForAz            bool         `xml:"defaultForAz"`
		MapPublicIPOnLaunch     bool         `xml:"mapPublicIpOnLaunch"`
		AssignIPv6OnCreation    bool         `xml:"assignIpv6AddressOnCreation"`
		IPv6Native              bool         `xml:"ipv6Native"`
		HostNames               hostNamesXML `xml:"privateDnsNameOptionsOnLaunch"`
		OutpostARN              string       `xml:"outpostArn,omitempty"`
	}
	hostNamesXML struct {
		HostnameType string `xml:"hostnameType"`
		ARecord      bool   `xml:"enableResourceNameDnsARecord"`
		AAAARecord   bool   `xml:"enableResourceNameDnsAAAARecord"`
	}
	describeSubnetsResult struct {
		Subnets   set[subnetXML] `xml:"subnetSet"`
		NextToken string         `xml:"nextToken,omitempty"`
	}
	describeSecurityGroupsRequest struct {
		GroupIDs   []string `query:"GroupId"`
		GroupNames []string `query:"GroupName"`
		Filters    []filter `query:"Filter"`
		MaxResults *int     `query:"MaxResults"`
		NextToken  string   `query:"NextToken"`
	}
	securityGroupXML struct {
		GroupID          string                  `xml:"groupId"`
		Tags             set[tagXML]             `xml:"tagSet"`
		VpcID            string                  `xml:"vpcId"`
		SecurityGroupARN string                  `xml:"securityGroupArn"`
		OwnerID          string                  `xml:"ownerId"`
		GroupName        string                  `xml:"groupName"`
		Description      string                  `xml:"groupDescription"`
		Egress           set[rangePermissionXML] `xml:"ipPermissionsEgress"`
	}
	rangePermissionXML struct {
		Protocol string        `xml:"ipProtocol"`
		Ranges   set[rangeXML] `xml:"ipRanges"`
	}
	rangeXML struct {
		CIDR string `xml:"cidrIp"`
	}
	describeSecurityGroupsResult struct {
		Groups    set[securityGroupXML] `xml:"securityGroupInfo"`
		NextToken string                `xml:"nextToken,omitempty"`
	}
	placementGroupXML struct {
		GroupName      string      `xml:"groupName"`
		Strategy       string      `xml:"strategy"`
		State          string      `xml:"state"`
		GroupID        string      `xml:"groupId"`
		PartitionCount int         `xml:"partitionCount,omitempty"`
		SpreadLevel    string      `xml:"spreadLevel,omitempty"`
		Tags           set[tagXML] `xml:"tagSet"`
		GroupARN       string      `xml:"groupArn"`
	}
	createPlacementGroupRequest struct {
		GroupName         string             `query:"GroupName"`
		Strategy          string             `query:"Strategy"`
		PartitionCount    *int               `query:"PartitionCount"`
		SpreadLevel       string             `query:"SpreadLevel"`
		TagSpecifications []tagSpecification `query:"TagSpecification"`
	}
	placementGroupResult struct {
		Group placementGroupXML `xml:"placementGroup"`
	}
	describePlacementGroupsRequest struct {
		IDs     []string `query:"GroupId"`
		Names   []string `query:"GroupName"`
		Filters []filter `query:"Filter"`
	}
	describePlacementGroupsResult struct {
		Groups set[placementGroupXML] `xml:"placementGroupSet"`
	}
	describeCapacityReservationsRequest struct {
		IDs        []string `query:"CapacityReservationId"`
		Filters    []filter `query:"Filter"`
		MaxResults *int     `query:"MaxResults"`
		NextToken  string   `query:"NextToken"`
	}
	capacityReservationXML struct {
		ID                string         `xml:"capacityReservationId"`
		OwnerID           string         `xml:"ownerId"`
		ARN               string         `xml:"capacityReservationArn"`
		InstanceType      string         `xml:"instanceType"`
		InstancePlatform  string         `xml:"instancePlatform"`
		AvailabilityZone  string         `xml:"availabilityZone"`
		ZoneID            string         `xml:"availabilityZoneId"`
		Tenancy           string         `xml:"tenancy"`
		Total             int            `xml:"totalInstanceCount"`
		Available         int            `xml:"availableInstanceCount"`
		EbsOptimized      bool           `xml:"ebsOptimized"`
		EphemeralStorage  bool           `xml:"ephemeralStorage"`
		State             string         `xml:"state"`
		StartDate         string         `xml:"startDate"`
		EndDate           string         `xml:"endDate,omitempty"`
		EndDateType       string         `xml:"endDateType"`
		Match             string         `xml:"instanceMatchCriteria"`
		CreateDate        string         `xml:"createDate"`
		PlacementGroupARN string         `xml:"placementGroupArn,omitempty"`
		ReservationType   string         `xml:"reservationType"`
		Interruptible     bool           `xml:"interruptible"`
		CapacityBlockID   string         `xml:"capacityBlockId,omitempty"`
		Allocations       set[allocated] `xml:"capacityAllocationSet"`
		Tags              set[tagXML]    `xml:"tagSet"`
	}
	allocated struct {
		Kind  string `xml:"allocationType"`
		Count int    `xml:"count"`
	}
	describeCapacityReservationsResult struct {
		Reservations set[capacityReservationXML] `xml:"capacityReservationSet"`
		NextToken    string                      `xml:"nextToken,omitempty"`
	}
	createCapacityReservationRequest struct {
		ClientToken        string             `query:"ClientToken"`
		InstanceType       string             `query:"InstanceType"`
		InstancePlatform   string             `query:"InstancePlatform"`
		AvailabilityZone   string             `query:"AvailabilityZone"`
		AvailabilityZoneID string             `query:"AvailabilityZoneId"`
		Tenancy            string             `query:"Tenancy"`
		InstanceCount      int                `query:"InstanceCount"`
		EndDate            time.Time          `query:"EndDate"`
		EndDateType        string             `query:"EndDateType"`
		Match              string             `query:"InstanceMatchCriteria"`
		PlacementGroupARN  string             `query:"PlacementGroupArn"`
		EbsOptimized       bool               `query:"EbsOptimized"`
		TagSpecifications  []tagSpecification `query:"TagSpecifications"`
	}
	capacityReservationResult struct {
		Reservation capacityReservationXML `xml:"capacityReservation"`
	}
	cancelCapacityReservationRequest struct {
		ID string `query:"CapacityReservationId"`
	}
	describeReservedInstancesRequest struct {
		IDs           []string `query:"ReservedInstancesId"`
		Filters       []filter `query:"Filter"`
		OfferingClass string   `query:"OfferingClass"`
		OfferingType  string   `query:"OfferingType"`
	}
	reservedInstancesXML struct {
		ID                 string               `xml:"reservedInstancesId"`
		InstanceType       string               `xml:"instanceType"`
		AvailabilityZone   string               `xml:"availabilityZone,omitempty"`
		ZoneID             string               `xml:"availabilityZoneId,omitempty"`
		Start              string               `xml:"start"`
		End                string               `xml:"end"`
		Duration           int64                `xml:"duration"`
		UsagePrice         float64              `xml:"usagePrice"`
		FixedPrice         float64              `xml:"fixedPrice"`
		InstanceCount      int                  `xml:"instanceCount"`
		ProductDescription string               `xml:"productDescription"`
		State              string               `xml:"state"`
		Tenancy            string               `xml:"instanceTenancy"`
		CurrencyCode       string               `xml:"currencyCode"`
		OfferingClass      string               `xml:"offeringClass"`
		OfferingType       string               `xml:"offeringType"`
		RecurringCharges   set[recurringCharge] `xml:"recurringCharges"`
		Scope              string               `xml:"scope"`
		Tags               set[tagXML]          `xml:"tagSet"`
	}
	recurringCharge struct {
		Frequency string  `xml:"frequency"`
		Amount    float64 `xml:"amount"`
	}
	describeReservedInstancesResult struct {
		ReservedInstances set[reservedInstancesXML] `xml:"reservedInstancesSet"`
	}
	runInstancesRequest struct {
		launchTemplateData
		MinCount       int            `query:"MinCount"`
		MaxCount       int            `query:"MaxCount"`
		ClientToken    string         `query:"ClientToken"`
		SubnetID       string         `query:"SubnetId"`
		LaunchTemplate *fleetTemplate `query:"LaunchTemplate"`
	}
	describeSpotPriceHistoryRequest struct {
		AvailabilityZone    string    `query:"AvailabilityZone"`
		AvailabilityZoneID  string    `query:"AvailabilityZoneId"`
		StartTime           time.Time `query:"StartTime"`
		EndTime             time.Time `query:"EndTime"`
		InstanceTypes       []string  `query:"InstanceType"`
		ProductDescriptions []string  `query:"ProductDescription"`
		Filters             []filter  `query:"Filter"`
		MaxResults          *int      `query:"MaxResults"`
		NextToken           string    `query:"NextToken"`
	}
	spotPrice struct {
		InstanceType       string `xml:"instanceType"`
		ProductDescription string `xml:"productDescription"`
		SpotPrice          string `xml:"spotPrice"`
		Timestamp          string `xml:"timestamp"`
		AvailabilityZone   string `xml:"availabilityZone"`
		AvailabilityZoneID string `xml:"availabilityZoneId"`
	}
	describeSpotPriceHistoryResult struct {
		Prices    set[spotPrice] `xml:"spotPriceHistorySet"`
		NextToken string         `xml:"nextToken,omitempty"`
	}
	createTagsRequest struct {
		Resources []string `query:"ResourceId"`
		Tags      []tagXML `query:"Tag"`
	}
	deleteTagsRequest struct {
		Resources []string    `query:"ResourceId"`
		Tags      []deleteTag `query:"Tag"`
	}
	deleteTag struct {
		Key   string  `query:"Key"`
		Value *string `query:"Value"`
	}
	describeVolumesRequest struct {
		VolumeIDs  []string `query:"VolumeId"`
		Filters    []filter `query:"Filter"`
		MaxResults *int     `query:"MaxResults"`
		NextToken  string   `query:"NextToken"`
	}
	volumeAttachmentXML struct {
		VolumeID            string `xml:"volumeId"`
		InstanceID          string `xml:"instanceId"`
		Device              string `xml:"device"`
		Status              string `xml:"status"`
		AttachTime          string `xml:"attachTime"`
		DeleteOnTermination bool   `xml:"deleteOnTermination"`
	}
	describeVolumesResult struct {
		Volumes   set[volumeXML] `xml:"volumeSet"`
		NextToken string         `xml:"nextToken,omitempty"`
	}
	describeRouteTablesRequest struct {
		RouteTableIDs []string `query:"RouteTableId"`
		Filters       []filter `query:"Filter"`
		MaxResults    *int     `query:"MaxResults"`
		NextToken     string   `query:"NextToken"`
	}
	routeTableXML struct {
		RouteTableID string                   `xml:"routeTableId"`
		VpcID        string                   `xml:"vpcId"`
		OwnerID      string                   `xml:"ownerId"`
		Associations set[routeAssociationXML] `xml:"associationSet"`
		Routes       set[routeXML]            `xml:"routeSet"`
	}
	routeAssociationXML struct {
		Main                    bool   `xml:"main"`
		RouteTableAssociationID string `xml:"routeTableAssociationId"`
		RouteTableID            string `xml:"routeTableId"`
		SubnetID                string `xml:"subnetId,omitempty"`
	}
	routeXML struct {
		DestinationCidrBlock string `xml:"destinationCidrBlock"`
		GatewayID            string `xml:"gatewayId,omitempty"`
		NatGatewayID         string `xml:"natGatewayId,omitempty"`
		State                string `xml:"state"`
		Origin               string `xml:"origin"`
	}
	describeRouteTablesResult struct {
		RouteTables set[routeTableXML] `xml:"routeTableSet"`
		NextToken   string             `xml:"nextToken,omitempty"`
	}
	describeVpcEndpointsRequest struct {
		VpcEndpointIDs []string `query:"VpcEndpointId"`
		Filters        []filter `query:"Filter"`
		MaxResults     *int     `query:"MaxResults"`
		NextToken      string   `query:"NextToken"`
	}
	vpcEndpointXML struct {
		VpcEndpointID   string `xml:"vpcEndpointId"`
		VpcEndpointType string `xml:"vpcEndpointType"`
		VpcID           string `xml:"vpcId"`
		ServiceName     string `xml:"serviceName"`
		State           string `xml:"state"`
		OwnerID         string `xml:"ownerId"`
	}
	describeVpcEndpointsResult struct {
		VpcEndpoints set[vpcEndpointXML] `xml:"vpcEndpointSet"`
		NextToken    string              `xml:"nextToken,omitempty"`
	}
)
