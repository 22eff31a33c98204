package machine

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// resources holds a node's capacity and allocatable amounts.
type resources struct {
	capacity, allocatable corev1.ResourceList
	// devices are the extended resources that device plugins register after the node is there.
	devices corev1.ResourceList
}

// podDensity is the number of pods whose addresses the VPC CNI can attach to a type. Each interface
// keeps one address for itself, and two pods use the host's network.
// https://github.com/awslabs/amazon-eks-ami, max-pods-calculator.sh
func podDensity(facts builtin.InstanceType) int {
	interfaces := facts.Network.MaximumInterfaces
	for _, card := range facts.Network.Cards {
		if card.Index == facts.Network.DefaultCardIndex {
			interfaces = card.MaximumInterfaces
		}
	}
	if interfaces == 0 {
		return 0
	}
	return interfaces*(facts.Network.IPv4PerInterface-1) + 2
}

// reservedByDefault is nodeadm's kubeReserved. Memory: 255 MiB, and 11 MiB a pod. CPU: 6 % of the
// first core, 1 % of the second, 0.5 % of the next two, 0.25 % of the others. Disk: 1 GiB.
func reservedByDefault(vcpus, pods int) corev1.ResourceList {
	tenthsOfMillicores := 0
	for core := 1; core <= vcpus; core++ {
		switch {
		case core == 1:
			tenthsOfMillicores += 600
		case core == 2:
			tenthsOfMillicores += 100
		case core <= 4:
			tenthsOfMillicores += 50
		default:
			tenthsOfMillicores += 25
		}
	}
	return corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewMilliQuantity(int64(tenthsOfMillicores/10), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(int64(255+11*pods)<<20, resource.BinarySI),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Gi"),
	}
}

// capacityOf measures a machine as its kubelet does.
func capacityOf(i *ec2.Instance, s *kubeletSettings, memoryOverhead float64, localStorage string) resources {
	system := operatingSystemOf(i.Image)
	storage := int64(i.Volumes[system.disk]) << 30
	if (localStorage == "RAID0" || localStorage == "RAID10") && i.Facts.InstanceStorage.TotalGB > 0 {
		storage = i.Facts.InstanceStorage.TotalGB * 1e9
		if localStorage == "RAID10" {
			storage /= 2
		}
	}
	// Linux counts memory in pages of 4 KiB.
	memory := int64(float64(i.Facts.MemoryMiB<<20)*(1-memoryOverhead)) &^ 4095
	r := resources{
		capacity: corev1.ResourceList{
			corev1.ResourceCPU:              *resource.NewQuantity(int64(i.Facts.VCPUs), resource.DecimalSI),
			corev1.ResourceMemory:           *resource.NewQuantity(memory, resource.BinarySI),
			corev1.ResourceEphemeralStorage: *resource.NewQuantity(storage, resource.BinarySI),
			corev1.ResourcePods:             *resource.NewQuantity(int64(s.maxPods), resource.DecimalSI),
		},
		devices: devicesOf(i.Facts),
	}
	if system.name == "windows" {
		// The VPC resource controller gives Windows nodes the addresses of one interface but its own.
		// https://docs.aws.amazon.com/eks/latest/userguide/windows-support.html
		r.devices = corev1.ResourceList{
			"vpc.amazonaws.com/PrivateIPv4Address": *resource.NewQuantity(int64(i.Facts.Network.IPv4PerInterface-1),
				resource.DecimalSI),
		}
	} else {
		r.capacity["hugepages-1Gi"], r.capacity["hugepages-2Mi"] = *resource.NewQuantity(0, resource.DecimalSI),
			*resource.NewQuantity(0, resource.DecimalSI)
	}
	r.allocatable = r.capacity.DeepCopy()
	for name, signal := range map[corev1.ResourceName]string{
		corev1.ResourceCPU: "", corev1.ResourceMemory: "memory.available",
		corev1.ResourceEphemeralStorage: "nodefs.available",
	} {
		left := r.capacity[name].DeepCopy()
		left.Sub(s.kubeReserved[name])
		left.Sub(s.systemReserved[name])
		if threshold, ok := s.evictionHard[signal]; ok && signal != "" {
			// The settings were checked: a threshold that does not parse never gets here.
			if amount, err := thresholdOf(threshold, r.capacity[name]); err == nil {
				left.Sub(amount)
			}
		}
		if left.Sign() < 0 {
			left = *resource.NewQuantity(0, left.Format)
		}
		r.allocatable[name] = left
	}
	return r
}

// thresholdOf reads an eviction threshold: an amount, or a share of the capacity.
func thresholdOf(text string, capacity resource.Quantity) (resource.Quantity, error) {
	percent, isShare := strings.CutSuffix(text, "%")
	if !isShare {
		amount, err := resource.ParseQuantity(text)
		if err != nil {
			return amount, fmt.Errorf("threshold %q is neither an amount nor a percentage: %w", text, err)
		}
		return amount, nil
	}
	share, err := strconv.ParseFloat(percent, 64)
	if err != nil || share < 0 || share > 100 {
		return resource.Quantity{}, fmt.Errorf("threshold %q is not a percentage from 0%% to 100%%", text)
	}
	if share == 100 { // the kubelet's way to switch a threshold off
		share = 0
	}
	return *resource.NewQuantity(int64(float64(capacity.Value())*share/100), resource.BinarySI), nil
}

// devicesOf returns the extended resources of a type, under the names that the usual device plugins
// register.
func devicesOf(facts builtin.InstanceType) corev1.ResourceList {
	devices := corev1.ResourceList{}
	add := func(name corev1.ResourceName, count int) {
		total := devices[name]
		total.Add(*resource.NewQuantity(int64(count), resource.DecimalSI))
		devices[name] = total
	}
	for _, gpu := range facts.GPUs {
		switch gpu.Manufacturer {
		case "NVIDIA":
			add("nvidia.com/gpu", max(gpu.Count, 1))
		case "AMD":
			add("amd.com/gpu", max(gpu.Count, 1))
		case "Habana":
			add("habana.ai/gaudi", max(gpu.Count, 1))
		}
	}
	for _, device := range facts.NeuronDevices {
		add("aws.amazon.com/neuron", device.Count)
		add("aws.amazon.com/neuroncore", device.Count*device.CoresPerDevice)
	}
	return devices
}
