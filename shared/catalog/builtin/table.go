package builtin

import (
	_ "embed" // for the table
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

//go:embed instance-types.csv
var table string

// tableName is what errors call the embedded table.
const tableName = "instance-types.csv"

// All returns every instance type of the embedded table, sorted by name. Each call parses the table
// again, in some milliseconds, so that the caller owns the result. The error names the row and
// column of a damaged table.
func All() ([]InstanceType, error) {
	types, err := Parse(strings.NewReader(table))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", tableName, err)
	}
	return types, nil
}

// Parse reads a table of the form of instance-types.csv: a header that names exactly the columns in
// columnNames, in that order, then one row for each instance type, sorted by name without repeats.
// An error names the row (the line in the file, so the first type is row 2) and the column.
func Parse(r io.Reader) ([]InstanceType, error) {
	reader := csv.NewReader(r)
	// Rows of a wrong length are reported below, because the error of package csv does not name the
	// missing column.
	reader.FieldsPerRecord = -1

	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the table is empty: its first row must be the header")
	}
	if err != nil {
		return nil, fmt.Errorf("row 1: %w", err)
	}
	columns := columnNames()
	for i := range max(len(header), len(columns)) {
		switch {
		case i >= len(header):
			return nil, fmt.Errorf("row 1: column %q is missing", columns[i])
		case i >= len(columns):
			return nil, fmt.Errorf("row 1: column %q is unknown", header[i])
		case header[i] != columns[i]:
			return nil, fmt.Errorf("row 1: column %d is %q, want %q", i+1, header[i], columns[i])
		}
	}

	var types []InstanceType
	for {
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return types, nil
		}
		if err != nil {
			return nil, err // csv says line and column itself
		}
		line, _ := reader.FieldPos(0)
		t, err := parseRow(columns, cells)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", line, err)
		}
		if len(types) > 0 && types[len(types)-1].Name >= t.Name {
			return nil, fmt.Errorf(
				"row %d: column %q: %q does not sort after %q of the row before", line, "name", t.Name,
				types[len(types)-1].Name,
			)
		}
		types = append(types, t)
	}
}

// columnNames returns the header of the table.
func columnNames() []string {
	return []string{
		"name", "vcpus", "cores_default", "threads_per_core", "memory_mib",
		"architectures", "processor_manufacturer", "sustained_clock_ghz", "processor_features",
		"hypervisor", "bare_metal", "burstable_performance", "current_generation", "usage_classes",
		"gpus", "inference_accelerators", "neuron_devices",
		"instance_storage_gb", "instance_storage_nvme", "instance_storage_disks",
		"ebs_optimized", "ebs_baseline_mbps", "ebs_maximum_mbps", "ebs_maximum_attachments", "ebs_attachment_limit_type",
		"network_performance", "network_baseline_mbps", "network_cards", "network_default_card", "network_maximum_interfaces",
		"ipv4_per_interface", "ipv6_per_interface", "ena_support", "efa_maximum_interfaces",
		"encryption_in_transit", "branch_interfaces",
		"nitro_enclaves", "placement_strategies", "nitro_tpm", "on_demand_usd_per_hour", "zones",
	}
}

// parseRow turns the cells of one row into an instance type.
func parseRow(columns, cells []string) (InstanceType, error) {
	if len(cells) < len(columns) {
		return InstanceType{}, fmt.Errorf(
			"column %q is missing: the row has %d cells, want %d", columns[len(cells)], len(cells), len(columns),
		)
	}
	if len(cells) > len(columns) {
		return InstanceType{}, fmt.Errorf(
			"after column %q come %d cells too many", columns[len(columns)-1], len(cells)-len(columns),
		)
	}
	row := &row{cells: make(map[string]string, len(columns))}
	for i, column := range columns {
		row.cells[column] = cells[i]
	}

	t := InstanceType{
		Name:           row.typeName("name"),
		VCPUs:          row.positive("vcpus"),
		CoresDefault:   row.positive("cores_default"),
		ThreadsPerCore: row.positive("threads_per_core"),
		MemoryMiB:      int64(row.positive("memory_mib")),

		Architectures:         row.someOf("architectures", "arm64", "i386", "x86_64"),
		ProcessorManufacturer: row.text("processor_manufacturer"),
		SustainedClockGHz:     row.decimal("sustained_clock_ghz"),
		ProcessorFeatures:     row.list("processor_features"),
		Hypervisor:            row.oneOf("hypervisor", "nitro", "xen", ""),
		BareMetal:             row.boolean("bare_metal"),
		BurstablePerformance:  row.boolean("burstable_performance"),
		CurrentGeneration:     row.boolean("current_generation"),
		UsageClasses:          row.someOf("usage_classes", "capacity-block", "on-demand", "spot"),

		GPUs:                  entries(row, "gpus", parseGPU),
		InferenceAccelerators: entries(row, "inference_accelerators", parseInferenceAccelerator),
		NeuronDevices:         entries(row, "neuron_devices", parseNeuronDevice),

		InstanceStorage: InstanceStorage{
			TotalGB:     int64(row.integer("instance_storage_gb")),
			NVMeSupport: row.oneOf("instance_storage_nvme", "required", "supported", "unsupported", ""),
			Disks:       entries(row, "instance_storage_disks", parseDisk),
		},
		EBS: EBS{
			OptimizedSupport:      row.oneOf("ebs_optimized", "default", "supported", "unsupported"),
			BaselineBandwidthMbps: row.integer("ebs_baseline_mbps"),
			MaximumBandwidthMbps:  row.integer("ebs_maximum_mbps"),
			MaximumAttachments:    row.integer("ebs_maximum_attachments"),
			AttachmentLimitType:   row.oneOf("ebs_attachment_limit_type", "dedicated", "shared"),
		},
		Network: Network{
			Performance:           row.text("network_performance"),
			BaselineBandwidthMbps: row.integer("network_baseline_mbps"),
			Cards:                 entries(row, "network_cards", parseNetworkCard),
			DefaultCardIndex:      row.integer("network_default_card"),
			MaximumInterfaces:     row.positive("network_maximum_interfaces"),
			IPv4PerInterface:      row.positive("ipv4_per_interface"),
			IPv6PerInterface:      row.integer("ipv6_per_interface"),
			ENASupport:            row.oneOf("ena_support", "required", "supported", "unsupported"),
			MaximumEFAInterfaces:  row.integer("efa_maximum_interfaces"),
			EncryptionInTransit:   row.boolean("encryption_in_transit"),
			BranchInterfaces:      row.integer("branch_interfaces"),
		},

		NitroEnclaves:       row.boolean("nitro_enclaves"),
		PlacementStrategies: row.subsetOf("placement_strategies", "cluster", "partition", "spread"),
		NitroTPM:            row.boolean("nitro_tpm"),
		OnDemandPrice:       row.decimal("on_demand_usd_per_hour"),
		Zones:               row.list("zones"),
	}
	t.Network.EFASupported = t.Network.MaximumEFAInterfaces > 0
	if row.err != nil {
		return InstanceType{}, row.err
	}
	return t, check(t)
}

// check finds contradictions between the facts of one type, and missing facts.
func check(t InstanceType) error {
	fault := func(column, format string, args ...any) error {
		return fmt.Errorf("type %q, column %q: %s", t.Name, column, fmt.Sprintf(format, args...))
	}
	if t.VCPUs != t.CoresDefault*t.ThreadsPerCore {
		return fault("vcpus", "%d vCPUs are not %d cores of %d threads", t.VCPUs, t.CoresDefault, t.ThreadsPerCore)
	}
	if t.BareMetal != (t.Hypervisor == "") {
		return fault("hypervisor", "%q: only bare metal has no hypervisor", t.Hypervisor)
	}
	if t.OnDemandPrice <= 0 {
		return fault("on_demand_usd_per_hour", "the price must be more than 0")
	}
	if len(t.Zones) == 0 {
		return fault("zones", "at least one zone must offer the type")
	}
	if !slices.IsSorted(t.Zones) {
		return fault("zones", "the zones must be sorted")
	}
	var total int64
	for _, disk := range t.InstanceStorage.Disks {
		total += int64(disk.Count) * disk.SizeGB
	}
	if total != t.InstanceStorage.TotalGB {
		return fault("instance_storage_gb", "%d GB in all, but the disks have %d GB", t.InstanceStorage.TotalGB, total)
	}
	if (total > 0) != (t.InstanceStorage.NVMeSupport != "") {
		return fault("instance_storage_nvme", "it must be given for a type with local storage, and only then")
	}
	if (t.EBS.OptimizedSupport != "unsupported") != (t.EBS.MaximumBandwidthMbps > 0) ||
		t.EBS.BaselineBandwidthMbps > t.EBS.MaximumBandwidthMbps {
		return fault(
			"ebs_maximum_mbps", "%d Mbps do not fit %q and a baseline of %d Mbps", t.EBS.MaximumBandwidthMbps,
			t.EBS.OptimizedSupport, t.EBS.BaselineBandwidthMbps,
		)
	}
	cards := t.Network.Cards
	for i, card := range cards {
		if card.Index != i {
			return fault("network_cards", "card %d has index %d", i, card.Index)
		}
	}
	if t.Network.DefaultCardIndex >= len(cards) {
		return fault("network_default_card", "there is no card %d: the type has %d", t.Network.DefaultCardIndex, len(cards))
	}
	return nil
}
