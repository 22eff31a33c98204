package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// columns are the table's columns in order: the name in the header, and how the cell is made.
// Entries of a cell are separated by semicolons and their parts by colons; a cell is empty for none
// or unknown.
var columns = []struct {
	name string
	cell func(facts) string
}{
	{"name", func(f facts) string { return f.name }},
	{"vcpus", func(f facts) string { return integer(f.VCpuInfo.DefaultVCpus) }},
	{"cores_default", func(f facts) string { return integer(f.VCpuInfo.DefaultCores) }},
	{"threads_per_core", func(f facts) string { return integer(f.VCpuInfo.DefaultThreadsPerCore) }},
	{"memory_mib", func(f facts) string { return integer(f.MemoryInfo.SizeInMiB) }},

	{"architectures", func(f facts) string { return list(f.ProcessorInfo.SupportedArchitectures) }},
	{"processor_manufacturer", func(f facts) string { return f.ProcessorInfo.Manufacturer }},
	{"sustained_clock_ghz", func(f facts) string { return decimal(f.ProcessorInfo.SustainedClockSpeedInGhz) }},
	{"processor_features", func(f facts) string { return list(f.ProcessorInfo.SupportedFeatures) }},
	{"hypervisor", func(f facts) string { return f.hypervisor }},
	{"bare_metal", func(f facts) string { return strconv.FormatBool(f.bareMetal) }},
	{"burstable_performance", func(f facts) string { return strconv.FormatBool(f.BurstablePerformanceSupported) }},
	{"current_generation", func(f facts) string { return strconv.FormatBool(f.CurrentGeneration) }},
	{"usage_classes", func(f facts) string { return list(f.SupportedUsageClasses) }},

	{"gpus", gpus},
	{"inference_accelerators", inferenceAccelerators},
	{"neuron_devices", neuronDevices},

	{"instance_storage_gb", func(f facts) string { return integer(f.InstanceStorageInfo.TotalSizeInGB) }},
	{"instance_storage_nvme", func(f facts) string { return f.InstanceStorageInfo.NvmeSupport }},
	{"instance_storage_disks", disks},

	{"ebs_optimized", func(f facts) string { return f.EbsInfo.EbsOptimizedSupport }},
	{"ebs_baseline_mbps", func(f facts) string { return integer(f.EbsInfo.EbsOptimizedInfo.BaselineBandwidthInMbps) }},
	{"ebs_maximum_mbps", func(f facts) string { return integer(f.EbsInfo.EbsOptimizedInfo.MaximumBandwidthInMbps) }},
	{"ebs_maximum_attachments", func(f facts) string { return integer(f.EbsInfo.MaximumEbsAttachments) }},
	{"ebs_attachment_limit_type", func(f facts) string { return f.EbsInfo.AttachmentLimitType }},

	{"network_performance", func(f facts) string { return f.NetworkInfo.NetworkPerformance }},
	{"network_baseline_mbps", func(f facts) string { return decimal(f.bandwidth) }},
	{"network_cards", networkCards},
	{"network_default_card", func(f facts) string { return strconv.Itoa(f.defaultCard) }},
	{"network_maximum_interfaces", func(f facts) string { return integer(f.interfaces) }},
	{"ipv4_per_interface", func(f facts) string { return integer(f.ipv4PerInterface) }},
	{"ipv6_per_interface", func(f facts) string { return integer(f.NetworkInfo.Ipv6AddressesPerInterface) }},
	{"ena_support", func(f facts) string { return f.NetworkInfo.EnaSupport }},
	{"efa_maximum_interfaces", func(f facts) string { return integer(f.NetworkInfo.EfaInfo.MaximumEfaInterfaces) }},
	{
		"encryption_in_transit",
		func(f facts) string { return strconv.FormatBool(f.NetworkInfo.EncryptionInTransitSupported) },
	},
	{"branch_interfaces", func(f facts) string { return integer(f.branchInterfaces) }},

	{"nitro_enclaves", func(f facts) string { return strconv.FormatBool(f.NitroEnclavesSupport == "supported") }},
	{"placement_strategies", func(f facts) string { return list(f.PlacementGroupInfo.SupportedStrategies) }},
	{"nitro_tpm", func(f facts) string { return strconv.FormatBool(f.NitroTpmSupport == "supported") }},
	{"on_demand_usd_per_hour", func(f facts) string { return decimal(f.price) }},
	{"zones", func(f facts) string { return list(f.zones) }},
}

// encode writes the table.
func encode(rows []facts) ([]byte, error) {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	cells := make([]string, len(columns))
	for i, column := range columns {
		cells[i] = column.name
	}
	if err := w.Write(cells); err != nil {
		return nil, fmt.Errorf("writing the header: %w", err)
	}
	for _, row := range rows {
		for i, column := range columns {
			cells[i] = column.cell(row)
		}
		if err := w.Write(cells); err != nil {
			return nil, fmt.Errorf("writing the row of %q: %w", row.name, err)
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return nil, fmt.Errorf("writing the table: %w", err)
	}
	return text.Bytes(), nil
}

func gpus(f facts) string {
	var all []string
	for _, gpu := range f.GpuInfo.Gpus {
		all = append(
			all,
			fmt.Sprintf(
				"%s:%s:%d:%d:%d:%v", gpu.Manufacturer, gpu.Name, gpu.Count, gpu.MemoryInfo.SizeInMiB, gpu.LogicalGpuCount,
				gpu.GpuPartitionSize,
			),
		)
	}
	return strings.Join(all, ";")
}

func inferenceAccelerators(f facts) string {
	var all []string
	for _, accelerator := range f.InferenceAcceleratorInfo.Accelerators {
		all = append(
			all,
			fmt.Sprintf(
				"%s:%s:%d:%d", accelerator.Manufacturer, accelerator.Name, accelerator.Count,
				accelerator.MemoryInfo.SizeInMiB,
			),
		)
	}
	return strings.Join(all, ";")
}

func neuronDevices(f facts) string {
	var all []string
	for _, device := range f.NeuronInfo.NeuronDevices {
		all = append(
			all,
			fmt.Sprintf(
				"%s:%d:%d:%d:%d", device.Name, device.Count, device.MemoryInfo.SizeInMiB, device.CoreInfo.Count,
				device.CoreInfo.Version,
			),
		)
	}
	return strings.Join(all, ";")
}

func disks(f facts) string {
	var all []string
	for _, disk := range f.InstanceStorageInfo.Disks {
		all = append(all, fmt.Sprintf("%d:%d:%s", disk.Count, disk.SizeInGB, disk.Type))
	}
	return strings.Join(all, ";")
}

func networkCards(f facts) string {
	var all []string
	for i, card := range f.NetworkInfo.NetworkCards {
		all = append(all, fmt.Sprintf("%d:%d:%v:%v", i, f.cards[i], card.BaselineBandwidthInGbps, card.PeakBandwidthInGbps))
	}
	return strings.Join(all, ";")
}

// list sorts, so that a source that changes only an order does not change the table.
func list(entries []string) string {
	return strings.Join(slices.Sorted(slices.Values(entries)), ";")
}

func integer(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func decimal(n float64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}
