package catalog

import (
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
)

const (
	mebibyte = 1 << 20
	gibibyte = 1 << 30
	// armFirmwareMiB is the further memory that Graviton instances reserve.
	armFirmwareMiB = 64
	// defaultEphemeralStorage is the disk of a node whose class and family give none.
	defaultEphemeralStorage = 20 * gibibyte
	// defaultPods is the kubelet's default of maxPods, for families that do not derive it from the
	// network interfaces.
	defaultPods = 110
)

// capacity returns the resources of a node of the type before reservations, launched from the
// image.
func (m *model) capacity(info *InstanceTypeInfo, image string) corev1.ResourceList {
	class := m.class
	list := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(info.DefaultVCpus), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(m.memory(info, image), resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(ephemeralStorage(info, class), resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(int64(m.pods(info)), resource.DecimalSI),
	}
	set := func(name corev1.ResourceName, count int) {
		if count > 0 {
			total := list[name]
			total.Add(*resource.NewQuantity(int64(count), resource.DecimalSI))
			list[name] = total
		}
	}
	for _, gpu := range info.Gpus {
		switch strings.ToLower(gpu.Manufacturer) {
		case "nvidia":
			set(api.ResourceNVIDIAGPU, gpu.Count)
		case "amd":
			set(api.ResourceAMDGPU, gpu.Count)
		case "habana":
			set(api.ResourceHabanaGaudi, gpu.Count)
		}
	}
	for _, device := range info.NeuronDevices {
		set(api.ResourceAWSNeuron, device.Count)
		set(api.ResourceAWSNeuronCore, device.Count*device.CoreCount)
	}
	set(api.ResourceAWSPodENI, info.Network.BranchInterfaces)
	if len(class.Spec.NetworkInterfaces) > 0 {
		// A class with network interfaces gets exactly those.
		set(api.ResourceEFA, efaOnly(class, nil))
	} else {
		set(api.ResourceEFA, info.Network.MaximumEfaInterfaces)
	}
	if _, windows := windowsBuild(family(class)); windows {
		set(api.ResourcePrivateIPv4Address, info.Network.Ipv4AddressesPerInterface-1)
	}
	return list
}

// IsResourceOfEC2 reports whether nodes of some instance type have the resource by themselves. Others,
// such as slices of a GPU, need a NodeOverlay.
func IsResourceOfEC2(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods,
		api.ResourceNVIDIAGPU, api.ResourceAMDGPU, api.ResourceHabanaGaudi, api.ResourceAWSNeuron,
		api.ResourceAWSNeuronCore, api.ResourceAWSPodENI, api.ResourceEFA, api.ResourcePrivateIPv4Address:
		return true
	}
	return false
}

// memory returns the memory in bytes that nodes of the type were observed with, else an estimate.
// Linux finds less memory than EC2 advertises, and no API gives the difference.
func (m *model) memory(info *InstanceTypeInfo, image string) int64 {
	if seen, ok := m.learned(info, image); ok {
		return seen
	}
	mib := info.SizeInMiB
	if architecture(info) == api.ArchitectureArm64 {
		mib -= armFirmwareMiB
	}
	mib -= int64(math.Ceil(float64(mib) * m.settings.memoryOverhead()))
	return max(mib, 0) * mebibyte
}

// ephemeralStorage returns the size in bytes of the disk with the kubelet's data.
func ephemeralStorage(info *InstanceTypeInfo, class *api.EC2NodeClass) int64 {
	_, windows := windowsBuild(family(class))
	// No Windows image joins the instance store disks: the kubelet's data stays on the root volume.
	raid := class.Spec.InstanceStorePolicy
	if raid != nil && *raid == api.InstanceStorePolicyRAID0 && info.TotalSizeInGB > 0 && !windows {
		return info.TotalSizeInGB * 1_000_000_000
	}
	mappings := class.Spec.BlockDeviceMappings
	isRoot := func(m *api.BlockDeviceMapping) bool { return m.RootVolume }
	if bytes, ok := volumeBytes(mappings, isRoot); ok {
		return bytes
	}
	device := kubeletDevice(family(class))
	// An image of the family Custom names its disks as it likes: the last mapping counts.
	if device == "" && len(mappings) > 0 {
		if bytes, ok := volumeBytes(mappings[len(mappings)-1:], nil); ok {
			return bytes
		}
	}
	isDevice := func(m *api.BlockDeviceMapping) bool { return m.DeviceName != nil && *m.DeviceName == device }
	if bytes, ok := volumeBytes(mappings, isDevice); ok {
		return bytes
	}
	if windows {
		return 50 * gibibyte
	}
	return defaultEphemeralStorage
}

// volumeBytes returns the size of the first volume with a size among the mappings that match, where
// nil matches all.
func volumeBytes(mappings []*api.BlockDeviceMapping, match func(*api.BlockDeviceMapping) bool) (int64, bool) {
	for _, m := range mappings {
		if m != nil && (match == nil || match(m)) && m.EBS != nil && m.EBS.VolumeSize != nil {
			return m.EBS.VolumeSize.Value(), true
		}
	}
	return 0, false
}

// kubeletDevice returns the device with the kubelet's data in a family's images, or an empty text
// for the family Custom.
func kubeletDevice(family string) string {
	switch family {
	case api.AMIFamilyAL2, api.AMIFamilyAL2023:
		return "/dev/xvda"
	case api.AMIFamilyBottlerocket:
		return "/dev/xvdb"
	case api.AMIFamilyWindows2019, api.AMIFamilyWindows2022, api.AMIFamilyWindows2025:
		return "/dev/sda1"
	}
	return ""
}

// pods returns the maximum number of pods of the node's kubelet. Prefix delegation does not raise
// it: the kubelet derives it from interfaces and addresses. Whoever sets prefixes
// (spec.ipPrefixCount, or the VPC CNI's setting) also sets spec.kubelet.maxPods.
func (m *model) pods(info *InstanceTypeInfo) int {
	class := m.class
	kubelet := class.Spec.Kubelet
	_, windows := windowsBuild(family(class))
	count := addresses(info, m.takenInterfaces())
	switch {
	case kubelet != nil && kubelet.MaxPods != nil:
		count = int(*kubelet.MaxPods)
	case windows:
		count = defaultPods
	}
	if kubelet != nil && kubelet.PodsPerCore != nil && *kubelet.PodsPerCore > 0 &&
		family(class) != api.AMIFamilyBottlerocket {
		count = min(count, int(*kubelet.PodsPerCore)*info.DefaultVCpus)
	}
	return count
}

// addresses returns the number of pods that get an address from the VPC. Each network interface
// keeps one address, and two pods use the host's address. Taken is the number of interfaces of the
// default card that are not for pods.
// https://github.com/aws/amazon-vpc-cni-k8s#eni-allocation
func addresses(info *InstanceTypeInfo, taken int) int {
	interfaces := info.Network.MaximumNetworkInterfaces - taken
	if interfaces <= 0 {
		return 0
	}
	return interfaces*max(info.Network.Ipv4AddressesPerInterface-1, 0) + 2
}

// efaOnly counts the class's interfaces of the type efa-only on the cards that where allows, or on
// all cards where it is nil.
func efaOnly(class *api.EC2NodeClass, where func(api.NetworkInterface) bool) int {
	count := 0
	for _, n := range class.Spec.NetworkInterfaces {
		if n.InterfaceType == api.InterfaceTypeEFAOnly && (where == nil || where(n)) {
			count++
		}
	}
	return count
}

// allocatable returns the capacity without the reservations for the kubelet and the system, and
// without the hard eviction thresholds.
// https://kubernetes.io/docs/tasks/administer-cluster/reserve-compute-resources/
func (m *model) allocatable(capacity corev1.ResourceList, info *InstanceTypeInfo) corev1.ResourceList {
	result := capacity.DeepCopy()
	take := func(name corev1.ResourceName, amount resource.Quantity) {
		left := result[name]
		left.Sub(amount)
		if left.Sign() < 0 {
			left = *resource.NewQuantity(0, left.Format)
		}
		result[name] = left
	}
	kubelet := m.class.Spec.Kubelet
	if kubelet == nil {
		kubelet = &api.KubeletConfiguration{}
	}
	for name, amount := range m.kubeReserved(info) {
		take(name, amount)
	}
	for name, text := range kubelet.SystemReserved {
		if amount, ok := quantity(text); ok && name != "pid" {
			take(corev1.ResourceName(name), amount)
		}
	}
	byFamily := api.EvictionHard(family(m.class), nil)
	for name, signal := range map[corev1.ResourceName]string{
		corev1.ResourceMemory: "memory.available", corev1.ResourceEphemeralStorage: "nodefs.available",
	} {
		amount, ok := threshold(kubelet.EvictionHard[signal], capacity[name])
		if !ok {
			amount, _ = threshold(byFamily[signal], capacity[name])
		}
		take(name, amount)
	}
	return result
}

// threshold parses an eviction threshold: a quantity, or a percentage of the capacity, where 100%
// disables the threshold. It returns false for any other text.
func threshold(text string, capacity resource.Quantity) (resource.Quantity, bool) {
	number, isPercent := strings.CutSuffix(text, "%")
	if !isPercent {
		return quantity(text)
	}
	percent, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil || percent < 0 || percent > 100:
		return resource.Quantity{}, false
	case percent == 100:
		return resource.Quantity{}, true
	}
	return percentOf(capacity, percent), true
}

func percentOf(amount resource.Quantity, percent float64) resource.Quantity {
	return *resource.NewQuantity(int64(math.Ceil(amount.AsApproximateFloat64()*percent/100)), amount.Format)
}

// quantity parses a quantity. It returns false for an empty or invalid text, for which the family's
// own amount stays.
func quantity(text string) (resource.Quantity, bool) {
	if text == "" {
		return resource.Quantity{}, false
	}
	amount, err := resource.ParseQuantity(text)
	return amount, err == nil && amount.Sign() >= 0
}
