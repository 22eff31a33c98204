package catalog

import "time"

// Catalog holds all facts about EC2's offer in one region at one time. functions/catalog writes it
// to a ConfigMap and other functions read it, so its JSON is compact: absent means zero, and prices
// are beside their type.
type Catalog struct {
	// Time is the time at which the facts were read.
	Time time.Time `json:"time"`
	// Region is the region's name, such as us-east-1.
	Region string `json:"region"`
	// Zones are the region's availability zones.
	Zones []AvailabilityZone `json:"zones"`
	// SpotPriceTime is the time at which spot prices were last read. If it is zero, on-demand
	// prices replace them.
	SpotPriceTime time.Time `json:"spotPriceTime,omitzero"`
	// Prices describes the age and currency of the prices.
	Prices Prices `json:"prices,omitzero"`
	// VolumePrices are those of the price list. VolumePricesOf fills the gaps.
	VolumePrices VolumePrices `json:"volumePrices,omitempty"`
	// Settings are the same for all nodes of the cluster.
	Settings Settings `json:"settings,omitzero"`
	// InstanceTypes are sorted by name.
	InstanceTypes []InstanceTypeInfo `json:"instanceTypes"`
}

// AvailabilityZone is a zone's name, which each account maps in its own way, and its id, which
// names the same zone in every account.
type AvailabilityZone struct {
	ZoneName string `json:"zoneName"`
	ZoneID   string `json:"zoneId"`
}

// InstanceTypeInfo are the facts of one instance type, named as in EC2's DescribeInstanceTypes
// (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceTypeInfo.html) unless said
// otherwise.
type InstanceTypeInfo struct {
	InstanceType string `json:"instanceType"`
	// DefaultVCpus is VCpuInfo.DefaultVCpus.
	DefaultVCpus int `json:"defaultVCpus"`
	// SizeInMiB is MemoryInfo.SizeInMiB.
	SizeInMiB int64 `json:"sizeInMiB"`
	// SupportedArchitectures are x86_64, arm64, i386 and their like, in EC2's order.
	SupportedArchitectures []string `json:"supportedArchitectures"`
	// SupportedUsageClasses are on-demand, spot and capacity-block.
	SupportedUsageClasses []string `json:"supportedUsageClasses"`
	// Hypervisor is nitro or xen, empty for bare metal.
	Hypervisor string `json:"hypervisor,omitempty"`
	BareMetal  bool   `json:"bareMetal,omitempty"`
	// Manufacturer and SustainedClockSpeedInGhz are ProcessorInfo's; SupportedFeatures too, such as
	// nested-virtualization.
	Manufacturer             string   `json:"manufacturer,omitempty"`
	SustainedClockSpeedInGhz float64  `json:"sustainedClockSpeedInGhz,omitempty"`
	SupportedFeatures        []string `json:"supportedFeatures,omitempty"`
	// PlacementGroupStrategies are PlacementGroupInfo.SupportedStrategies: cluster, partition and
	// spread.
	PlacementGroupStrategies []string `json:"placementGroupStrategies,omitempty"`
	// NitroEnclavesSupport says whether it is "supported".
	NitroEnclavesSupport bool `json:"nitroEnclavesSupport,omitempty"`

	Network NetworkInfo `json:"network"`

	// EbsOptimizedSupport is default, supported or unsupported; MaximumBandwidthInMbps is
	// EbsOptimizedInfo's.
	EbsOptimizedSupport    string `json:"ebsOptimizedSupport,omitempty"`
	MaximumBandwidthInMbps int    `json:"maximumBandwidthInMbps,omitempty"`
	// MaximumEbsAttachments is EbsInfo's, zero if it is not known. With the AttachmentLimitType shared,
	// network interfaces after the first take from it.
	MaximumEbsAttachments int    `json:"maximumEbsAttachments,omitempty"`
	AttachmentLimitType   string `json:"attachmentLimitType,omitempty"`
	// TotalSizeInGB and NvmeSupport (required, supported, unsupported) are InstanceStorageInfo's,
	// zero without own disks.
	TotalSizeInGB int64  `json:"totalSizeInGB,omitempty"`
	NvmeSupport   string `json:"nvmeSupport,omitempty"`

	Gpus                  []Device `json:"gpus,omitempty"`
	InferenceAccelerators []Device `json:"inferenceAccelerators,omitempty"`
	NeuronDevices         []Device `json:"neuronDevices,omitempty"`

	// Zones are the names of the zones that offer the type (DescribeInstanceTypeOfferings).
	Zones []string `json:"zones"`
	// OnDemandPrice is the price for Linux with shared tenancy, in US dollars (or the snapshot's
	// currency) an hour; zero if unknown.
	OnDemandPrice float64 `json:"onDemandPrice,omitempty"`
	// ZonePrices are the on-demand prices in zones that have their own, by zone name: Local Zones.
	ZonePrices map[string]float64 `json:"zonePrices,omitempty"`
	// BuiltinPrice is true where the price list had no price, and OnDemandPrice is a built-in one.
	BuiltinPrice bool `json:"builtinPrice,omitempty"`
	// SpotPrices are the latest prices for Linux in US dollars an hour, by zone name. A zone
	// without a price is not in the map.
	SpotPrices map[string]float64 `json:"spotPrices,omitempty"`
}

// NetworkInfo is an instance type's network.
type NetworkInfo struct {
	// MaximumNetworkInterfaces is that of the default network card
	// (NetworkCards[DefaultNetworkCardIndex]), which carries the pods' addresses.
	MaximumNetworkInterfaces int `json:"maximumNetworkInterfaces"`
	// MaximumNetworkCards is the number of cards.
	MaximumNetworkCards int `json:"maximumNetworkCards,omitempty"`
	// CardInterfaces is how many interfaces each card carries, by NetworkCardIndex, where there is
	// more than one card.
	CardInterfaces            []int `json:"cardInterfaces,omitempty"`
	Ipv4AddressesPerInterface int   `json:"ipv4AddressesPerInterface"`
	EncryptionInTransit       bool  `json:"encryptionInTransitSupported,omitempty"`
	// EnaSupport is required, supported or unsupported; empty counts as supported.
	EnaSupport string `json:"enaSupport,omitempty"`
	// MaximumEfaInterfaces is EfaInfo's, zero without EFA.
	MaximumEfaInterfaces int `json:"maximumEfaInterfaces,omitempty"`
	// BaselineBandwidthInMbps is over all cards; zero if it is not known.
	BaselineBandwidthInMbps int `json:"baselineBandwidthInMbps,omitempty"`
	// BranchInterfaces is how many pods can have a branch network interface, from the VPC resource
	// controller's table; zero without trunking.
	BranchInterfaces int `json:"branchInterfaces,omitempty"`
}

// Device is one model of GPU, inference accelerator or Neuron device in an instance type.
type Device struct {
	Name         string `json:"name"`
	Manufacturer string `json:"manufacturer,omitempty"`
	// Count is the number of whole devices.
	Count int `json:"count"`
	// MemoryInMiB is that of each device.
	MemoryInMiB int64 `json:"memoryInMiB,omitempty"`
	// CoreCount is the number of Neuron cores of each device.
	CoreCount int `json:"coreCount,omitempty"`
}
