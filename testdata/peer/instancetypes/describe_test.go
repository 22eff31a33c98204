package instancetypes

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
)

func small(n int) *int32 { return aws.Int32(int32(n)) }

// describe is the table's row as EC2's DescribeInstanceTypes describes the type.
func describe(t *builtin.InstanceType) ec2types.InstanceTypeInfo {
	info := ec2types.InstanceTypeInfo{
		InstanceType: ec2types.InstanceType(t.Name), BareMetal: aws.Bool(t.BareMetal),
		Hypervisor: ec2types.InstanceTypeHypervisor(t.Hypervisor),
		VCpuInfo:   &ec2types.VCpuInfo{DefaultVCpus: small(t.VCPUs)},
		MemoryInfo: &ec2types.MemoryInfo{SizeInMiB: &t.MemoryMiB},
		ProcessorInfo: &ec2types.ProcessorInfo{
			Manufacturer: &t.ProcessorManufacturer, SustainedClockSpeedInGhz: &t.SustainedClockGHz,
		},
		PlacementGroupInfo: &ec2types.PlacementGroupInfo{},
		EbsInfo:            &ec2types.EbsInfo{EbsOptimizedSupport: ec2types.EbsOptimizedSupport(t.EBS.OptimizedSupport)},
		NetworkInfo: &ec2types.NetworkInfo{
			DefaultNetworkCardIndex:      small(t.Network.DefaultCardIndex),
			Ipv4AddressesPerInterface:    small(t.Network.IPv4PerInterface),
			MaximumNetworkInterfaces:     small(t.Network.MaximumInterfaces),
			EncryptionInTransitSupported: &t.Network.EncryptionInTransit,
			EnaSupport:                   ec2types.EnaSupport(t.Network.ENASupport),
		},
	}
	for _, class := range t.UsageClasses {
		info.SupportedUsageClasses = append(info.SupportedUsageClasses, ec2types.UsageClassType(class))
	}
	for _, architecture := range t.Architectures {
		info.ProcessorInfo.SupportedArchitectures = append(
			info.ProcessorInfo.SupportedArchitectures, ec2types.ArchitectureType(architecture),
		)
	}
	if t.EBS.MaximumBandwidthMbps > 0 {
		info.EbsInfo.EbsOptimizedInfo = &ec2types.EbsOptimizedInfo{MaximumBandwidthInMbps: small(t.EBS.MaximumBandwidthMbps)}
	}
	if t.InstanceStorage.TotalGB > 0 {
		info.InstanceStorageInfo = &ec2types.InstanceStorageInfo{
			TotalSizeInGB: &t.InstanceStorage.TotalGB, NvmeSupport: ec2types.EphemeralNvmeSupport(t.InstanceStorage.NVMeSupport),
		}
	}
	for _, card := range t.Network.Cards {
		info.NetworkInfo.NetworkCards = append(info.NetworkInfo.NetworkCards, ec2types.NetworkCardInfo{
			NetworkCardIndex: small(card.Index), MaximumNetworkInterfaces: small(card.MaximumInterfaces),
		})
	}
	if t.Network.EFASupported {
		info.NetworkInfo.EfaInfo = &ec2types.EfaInfo{MaximumEfaInterfaces: small(t.Network.MaximumEFAInterfaces)}
	}
	describeDevices(t, &info)
	return info
}

func describeDevices(t *builtin.InstanceType, info *ec2types.InstanceTypeInfo) {
	if len(t.GPUs) > 0 {
		info.GpuInfo = &ec2types.GpuInfo{}
		for _, gpu := range t.GPUs {
			info.GpuInfo.Gpus = append(info.GpuInfo.Gpus, ec2types.GpuDeviceInfo{
				Name: aws.String(gpu.Name), Manufacturer: aws.String(gpu.Manufacturer), Count: small(gpu.Count),
				MemoryInfo: &ec2types.GpuDeviceMemoryInfo{SizeInMiB: small(int(gpu.MemoryMiB))},
			})
		}
	}
	if len(t.InferenceAccelerators) > 0 {
		info.InferenceAcceleratorInfo = &ec2types.InferenceAcceleratorInfo{}
		for _, a := range t.InferenceAccelerators {
			info.InferenceAcceleratorInfo.Accelerators = append(info.InferenceAcceleratorInfo.Accelerators,
				ec2types.InferenceDeviceInfo{
					Name: aws.String(a.Name), Manufacturer: aws.String(a.Manufacturer), Count: small(a.Count),
				})
		}
	}
	if len(t.NeuronDevices) > 0 {
		info.NeuronInfo = &ec2types.NeuronInfo{}
		for _, d := range t.NeuronDevices {
			info.NeuronInfo.NeuronDevices = append(info.NeuronInfo.NeuronDevices, ec2types.NeuronDeviceInfo{
				Name: aws.String(d.Name), Count: small(d.Count),
				CoreInfo: &ec2types.NeuronDeviceCoreInfo{Count: small(d.CoresPerDevice)},
			})
		}
	}
}
