package main

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/shared/catalog"
)

// linux is the product whose spot prices count.
const linux = "Linux/UNIX"

func (h *handler) instanceTypes(ctx context.Context) ([]catalog.InstanceTypeInfo, error) {
	pages := ec2.NewDescribeInstanceTypesPaginator(h.ec2, &ec2.DescribeInstanceTypesInput{
		MaxResults: aws.Int32(100),
		Filters: []types.Filter{
			{Name: aws.String("supported-virtualization-type"), Values: []string{"hvm"}},
			{Name: aws.String("processor-info.supported-architecture"), Values: []string{"x86_64", "arm64"}},
		},
	})
	var found []catalog.InstanceTypeInfo
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing instance types: %w", err)
		}
		for i := range page.InstanceTypes {
			found = append(found, info(&page.InstanceTypes[i]))
		}
	}
	return found, nil
}

// offerings gives the names of the zones that offer each type.
func (h *handler) offerings(ctx context.Context) (map[string][]string, error) {
	pages := ec2.NewDescribeInstanceTypeOfferingsPaginator(h.ec2, &ec2.DescribeInstanceTypeOfferingsInput{LocationType: types.LocationTypeAvailabilityZone})
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

func (h *handler) zones(ctx context.Context) ([]catalog.AvailabilityZone, error) {
	output, err := h.ec2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return nil, fmt.Errorf("listing availability zones: %w", err)
	}
	var zones []catalog.AvailabilityZone
	for _, zone := range output.AvailabilityZones {
		zones = append(zones, catalog.AvailabilityZone{ZoneName: aws.ToString(zone.ZoneName), ZoneID: aws.ToString(zone.ZoneId)})
	}
	return zones, nil
}

// spotPrices gives the newest price by type and zone, in dollars an hour.
func (h *handler) spotPrices(ctx context.Context) (map[string]map[string]float64, error) {
	// With now as the start EC2 gives the price that holds now, one for each type and zone.
	pages := ec2.NewDescribeSpotPriceHistoryPaginator(h.ec2, &ec2.DescribeSpotPriceHistoryInput{
		ProductDescriptions: []string{linux}, StartTime: aws.Time(h.now()),
	})
	prices := map[string]map[string]float64{}
	newest := map[string]time.Time{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing spot prices: %w", err)
		}
		for _, entry := range page.SpotPriceHistory {
			name, zone := string(entry.InstanceType), aws.ToString(entry.AvailabilityZone)
			price, valid := parseDollars(aws.ToString(entry.SpotPrice))
			if !valid || price == 0 {
				return nil, fmt.Errorf("spot price of %s in %s: field SpotPrice %q is not a price", name, zone, aws.ToString(entry.SpotPrice))
			}
			key, at := name+"/"+zone, aws.ToTime(entry.Timestamp)
			if at.Before(newest[key]) {
				continue
			}
			newest[key] = at
			if prices[name] == nil {
				prices[name] = map[string]float64{}
			}
			prices[name][zone] = price
		}
	}
	return prices, nil
}

// info keeps what planning needs of EC2's description of a type.
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
		if disk.EbsOptimizedInfo != nil {
			made.MaximumBandwidthInMbps = int(aws.ToInt32(disk.EbsOptimizedInfo.MaximumBandwidthInMbps))
		}
	}
	if storage := described.InstanceStorageInfo; storage != nil {
		made.TotalSizeInGB, made.NvmeSupport = aws.ToInt64(storage.TotalSizeInGB), string(storage.NvmeSupport)
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
		// Pods get their addresses from the interfaces of the default card only.
		if int(aws.ToInt32(card.NetworkCardIndex)) == main {
			made.MaximumNetworkInterfaces = int(aws.ToInt32(card.MaximumNetworkInterfaces))
		}
	}
	made.BaselineBandwidthInMbps = int(baseline)
	return made
}

func addDevices(made *catalog.InstanceTypeInfo, described *types.InstanceTypeInfo) {
	if described.GpuInfo != nil {
		for _, gpu := range described.GpuInfo.Gpus {
			device := catalog.Device{Name: aws.ToString(gpu.Name), Manufacturer: aws.ToString(gpu.Manufacturer), Count: int(aws.ToInt32(gpu.Count))}
			if gpu.MemoryInfo != nil {
				device.MemoryInMiB = int64(aws.ToInt32(gpu.MemoryInfo.SizeInMiB))
			}
			made.Gpus = append(made.Gpus, device)
		}
	}
	if described.InferenceAcceleratorInfo != nil {
		for _, accelerator := range described.InferenceAcceleratorInfo.Accelerators {
			made.InferenceAccelerators = append(made.InferenceAccelerators, catalog.Device{
				Name: aws.ToString(accelerator.Name), Manufacturer: aws.ToString(accelerator.Manufacturer), Count: int(aws.ToInt32(accelerator.Count)),
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
