package ec2

import (
	"slices"

	"github.com/whittle-dev/whittle/testdata/instancetypes"
)

// The structures below are the InstanceTypeInfo of EC2's XML, so far as the table of instance types knows the facts.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceTypeInfo.html

type instanceTypeXML struct {
	InstanceType                  string                       `xml:"instanceType"`
	CurrentGeneration             bool                         `xml:"currentGeneration"`
	SupportedUsageClasses         set[string]                  `xml:"supportedUsageClasses"`
	SupportedRootDeviceTypes      set[string]                  `xml:"supportedRootDeviceTypes"`
	SupportedVirtualizationTypes  set[string]                  `xml:"supportedVirtualizationTypes"`
	BareMetal                     bool                         `xml:"bareMetal"`
	Hypervisor                    string                       `xml:"hypervisor,omitempty"`
	ProcessorInfo                 processorInfoXML             `xml:"processorInfo"`
	VCpuInfo                      vCPUInfoXML                  `xml:"vCpuInfo"`
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
	instanceTypePlacementXML
}

type processorInfoXML struct {
	SupportedArchitectures   set[string]  `xml:"supportedArchitectures"`
	SustainedClockSpeedInGhz float64      `xml:"sustainedClockSpeedInGhz,omitempty"`
	SupportedFeatures        *set[string] `xml:"supportedFeatures"`
	Manufacturer             string       `xml:"manufacturer"`
}

type vCPUInfoXML struct {
	DefaultVCpus          int `xml:"defaultVCpus"`
	DefaultCores          int `xml:"defaultCores"`
	DefaultThreadsPerCore int `xml:"defaultThreadsPerCore"`
}

type memoryXML struct {
	SizeInMiB int64 `xml:"sizeInMiB"`
}

type instanceStorageXML struct {
	TotalSizeInGB     int64        `xml:"totalSizeInGB"`
	Disks             set[diskXML] `xml:"disks"`
	NvmeSupport       string       `xml:"nvmeSupport"`
	EncryptionSupport string       `xml:"encryptionSupport"`
}

type diskXML struct {
	SizeInGB int64  `xml:"sizeInGB"`
	Count    int    `xml:"count"`
	Type     string `xml:"type"`
}

type ebsInfoXML struct {
	EbsOptimizedSupport   string               `xml:"ebsOptimizedSupport"`
	EncryptionSupport     string               `xml:"encryptionSupport"`
	EbsOptimizedInfo      *ebsOptimizedInfoXML `xml:"ebsOptimizedInfo"`
	NvmeSupport           string               `xml:"nvmeSupport"`
	MaximumEbsAttachments int                  `xml:"maximumEbsAttachments,omitempty"`
	AttachmentLimitType   string               `xml:"attachmentLimitType,omitempty"`
}

type ebsOptimizedInfoXML struct {
	BaselineBandwidthInMbps  int     `xml:"baselineBandwidthInMbps"`
	BaselineThroughputInMBps float64 `xml:"baselineThroughputInMBps"`
	MaximumBandwidthInMbps   int     `xml:"maximumBandwidthInMbps"`
	MaximumThroughputInMBps  float64 `xml:"maximumThroughputInMBps"`
}

type networkInfoXML struct {
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

type networkCardXML struct {
	NetworkCardIndex         int     `xml:"networkCardIndex"`
	NetworkPerformance       string  `xml:"networkPerformance"`
	MaximumNetworkInterfaces int     `xml:"maximumNetworkInterfaces"`
	BaselineBandwidthInGbps  float64 `xml:"baselineBandwidthInGbps,omitempty"`
	PeakBandwidthInGbps      float64 `xml:"peakBandwidthInGbps,omitempty"`
}

type efaInfoXML struct {
	MaximumEfaInterfaces int `xml:"maximumEfaInterfaces"`
}

type gpuInfoXML struct {
	Gpus                set[gpuXML] `xml:"gpus"`
	TotalGpuMemoryInMiB int64       `xml:"totalGpuMemoryInMiB"`
}

type gpuXML struct {
	Name             string    `xml:"name"`
	Manufacturer     string    `xml:"manufacturer"`
	Count            int       `xml:"count"`
	LogicalGpuCount  int       `xml:"logicalGpuCount"`
	GpuPartitionSize float64   `xml:"gpuPartitionSize"`
	MemoryInfo       memoryXML `xml:"memoryInfo"`
}

type inferenceAcceleratorInfoXML struct {
	// EC2 calls the list's elements member here and item everywhere else.
	Accelerators struct {
		Items []inferenceDeviceXML `xml:"member"`
	} `xml:"accelerators"`
	TotalInferenceMemoryInMiB int64 `xml:"totalInferenceMemoryInMiB"`
}

type inferenceDeviceXML struct {
	Count        int       `xml:"count"`
	Name         string    `xml:"name"`
	Manufacturer string    `xml:"manufacturer"`
	MemoryInfo   memoryXML `xml:"memoryInfo"`
}

type neuronInfoXML struct {
	NeuronDevices                set[neuronDeviceXML] `xml:"neuronDevices"`
	TotalNeuronDeviceMemoryInMiB int64                `xml:"totalNeuronDeviceMemoryInMiB"`
}

type neuronDeviceXML struct {
	Count    int    `xml:"count"`
	Name     string `xml:"name"`
	CoreInfo struct {
		Count   int `xml:"count"`
		Version int `xml:"version"`
	} `xml:"coreInfo"`
	MemoryInfo memoryXML `xml:"memoryInfo"`
}

func describeType(t *instancetypes.InstanceType) instanceTypeXML {
	x := instanceTypeXML{
		InstanceType: t.Name, CurrentGeneration: t.CurrentGeneration, SupportedUsageClasses: setOf(t.UsageClasses),
		SupportedRootDeviceTypes: setOf([]string{"ebs"}), SupportedVirtualizationTypes: setOf(virtualization(t)),
		BareMetal: t.BareMetal, Hypervisor: t.Hypervisor,
		ProcessorInfo: processorInfoXML{
			SupportedArchitectures: setOf(t.Architectures), SustainedClockSpeedInGhz: t.SustainedClockGHz, Manufacturer: t.ProcessorManufacturer,
		},
		VCpuInfo:   vCPUInfoXML{DefaultVCpus: t.VCPUs, DefaultCores: t.CoresDefault, DefaultThreadsPerCore: t.ThreadsPerCore},
		MemoryInfo: memoryXML{t.MemoryMiB}, EbsInfo: describeEBS(t), NetworkInfo: describeNetwork(&t.Network),
		BurstablePerformanceSupported: t.BurstablePerformance,
		NitroEnclavesSupport:          supported(t.NitroEnclaves), NitroTpmSupport: supported(t.NitroTPM), SupportedInRegion: true,
		instanceTypePlacementXML: describeTypePlacement(t),
	}
	if len(t.ProcessorFeatures) > 0 {
		features := setOf(t.ProcessorFeatures)
		x.ProcessorInfo.SupportedFeatures = &features
	}
	describeStorage(t, &x)
	describeAccelerators(t, &x)
	return x
}

func describeStorage(t *instancetypes.InstanceType, x *instanceTypeXML) {
	if len(t.InstanceStorage.Disks) == 0 {
		return
	}
	x.InstanceStorageSupported = true
	encryption := "unsupported"
	if t.InstanceStorage.NVMeSupport == "required" {
		encryption = "required"
	}
	info := &instanceStorageXML{TotalSizeInGB: t.InstanceStorage.TotalGB, NvmeSupport: t.InstanceStorage.NVMeSupport, EncryptionSupport: encryption}
	for _, disk := range t.InstanceStorage.Disks {
		info.Disks.Items = append(info.Disks.Items, diskXML{SizeInGB: disk.SizeGB, Count: disk.Count, Type: disk.Type})
	}
	x.InstanceStorageInfo = info
}

func describeEBS(t *instancetypes.InstanceType) ebsInfoXML {
	x := ebsInfoXML{
		EbsOptimizedSupport: t.EBS.OptimizedSupport, EncryptionSupport: "supported", NvmeSupport: "unsupported",
		MaximumEbsAttachments: t.EBS.MaximumAttachments, AttachmentLimitType: t.EBS.AttachmentLimitType,
	}
	if t.Hypervisor != "xen" {
		x.NvmeSupport = "required"
	}
	if t.EBS.MaximumBandwidthMbps > 0 {
		x.EbsOptimizedInfo = &ebsOptimizedInfoXML{
			BaselineBandwidthInMbps: t.EBS.BaselineBandwidthMbps, BaselineThroughputInMBps: float64(t.EBS.BaselineBandwidthMbps) / 8,
			MaximumBandwidthInMbps: t.EBS.MaximumBandwidthMbps, MaximumThroughputInMBps: float64(t.EBS.MaximumBandwidthMbps) / 8,
		}
	}
	return x
}

func describeNetwork(n *instancetypes.Network) networkInfoXML {
	x := networkInfoXML{
		NetworkPerformance: n.Performance, MaximumNetworkInterfaces: n.MaximumInterfaces, MaximumNetworkCards: len(n.Cards),
		DefaultNetworkCardIndex: n.DefaultCardIndex, Ipv4AddressesPerInterface: n.IPv4PerInterface, Ipv6AddressesPerInterface: n.IPv6PerInterface,
		Ipv6Supported: n.IPv6PerInterface > 0, EnaSupport: n.ENASupport, EfaSupported: n.EFASupported,
		EncryptionInTransitSupported: n.EncryptionInTransit,
	}
	if n.EFASupported {
		x.EfaInfo = &efaInfoXML{n.MaximumEFAInterfaces}
	}
	for _, card := range n.Cards {
		x.NetworkCards.Items = append(x.NetworkCards.Items, networkCardXML{
			NetworkCardIndex: card.Index, NetworkPerformance: n.Performance, MaximumNetworkInterfaces: card.MaximumInterfaces,
			BaselineBandwidthInGbps: card.BaselineBandwidthGbps, PeakBandwidthInGbps: card.PeakBandwidthGbps,
		})
	}
	return x
}

func describeAccelerators(t *instancetypes.InstanceType, x *instanceTypeXML) {
	if len(t.GPUs) > 0 {
		x.GpuInfo = &gpuInfoXML{}
		for _, g := range t.GPUs {
			x.GpuInfo.Gpus.Items = append(x.GpuInfo.Gpus.Items, gpuXML{
				Name: g.Name, Manufacturer: g.Manufacturer, Count: g.Count, LogicalGpuCount: g.LogicalCount, GpuPartitionSize: g.PartitionSize,
				MemoryInfo: memoryXML{g.MemoryMiB},
			})
			x.GpuInfo.TotalGpuMemoryInMiB += int64(max(g.Count, 1)) * g.MemoryMiB
		}
	}
	if len(t.InferenceAccelerators) > 0 {
		x.InferenceAcceleratorInfo = &inferenceAcceleratorInfoXML{}
		for _, a := range t.InferenceAccelerators {
			info := x.InferenceAcceleratorInfo
			info.Accelerators.Items = append(info.Accelerators.Items, inferenceDeviceXML{
				Count: a.Count, Name: a.Name, Manufacturer: a.Manufacturer, MemoryInfo: memoryXML{a.MemoryMiB},
			})
			info.TotalInferenceMemoryInMiB += int64(a.Count) * a.MemoryMiB
		}
	}
	if len(t.NeuronDevices) > 0 {
		x.NeuronInfo = &neuronInfoXML{}
		for _, d := range t.NeuronDevices {
			device := neuronDeviceXML{Count: d.Count, Name: d.Name, MemoryInfo: memoryXML{d.MemoryMiB}}
			device.CoreInfo.Count, device.CoreInfo.Version = d.CoresPerDevice, d.CoreVersion
			x.NeuronInfo.NeuronDevices.Items = append(x.NeuronInfo.NeuronDevices.Items, device)
			x.NeuronInfo.TotalNeuronDeviceMemoryInMiB += int64(d.Count) * d.MemoryMiB
		}
	}
}

func supported(yes bool) string {
	if yes {
		return "supported"
	}
	return "unsupported"
}

// virtualization is hvm for every type, and paravirtual too for the types that still run 32-bit images.
func virtualization(t *instancetypes.InstanceType) []string {
	if slices.Contains(t.Architectures, "i386") && t.Hypervisor == "xen" && !t.CurrentGeneration {
		return []string{"hvm", "paravirtual"}
	}
	return []string{"hvm"}
}
