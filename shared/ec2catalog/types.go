package ec2catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/shared/catalog"
)

func (r *Reader) instanceTypes(ctx context.Context) ([]catalog.InstanceTypeInfo, error) {
	pages := ec2.NewDescribeInstanceTypesPaginator(r.ec2, &ec2.DescribeInstanceTypesInput{
		MaxResults: aws.Int32(100),
		Filters: []types.Filter{
			{Name: aws.String("supported-virtualization-type"), Values: []string{"hvm"}},
			{Name: aws.String("processor-info.supported-architecture"), Values: []string{"x86_64", "arm64"}},
		},
	})
	var found []catalog.InstanceTypeInfo
	var unusable []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing instance types: %w", err)
		}
		for i := range page.InstanceTypes {
			made := info(&page.InstanceTypes[i])
			if made.InstanceType == "" || made.DefaultVCpus <= 0 || made.SizeInMiB <= 0 {
				unusable = append(unusable, made.InstanceType)
				continue
			}
			found = append(found, r.supplemented(made))
		}
	}
	if len(unusable) > 0 {
		slog.WarnContext(
			ctx, "ignoring instance types that EC2 describes without processors or memory", "instance-types", unusable,
		)
	}
	if len(found) == 0 {
		return nil, errors.New("listing instance types: EC2 describes none")
	}
	return found, nil
}

// supplemented adds facts that EC2 does not report: the network interfaces for pods, and the
// documented bandwidth. Over several cards that is not the sum of the cards' bandwidths.
func (r *Reader) supplemented(made catalog.InstanceTypeInfo) catalog.InstanceTypeInfo {
	made.Network.BranchInterfaces = r.supplement.BranchInterfaces[made.InstanceType]
	if documented := r.supplement.NetworkBaselineMbps[made.InstanceType]; documented > 0 {
		made.Network.BaselineBandwidthInMbps = documented
	}
	return made
}

// offerings returns the names of the zones that offer each type.
func (r *Reader) offerings(ctx context.Context) (map[string][]string, error) {
	pages := ec2.NewDescribeInstanceTypeOfferingsPaginator(
		r.ec2, &ec2.DescribeInstanceTypeOfferingsInput{
			LocationType: types.LocationTypeAvailabilityZone, MaxResults: aws.Int32(1000),
		},
	)
	zones := map[string][]string{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing the zones of instance types: %w", err)
		}
		for _, offering := range page.InstanceTypeOfferings {
			name := string(offering.InstanceType)
			zones[name] = append(zones[name], aws.ToString(offering.Location))
		}
	}
	return zones, nil
}

// zones also returns the groups of Local Zones, by the names of their zones.
func (r *Reader) zones(ctx context.Context) (zones []catalog.AvailabilityZone, local map[string]string, err error) {
	output, err := r.ec2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return nil, nil, fmt.Errorf("listing availability zones: %w", err)
	}
	local = map[string]string{}
	for _, zone := range output.AvailabilityZones {
		zones = append(
			zones, catalog.AvailabilityZone{ZoneName: aws.ToString(zone.ZoneName), ZoneID: aws.ToString(zone.ZoneId)},
		)
		if aws.ToString(zone.ZoneType) == localZone {
			local[aws.ToString(zone.ZoneName)] = aws.ToString(zone.GroupName)
		}
	}
	return zones, local, nil
}

// info returns the part of EC2's description of a type that planning needs.
func info(described *types.InstanceTypeInfo) catalog.InstanceTypeInfo {
	made := catalog.InstanceTypeInfo{
		InstanceType:         string(described.InstanceType),
		Hypervisor:           string(described.Hypervisor),
		BareMetal:            aws.ToBool(described.BareMetal),
		NitroEnclavesSupport: described.NitroEnclavesSupport == types.NitroEnclavesSupportSupported,
	}
	for _, class := range described.SupportedUsageClasses {
		made.SupportedUsageClasses = append(made.SupportedUsageClasses, string(class))
	}
	if cpu := described.VCpuInfo; cpu != nil {
		made.DefaultVCpus = int(aws.ToInt32(cpu.DefaultVCpus))
	}
	if memory := described.MemoryInfo; memory != nil {
		made.SizeInMiB = aws.ToInt64(memory.SizeInMiB)
	}
	if processor := described.ProcessorInfo; processor != nil {
		made.Manufacturer = aws.ToString(processor.Manufacturer)
		made.SustainedClockSpeedInGhz = aws.ToFloat64(processor.SustainedClockSpeedInGhz)
		for _, architecture := range processor.SupportedArchitectures {
			made.SupportedArchitectures = append(made.SupportedArchitectures, string(architecture))
		}
		for _, feature := range processor.SupportedFeatures {
			made.SupportedFeatures = append(made.SupportedFeatures, string(feature))
		}
	}
	if disk := described.EbsInfo; disk != nil {
		made.EbsOptimizedSupport = string(disk.EbsOptimizedSupport)
		made.MaximumEbsAttachments = int(aws.ToInt32(disk.MaximumEbsAttachments))
		made.AttachmentLimitType = string(disk.AttachmentLimitType)
		if disk.EbsOptimizedInfo != nil {
			made.MaximumBandwidthInMbps = int(aws.ToInt32(disk.EbsOptimizedInfo.MaximumBandwidthInMbps))
		}
	}
	if storage := described.InstanceStorageInfo; storage != nil {
		made.TotalSizeInGB, made.NvmeSupport = aws.ToInt64(storage.TotalSizeInGB), string(storage.NvmeSupport)
	}
	if described.PlacementGroupInfo != nil {
		for _, strategy := range described.PlacementGroupInfo.SupportedStrategies {
			made.PlacementGroupStrategies = append(made.PlacementGroupStrategies, string(strategy))
		}
	}
	if described.NetworkInfo != nil {
		made.Network = network(described.NetworkInfo)
	}
	addDevices(&made, described)
	return made
}

func network(described *types.NetworkInfo) catalog.NetworkInfo {
	made := catalog.NetworkInfo{
		MaximumNetworkInterfaces:  int(aws.ToInt32(described.MaximumNetworkInterfaces)),
		MaximumNetworkCards:       int(aws.ToInt32(described.MaximumNetworkCards)),
		Ipv4AddressesPerInterface: int(aws.ToInt32(described.Ipv4AddressesPerInterface)),
		EncryptionInTransit:       aws.ToBool(described.EncryptionInTransitSupported),
		EnaSupport:                string(described.EnaSupport),
	}
	if described.EfaInfo != nil {
		made.MaximumEfaInterfaces = int(aws.ToInt32(described.EfaInfo.MaximumEfaInterfaces))
	}
	main := int(aws.ToInt32(described.DefaultNetworkCardIndex))
	baseline := 0.0
	for _, card := range described.NetworkCards {
		baseline += aws.ToFloat64(card.BaselineBandwidthInGbps) * 1000
		// Only the default card's interfaces have addresses for pods.
		if int(aws.ToInt32(card.NetworkCardIndex)) == main {
			made.MaximumNetworkInterfaces = int(aws.ToInt32(card.MaximumNetworkInterfaces))
		}
	}
	made.BaselineBandwidthInMbps = int(math.Round(baseline))
	made.CardInterfaces = cardInterfaces(described.NetworkCards)
	return made
}

// cardInterfaces returns the number of interfaces of each card by index, for types with several
// cards.
func cardInterfaces(cards []types.NetworkCardInfo) []int {
	if len(cards) < 2 {
		return nil
	}
	interfaces := make([]int, len(cards))
	for _, card := range cards {
		if i := int(aws.ToInt32(card.NetworkCardIndex)); i >= 0 && i < len(interfaces) {
			interfaces[i] = int(aws.ToInt32(card.MaximumNetworkInterfaces))
		}
	}
	return interfaces
}

func addDevices(made *catalog.InstanceTypeInfo, described *types.InstanceTypeInfo) {
	if described.GpuInfo != nil {
		for _, gpu := range described.GpuInfo.Gpus {
			device := catalog.Device{
				Name: aws.ToString(gpu.Name), Manufacturer: aws.ToString(gpu.Manufacturer), Count: int(aws.ToInt32(gpu.Count)),
			}
			if gpu.MemoryInfo != nil {
				device.MemoryInMiB = int64(aws.ToInt32(gpu.MemoryInfo.SizeInMiB))
			}
			made.Gpus = append(made.Gpus, device)
		}
	}
	if described.InferenceAcceleratorInfo != nil {
		for _, accelerator := range described.InferenceAcceleratorInfo.Accelerators {
			made.InferenceAccelerators = append(made.InferenceAccelerators, catalog.Device{
				Name: aws.ToString(accelerator.Name), Manufacturer: aws.ToString(accelerator.Manufacturer),
				Count: int(aws.ToInt32(accelerator.Count)),
			})
		}
	}
	if described.NeuronInfo != nil {
		for _, neuron := range described.NeuronInfo.NeuronDevices {
			device := catalog.Device{Name: aws.ToString(neuron.Name), Count: int(aws.ToInt32(neuron.Count))}
			if neuron.CoreInfo != nil {
				device.CoreCount = int(aws.ToInt32(neuron.CoreInfo.Count))
			}
			made.NeuronDevices = append(made.NeuronDevices, device)
		}
	}
}
