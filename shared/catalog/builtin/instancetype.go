package builtin

// InstanceType holds the table's facts about one EC2 instance type.
type InstanceType struct {
	// Name is the type's name, such as m5.large.
	Name string
	// VCPUs is the default number of vCPUs: CoresDefault times ThreadsPerCore.
	VCPUs          int
	CoresDefault   int
	ThreadsPerCore int
	// MemoryMiB is the memory the instance is sold with; the operating system sees somewhat less.
	MemoryMiB int64

	// Architectures are i386, x86_64 and arm64.
	Architectures []string
	// ProcessorManufacturer is Intel, AMD or AWS.
	ProcessorManufacturer string
	// SustainedClockGHz is 0 for the oldest types, for which EC2 names none.
	SustainedClockGHz float64
	// ProcessorFeatures are EC2's names, such as nested-virtualization and amd-sev-snp.
	ProcessorFeatures []string
	// Hypervisor is nitro or xen, and empty for bare metal.
	Hypervisor           string
	BareMetal            bool
	BurstablePerformance bool
	CurrentGeneration    bool
	// UsageClasses are on-demand, spot and capacity-block.
	UsageClasses []string

	// GPUs has one entry for each model of GPU, not for each GPU.
	GPUs []GPU
	// InferenceAccelerators and NeuronDevices may describe the same devices. EC2 describes
	// Inferentia in both ways, and Trainium only as NeuronDevices.
	InferenceAccelerators []InferenceAccelerator
	NeuronDevices         []NeuronDevice

	InstanceStorage InstanceStorage
	EBS             EBS
	Network         Network

	// NitroEnclaves and NitroTPM are EC2's supported and unsupported.
	NitroEnclaves bool
	NitroTPM      bool
	// PlacementStrategies are the placement groups that instances can be in: cluster, partition and
	// spread.
	PlacementStrategies []string

	// OnDemandPrice is US dollars an hour in us-east-1, for Linux and shared tenancy (bare metal
	// types too).
	OnDemandPrice float64
	// Zones are the zones of us-east-1 that offer the type, sorted. It is never empty.
	Zones []string
}

// GPU is one model of GPU in an instance type.
type GPU struct {
	Name         string
	Manufacturer string
	// Count is the number of whole GPUs. EC2 says 0 where an instance gets a part of one;
	// LogicalCount is then 1.
	Count int
	// MemoryMiB is the memory of each GPU (or of the part).
	MemoryMiB    int64
	LogicalCount int
	// PartitionSize is the part of a GPU that each logical GPU is: 1 for a whole one.
	PartitionSize float64
}

// InferenceAccelerator is one model of inference chip in an instance type.
type InferenceAccelerator struct {
	Name         string
	Manufacturer string
	Count        int
	// MemoryMiB is the memory of each accelerator.
	MemoryMiB int64
}

// NeuronDevice is one model of AWS Inferentia or Trainium chip in an instance type. Its
// manufacturer is always AWS.
type NeuronDevice struct {
	Name  string
	Count int
	// MemoryMiB is the memory of each device.
	MemoryMiB int64
	// CoresPerDevice is the number of Neuron cores in each device.
	CoresPerDevice int
	CoreVersion    int
}

// InstanceStorage is the local storage of an instance type. It is the zero value where there is
// none.
type InstanceStorage struct {
	// TotalGB is the sum over Disks, in GB of 10^9 bytes.
	TotalGB int64
	// NVMeSupport is EC2's value: required, supported or unsupported. It is empty without local
	// storage.
	NVMeSupport string
	Disks       []Disk
}

// Disk is a number of equal local disks.
type Disk struct {
	Count  int
	SizeGB int64
	// Type is ssd or hdd.
	Type string
}

// EBS describes an instance type's access to EBS volumes.
type EBS struct {
	// OptimizedSupport is EC2's value: default, supported (at an extra price) or unsupported. The
	// bandwidths are 0 where it is unsupported.
	OptimizedSupport      string
	BaselineBandwidthMbps int
	MaximumBandwidthMbps  int
	// MaximumAttachments counts volumes. Where AttachmentLimitType is shared, network interfaces
	// and NVMe disks count against it too; where it is dedicated they do not.
	MaximumAttachments  int
	AttachmentLimitType string
}

// Network describes an instance type's network in a VPC.
type Network struct {
	// Performance is EC2's text, such as "Up to 10 Gigabit".
	Performance string
	// BaselineBandwidthMbps is the sustained bandwidth of all cards. It is 0 where AWS documents
	// only a word such as Moderate.
	BaselineBandwidthMbps int
	// Cards are sorted by index and never empty.
	Cards            []NetworkCard
	DefaultCardIndex int
	// MaximumInterfaces is over all cards; the cards' own numbers bind each card.
	MaximumInterfaces int
	IPv4PerInterface  int
	IPv6PerInterface  int
	// ENASupport is EC2's value: required, supported or unsupported.
	ENASupport           string
	EFASupported         bool
	MaximumEFAInterfaces int
	EncryptionInTransit  bool
	// BranchInterfaces is the number of vpc.amazonaws.com/pod-eni that a node of this type has, 0
	// where it cannot carry a trunk interface.
	BranchInterfaces int
}

// NetworkCard is one network card of an instance type.
type NetworkCard struct {
	Index             int
	MaximumInterfaces int
	// BaselineBandwidthGbps and PeakBandwidthGbps are DescribeInstanceTypes' numbers for this card.
	// Over several cards the baselines may add up to more than Network.BaselineBandwidthMbps, which
	// is what the instance as a whole is documented to hold.
	BaselineBandwidthGbps float64
	PeakBandwidthGbps     float64
}
