package catalog

import (
	"regexp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
)

// gpuShared is the name that NVIDIA's device plugin gives GPUs that it shares by time (renameByDefault). It
// then offers none under their usual name.
const gpuShared = api.ResourceNVIDIAGPU + ".shared"

// migProfile matches the resource of a MIG profile, with its number of compute slices. Slices that are
// shared by time have a further suffix: their number does not tell how many GPUs they are cut from.
var migProfile = regexp.MustCompile(`^nvidia\.com/mig-([1-7])g\.[0-9]+gb(\.me|\.me\.all)?$`)

// manyDevices is more than a machine has. A person may write any number.
const manyDevices = 1 << 20

// dividedGPUs takes the GPUs that are divided into the overlaid resources from the whole ones. A device
// is otherwise sold twice, and a pod for a whole one waits on a node that has none.
func (t *InstanceType) dividedGPUs(changes map[corev1.ResourceName]*capacityChange) {
	var slices [8]int64 // how many MIG devices have so many compute slices
	shared := false
	for name, change := range changes {
		amount := change.by.capacity[name]
		if match := migProfile.FindStringSubmatch(string(name)); match != nil {
			size, _ := strconv.Atoi(match[1])
			slices[size] += min(amount.Value(), manyDevices)
		}
		shared = shared || name == gpuShared && amount.Sign() > 0
	}
	capacity := t.Capacity[api.ResourceNVIDIAGPU]
	whole := capacity.Value()
	left := max(whole-cutGPUs(slices), 0)
	if shared {
		left = 0
	}
	if left < whole {
		quantity := *resource.NewQuantity(left, resource.DecimalSI)
		t.Capacity[api.ResourceNVIDIAGPU], t.Allocatable[api.ResourceNVIDIAGPU] = quantity, quantity
	}
}

// cutGPUs is the least number of GPUs that so many MIG devices of each size are cut from. A GPU has seven
// compute slices. It holds one device of four slices, two of three or four, or three of two to four.
// https://docs.nvidia.com/datacenter/tesla/mig-user-guide/#supported-mig-profiles
func cutGPUs(slices [8]int64) int64 {
	compute := int64(0)
	for size, devices := range slices {
		compute += int64(size) * devices
	}
	up := func(amount, each int64) int64 { return (amount + each - 1) / each }
	halves := slices[3] + slices[4]
	return max(up(compute, 7), slices[4], up(halves, 2), up(halves+slices[2], 3))
}
