package ec2

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
)

// inferenceAcceleratorInfoXML is written by hand, because its list's elements are called member.
// EC2 calls them item everywhere else.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InferenceAcceleratorInfo.html
type inferenceAcceleratorInfoXML struct {
	// EC2 calls the list's elements member here and item everywhere else.
	Accelerators struct {
		Items []inferenceDeviceXML `xml:"member"`
	} `xml:"accelerators"`
	TotalInferenceMemoryInMiB int64 `xml:"totalInferenceMemoryInMiB"`
}

func describeType(t *builtin.InstanceType) instanceTypeXML {
	x := instanceTypeXML{
		InstanceType: t.Name, CurrentGeneration: t.CurrentGeneration, SupportedUsageClasses: setOf(t.UsageClasses),
		SupportedRootDeviceTypes: setOf([]string{"ebs"}), SupportedVirtualizationTypes: setOf(virtualization(t)),
		BareMetal: t.BareMetal, Hypervisor: t.Hypervisor,
		ProcessorInfo: processorInfoXML{
			SupportedArchitectures: setOf(t.Architectures), SustainedClockSpeedInGhz: t.SustainedClockGHz,
			Manufacturer: t.ProcessorManufacturer,
		},
		VCPUInfo:   vCPUInfoXML{DefaultVCpus: t.VCPUs, DefaultCores: t.CoresDefault, DefaultThreadsPerCore: t.ThreadsPerCore},
		MemoryInfo: memoryXML{t.MemoryMiB}, EbsInfo: describeEBS(t), NetworkInfo: describeNetwork(&t.Network),
		BurstablePerformanceSupported: t.BurstablePerformance,
		NitroEnclavesSupport:          supported(t.NitroEnclaves), NitroTpmSupport: supported(t.NitroTPM),
		SupportedInRegion: true,
	}
	if len(t.ProcessorFeatures) > 0 {
		features := setOf(t.ProcessorFeatures)
		x.ProcessorInfo.SupportedFeatures = &features
	}
	describeStorage(t, &x)
	describeAccelerators(t, &x)
	describeBoot(t, &x)
	return x
}

func describeStorage(t *builtin.InstanceType, x *instanceTypeXML) {
	if len(t.InstanceStorage.Disks) == 0 {
		return
	}
	x.InstanceStorageSupported = true
	encryption := "unsupported"
	if t.InstanceStorage.NVMeSupport == "required" {
		encryption = "required"
	}
	info := &instanceStorageXML{
		TotalSizeInGB: t.InstanceStorage.TotalGB, NvmeSupport: t.InstanceStorage.NVMeSupport, EncryptionSupport: encryption,
	}
	for _, disk := range t.InstanceStorage.Disks {
		info.Disks.Items = append(info.Disks.Items, diskXML{SizeInGB: disk.SizeGB, Count: disk.Count, Type: disk.Type})
	}
	x.InstanceStorageInfo = info
}

func describeEBS(t *builtin.InstanceType) ebsInfoXML {
	x := ebsInfoXML{
		EbsOptimizedSupport: t.EBS.OptimizedSupport, EncryptionSupport: "supported", NvmeSupport: "unsupported",
		MaximumEbsAttachments: t.EBS.MaximumAttachments, AttachmentLimitType: t.EBS.AttachmentLimitType,
	}
	if t.Hypervisor != "xen" {
		x.NvmeSupport = "required"
	}
	if t.EBS.MaximumBandwidthMbps > 0 {
		x.EbsOptimizedInfo = &ebsOptimizedInfoXML{
			BaselineBandwidthInMbps:  t.EBS.BaselineBandwidthMbps,
			BaselineThroughputInMBps: float64(t.EBS.BaselineBandwidthMbps) / 8,
			MaximumBandwidthInMbps:   t.EBS.MaximumBandwidthMbps,
			MaximumThroughputInMBps:  float64(t.EBS.MaximumBandwidthMbps) / 8,
		}
	}
	return x
}

func describeNetwork(n *builtin.Network) networkInfoXML {
	x := networkInfoXML{
		NetworkPerformance: n.Performance, MaximumNetworkInterfaces: n.MaximumInterfaces, MaximumNetworkCards: len(n.Cards),
		DefaultNetworkCardIndex: n.DefaultCardIndex, Ipv4AddressesPerInterface: n.IPv4PerInterface,
		Ipv6AddressesPerInterface: n.IPv6PerInterface,
		Ipv6Supported:             n.IPv6PerInterface > 0, EnaSupport: n.ENASupport, EfaSupported: n.EFASupported,
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

func describeAccelerators(t *builtin.InstanceType, x *instanceTypeXML) {
	if len(t.GPUs) > 0 {
		x.GpuInfo = &gpuInfoXML{}
		for _, g := range t.GPUs {
			x.GpuInfo.Gpus.Items = append(x.GpuInfo.Gpus.Items, gpuXML{
				Name: g.Name, Manufacturer: g.Manufacturer, Count: g.Count, LogicalGpuCount: g.LogicalCount,
				GpuPartitionSize: g.PartitionSize,
				MemoryInfo:       memoryXML{g.MemoryMiB},
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

// virtualization is hvm for every type. Types that run 32-bit images have paravirtual too.
func virtualization(t *builtin.InstanceType) []string {
	if slices.Contains(t.Architectures, "i386") && t.Hypervisor == "xen" && !t.CurrentGeneration {
		return []string{"hvm", "paravirtual"}
	}
	return []string{"hvm"}
}

// describeBoot fills in placement strategies, NitroTPM and boot modes.
func describeBoot(t *builtin.InstanceType, x *instanceTypeXML) {
	x.PlacementGroupInfo.SupportedStrategies = setOf(t.PlacementStrategies)
	if t.NitroTPM {
		x.NitroTpmInfo = &nitroTPMInfoXML{setOf([]string{"2.0"})}
	}
	switch {
	case t.Architectures[0] == "arm64":
		x.SupportedBootModes = setOf([]string{"uefi"})
	case t.Hypervisor == "xen":
		x.SupportedBootModes = setOf([]string{"legacy-bios"})
	default:
		x.SupportedBootModes = setOf([]string{"legacy-bios", "uefi"})
	}
}
