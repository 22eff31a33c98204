package catalog

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// familyName splits the name of an instance type. The letters are the category. The number after
// them is the generation; in high-memory types (u-6tb1) it follows the size.
var familyName = regexp.MustCompile(`^([a-z]+)(-[0-9]+tb)?([0-9]+)[^.]*\.`)

// labels returns the labels of a type's nodes, without those that depend on the offering. A label
// that EC2's facts do not give becomes a requirement that it does not exist, so that Exists and Gt
// exclude the type.
func (s *Catalog) labels(info *InstanceTypeInfo, class *api.EC2NodeClass) scheduling.Requirements {
	rs := make(scheduling.Requirements, 40)
	set := func(key, value string) { rs.Add(scheduling.In(key, value)) }
	setIf := func(known bool, key, value string) {
		if known {
			set(key, value)
		} else {
			rs.Add(scheduling.DoesNotExist(key))
		}
	}
	set(corev1.LabelInstanceTypeStable, info.InstanceType)
	set(corev1.LabelArchStable, architecture(info))
	set(corev1.LabelTopologyRegion, s.Region)
	set(api.LabelNodeClass, class.Name)
	rs.Add(scheduling.In(api.LabelInstanceTenancy, api.TenancyDefault, api.TenancyDedicated))
	operatingSystem(rs, info, family(class))

	family, size, _ := strings.Cut(info.InstanceType, ".")
	match := familyName.FindStringSubmatch(info.InstanceType)
	setIf(match != nil, api.LabelInstanceCategory, at(match, 1))
	setIf(match != nil, api.LabelInstanceGeneration, at(match, 3))
	set(api.LabelInstanceFamily, family)
	set(api.LabelInstanceSize, size)
	set(api.LabelInstanceCapabilityFlex, strconv.FormatBool(strings.Contains(family, "-flex")))

	set(api.LabelInstanceCPU, strconv.Itoa(info.DefaultVCpus))
	setIf(info.Manufacturer != "", api.LabelInstanceCPUManufacturer, labelValue(info.Manufacturer))
	setIf(
		info.SustainedClockSpeedInGhz > 0, api.LabelInstanceCPUSustainedClockSpeedMhz,
		strconv.FormatInt(int64(math.Round(info.SustainedClockSpeedInGhz*1000)), 10),
	)
	set(api.LabelInstanceMemory, strconv.FormatInt(info.SizeInMiB, 10))
	set(api.LabelInstanceHypervisor, info.Hypervisor)
	set(api.LabelInstanceEncryptionInTransitSupported, strconv.FormatBool(info.Network.EncryptionInTransit))
	set(api.LabelNitroSandbox, strconv.FormatBool(info.NitroEnclavesSupport))
	setIf(
		info.EbsOptimizedSupport == "default" && info.MaximumBandwidthInMbps > 0, api.LabelInstanceEBSBandwidth,
		strconv.Itoa(info.MaximumBandwidthInMbps),
	)
	setIf(
		info.Network.BaselineBandwidthInMbps > 0, api.LabelInstanceNetworkBandwidth,
		strconv.Itoa(info.Network.BaselineBandwidthInMbps),
	)
	setIf(
		info.TotalSizeInGB > 0 && info.NvmeSupport != "" && info.NvmeSupport != "unsupported",
		api.LabelInstanceLocalNVME, strconv.FormatInt(info.TotalSizeInGB, 10),
	)

	// A type with several models of a device has no label for it, because one label cannot name
	// them all.
	var gpu, accelerator Device
	if len(info.Gpus) == 1 {
		gpu = info.Gpus[0]
	}
	switch {
	case len(info.NeuronDevices) == 1:
		accelerator = info.NeuronDevices[0]
		accelerator.Manufacturer = "aws"
	case len(info.NeuronDevices) == 0 && len(info.InferenceAccelerators) == 1:
		accelerator = info.InferenceAccelerators[0]
	}
	setIf(gpu.Name != "", api.LabelInstanceGPUName, labelValue(gpu.Name))
	setIf(gpu.Name != "", api.LabelInstanceGPUManufacturer, labelValue(gpu.Manufacturer))
	setIf(gpu.Name != "", api.LabelInstanceGPUCount, strconv.Itoa(gpu.Count))
	setIf(gpu.Name != "", api.LabelInstanceGPUMemory, strconv.FormatInt(gpu.MemoryInMiB, 10))
	setIf(accelerator.Name != "", api.LabelInstanceAcceleratorName, labelValue(accelerator.Name))
	setIf(accelerator.Name != "", api.LabelInstanceAcceleratorManufacturer, labelValue(accelerator.Manufacturer))
	setIf(accelerator.Name != "", api.LabelInstanceAcceleratorCount, strconv.Itoa(accelerator.Count))

	for _, key := range append(reservationLabels(), api.LabelPlacementGroupID, api.LabelPlacementGroupPartition) {
		rs.Add(scheduling.DoesNotExist(key))
	}
	return rs
}

func operatingSystem(rs scheduling.Requirements, info *InstanceTypeInfo, family string) {
	build, windows := windowsBuild(family)
	switch {
	case !windows:
		rs.Add(scheduling.In(corev1.LabelOSStable, string(corev1.Linux)), scheduling.DoesNotExist(corev1.LabelWindowsBuild))
	case architecture(info) == api.ArchitectureAmd64:
		rs.Add(scheduling.In(corev1.LabelOSStable, string(corev1.Windows)), scheduling.In(corev1.LabelWindowsBuild, build))
	default:
		// Windows runs on amd64 only. An empty requirement is compatible with nothing.
		rs.Add(scheduling.In(corev1.LabelOSStable), scheduling.In(corev1.LabelWindowsBuild))
	}
}

// architecture returns Kubernetes' name of the first architecture with Kubernetes images, or an
// empty text.
func architecture(info *InstanceTypeInfo) string {
	for _, a := range info.SupportedArchitectures {
		switch a {
		case "x86_64":
			return api.ArchitectureAmd64
		case "arm64":
			return api.ArchitectureArm64
		}
	}
	return ""
}

// labelValue converts a name to a label's value: lower case, with hyphens instead of spaces.
func labelValue(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }

func at(match []string, i int) string {
	if i < len(match) {
		return match[i]
	}
	return ""
}
