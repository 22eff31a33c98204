package cost

import (
	"cmp"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// coreInGiB is how many GiB of memory cost as much as a core. By Fargate's prices in us-east-1, $0.04048/h and
	// $0.004445/h. https://aws.amazon.com/fargate/pricing/
	coreInGiB = 9.1
	// deviceShare is the part of a node's price that its GPUs or other accelerators have, if there are any. A
	// g5.xlarge costs five times as much as an m5.xlarge, which has as many processors and as much memory.
	deviceShare = 0.8
)

// micro is how many units a dollar has. Amounts of money are whole units, so that nothing is lost when they are shared.
const micro = 1e6

// weights are the parts of a node's price by resource. They add up to one.
func weights(allocatable corev1.ResourceList) map[corev1.ResourceName]float64 {
	made, devices := map[corev1.ResourceName]float64{}, []corev1.ResourceName{}
	for name, quantity := range allocatable {
		if isDevice(name) && quantity.Sign() > 0 {
			devices = append(devices, name)
		}
	}
	rest := 1.0
	for _, name := range devices {
		made[name] = deviceShare / float64(len(devices))
		rest = 1 - deviceShare
	}
	cores, gib := allocatable.Cpu().AsApproximateFloat64()*coreInGiB, allocatable.Memory().AsApproximateFloat64()/(1<<30)
	if sum := cores + gib; sum > 0 {
		made[corev1.ResourceCPU], made[corev1.ResourceMemory] = rest*cores/sum, rest*gib/sum
	}
	return made
}

// isDevice reports whether the resource is an accelerator: Nvidia's, AMD's and Habana's, or AWS's Neuron.
func isDevice(name corev1.ResourceName) bool {
	domain, _, _ := strings.Cut(string(name), "/")
	return slices.Contains([]string{"nvidia.com", "amd.com", "habana.ai", "aws.amazon.com"}, domain)
}

// part is the part of the node that the pod requests, by the node's weights.
func part(pod *corev1.Pod, allocatable corev1.ResourceList, weights map[corev1.ResourceName]float64) float64 {
	sum := 0.0
	requests := scheduling.PodRequests(pod)
	for name, weight := range weights {
		have := allocatable[name]
		if wanted, has := requests[name]; has && have.Sign() > 0 {
			sum += weight * wanted.AsApproximateFloat64() / have.AsApproximateFloat64()
		}
	}
	return sum
}

// divide divides an amount into whole units by the parts, and returns what is left beside. Parts that add up to more
// than one get all of it. The largest remainders are rounded up first, so that the sum is exact.
func divide(amount int64, parts []float64) (given []int64, left int64) {
	sum := 0.0
	for _, p := range parts {
		sum += p
	}
	scale := 1.0
	if sum > 1 {
		scale = 1 / sum
	}
	type remainder struct {
		at   int
		part float64
	}
	given = make([]int64, len(parts))
	rest, used := make([]remainder, len(parts)), int64(0)
	for i, p := range parts {
		exact := p * scale * float64(amount)
		given[i] = int64(math.Floor(exact))
		rest[i] = remainder{i, exact - math.Floor(exact)}
		used += given[i]
	}
	// What is due to all of them, in whole units. Rounding must not give more than there is.
	due := min(int64(math.Round(min(sum, 1)*float64(amount))), amount)
	slices.SortStableFunc(rest, func(a, b remainder) int { return -cmp.Compare(a.part, b.part) })
	for i := 0; used < due && i < len(rest); i++ {
		given[rest[i].at]++
		used++
	}
	return given, amount - used
}
