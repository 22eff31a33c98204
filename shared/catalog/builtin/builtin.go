package builtin

import (
	"fmt"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog"
)

// Region is the region of the table's facts.
const Region = "us-east-1"

// Zones returns the zones of the region that offer most types, as many as a cluster commonly has
// subnets in.
func Zones() []catalog.AvailabilityZone {
	return []catalog.AvailabilityZone{
		{ZoneName: "us-east-1a", ZoneID: "use1-az1"}, {ZoneName: "us-east-1b", ZoneID: "use1-az2"},
		{ZoneName: "us-east-1c", ZoneID: "use1-az3"},
	}
}

// Catalog returns all instance types of the table, as if they had been read at the given time. It
// returns an error where the table cannot be parsed.
func Catalog(now time.Time) (*catalog.Catalog, error) {
	types, err := All()
	if err != nil {
		return nil, fmt.Errorf("reading the built-in table of instance types: %w", err)
	}
	s := &catalog.Catalog{
		Time: now, SpotPriceTime: now, Prices: catalog.Prices{OnDemandTime: now}, Region: Region, Zones: Zones(),
	}
	for i := range types {
		s.InstanceTypes = append(s.InstanceTypes, info(&types[i]))
	}
	return s, nil
}

// PricesTime returns the day of the on-demand prices.
func PricesTime() (time.Time, error) {
	supplement, err := ReadSupplement()
	return supplement.Prices[Region].Date, err
}

func info(t *InstanceType) catalog.InstanceTypeInfo {
	info := catalog.InstanceTypeInfo{
		InstanceType: t.Name, DefaultVCpus: t.VCPUs, SizeInMiB: t.MemoryMiB,
		SupportedArchitectures: t.Architectures, SupportedUsageClasses: t.UsageClasses,
		SupportedFeatures: t.ProcessorFeatures,
		Hypervisor:        t.Hypervisor, BareMetal: t.BareMetal, Manufacturer: t.ProcessorManufacturer,
		SustainedClockSpeedInGhz: t.SustainedClockGHz,
		PlacementGroupStrategies: t.PlacementStrategies, NitroEnclavesSupport: t.NitroEnclaves,
		EbsOptimizedSupport: t.EBS.OptimizedSupport, MaximumBandwidthInMbps: t.EBS.MaximumBandwidthMbps,
		MaximumEbsAttachments: t.EBS.MaximumAttachments, AttachmentLimitType: t.EBS.AttachmentLimitType,
		TotalSizeInGB: t.InstanceStorage.TotalGB, NvmeSupport: t.InstanceStorage.NVMeSupport,
		Network: catalog.NetworkInfo{
			MaximumNetworkCards: len(t.Network.Cards), Ipv4AddressesPerInterface: t.Network.IPv4PerInterface,
			EncryptionInTransit: t.Network.EncryptionInTransit, EnaSupport: t.Network.ENASupport,
			MaximumEfaInterfaces:    t.Network.MaximumEFAInterfaces,
			BaselineBandwidthInMbps: t.Network.BaselineBandwidthMbps, BranchInterfaces: t.Network.BranchInterfaces,
		},
		Zones: t.Zones, OnDemandPrice: t.OnDemandPrice, SpotPrices: map[string]float64{},
	}
	for _, card := range t.Network.Cards {
		if len(t.Network.Cards) > 1 {
			info.Network.CardInterfaces = append(info.Network.CardInterfaces, card.MaximumInterfaces)
		}
		if card.Index == t.Network.DefaultCardIndex {
			info.Network.MaximumNetworkInterfaces = card.MaximumInterfaces
		}
	}
	for _, g := range t.GPUs {
		info.Gpus = append(
			info.Gpus,
			catalog.Device{Name: g.Name, Manufacturer: g.Manufacturer, Count: g.Count, MemoryInMiB: g.MemoryMiB},
		)
	}
	for _, a := range t.InferenceAccelerators {
		info.InferenceAccelerators = append(
			info.InferenceAccelerators,
			catalog.Device{Name: a.Name, Manufacturer: a.Manufacturer, Count: a.Count, MemoryInMiB: a.MemoryMiB},
		)
	}
	for _, d := range t.NeuronDevices {
		info.NeuronDevices = append(
			info.NeuronDevices,
			catalog.Device{
				Name: d.Name, Manufacturer: "AWS", Count: d.Count, MemoryInMiB: d.MemoryMiB, CoreCount: d.CoresPerDevice,
			},
		)
	}
	for _, usage := range t.UsageClasses {
		for _, zone := range t.Zones {
			if price := SpotPrice(t.Name, zone, t.OnDemandPrice); usage == "spot" && price > 0 {
				info.SpotPrices[zone] = price
			}
		}
	}
	return info
}
