package scheduling

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Amount returns a quantity in the unit of plans: millicores for cpu, whole units for every other
// resource. Fractions round away from zero. A quantity beyond 64 bits becomes the largest or
// smallest int64, where Quantity.Value would return an arbitrary number.
func Amount(name corev1.ResourceName, quantity *resource.Quantity) int64 {
	amount, _ := amountOf(name, quantity)
	return amount
}

// AddAmounts returns a + b, limited to the largest and smallest int64.
func AddAmounts(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

// amountOf returns Amount, and whether it is exact: neither rounded nor limited.
func amountOf(name corev1.ResourceName, quantity *resource.Quantity) (amount int64, exact bool) {
	whole, isWhole := quantity.AsInt64()
	unit := resource.Scale(0)
	if name == corev1.ResourceCPU {
		if isWhole && math.MinInt64/1000 <= whole && whole <= math.MaxInt64/1000 {
			return whole * 1000, true
		}
		unit = resource.Milli
	} else if isWhole {
		return whole, true
	}
	if isAstronomic(quantity) {
		if quantity.Sign() < 0 {
			return math.MinInt64, false
		}
		return math.MaxInt64, false
	}
	amount = quantity.ScaledValue(unit)
	if resource.NewScaledQuantity(amount, unit).Cmp(*quantity) == 0 {
		return amount, true
	}
	switch {
	case quantity.Cmp(*resource.NewScaledQuantity(math.MaxInt64, unit)) > 0:
		return math.MaxInt64, false
	case quantity.Cmp(*resource.NewScaledQuantity(-math.MaxInt64, unit)) < 0:
		return math.MinInt64, false
	case quantity.Sign() < 0:
		// Quantity rounds some negative fractions up and others down.
		positive := quantity.DeepCopy()
		positive.Neg()
		amount, exact = amountOf(name, &positive)
		return -amount, exact
	}
	return amount, false
}

// EachRequest calls yield with the pod's requests. Several calls with the same name add up to the
// amount in PodRequests. One of the resource "pods" is among them. yield may read the quantity
// until it returns, and must not keep or change it.
func EachRequest(pod *corev1.Pod, yield func(name corev1.ResourceName, quantity *resource.Quantity)) {
	var buffer [requestsAtOnce]request
	requests, ok := sumOfContainers(pod, buffer[:0])
	if !ok {
		for name, quantity := range PodRequests(pod) {
			yield(name, &quantity)
		}
		return
	}
	// One variable for all calls, because yield's argument escapes to the heap.
	var quantity resource.Quantity // one for all: what yield is given is on the heap
	for i := range requests {
		quantity = requests[i].quantity
		yield(requests[i].name, &quantity)
	}
	quantity = *resource.NewQuantity(1, resource.DecimalSI)
	yield(corev1.ResourcePods, &quantity)
}

// EachRequestedAmount is EachRequest with each quantity as an Amount. The amounts of one name add
// up, with AddAmounts, to the Amount of the sum. In the common case it allocates nothing.
func EachRequestedAmount(pod *corev1.Pod, yield func(name corev1.ResourceName, amount int64)) {
	// Most pending pods have this form.
	if len(pod.Spec.Containers) == 1 && len(pod.Status.ContainerStatuses) == 0 && countsContainersAlone(pod) {
		eachOfContainer(pod.Spec.Containers[0].Resources.Requests, yield)
		yield(corev1.ResourcePods, 1)
		return
	}
	var buffer [requestsAtOnce]request
	requests, ok := sumOfContainers(pod, buffer[:0])
	var amounts [requestsAtOnce]int64
	for i := range requests {
		var exact bool
		amounts[i], exact = amountOf(requests[i].name, &requests[i].quantity)
		// Halves must not be rounded before they are added, and a limited amount may be within 64
		// bits after the addition.
		ok = ok && (len(pod.Spec.Containers) == 1 || exact && -summable <= amounts[i] && amounts[i] <= summable)
	}
	if !ok {
		for name, quantity := range PodRequests(pod) {
			yield(name, Amount(name, &quantity))
		}
		return
	}
	for i := range requests {
		yield(requests[i].name, amounts[i])
	}
	yield(corev1.ResourcePods, 1)
}

// eachOfContainer yields the requests of a pod's only container, cpu and memory first.
func eachOfContainer(requests corev1.ResourceList, yield func(name corev1.ResourceName, amount int64)) {
	read := 0
	for _, name := range [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if quantity, ok := requests[name]; ok {
			amount, _ := amountOf(name, &quantity)
			yield(name, amount)
			read++
		}
	}
	if read < len(requests) {
		for name, quantity := range requests {
			if name != corev1.ResourcePods && name != corev1.ResourceCPU && name != corev1.ResourceMemory {
				amount, _ := amountOf(name, &quantity)
				yield(name, amount)
			}
		}
	}
}

const (
	// requestsAtOnce is the number of container requests that are held without an allocation. Few
	// pods have more.
	requestsAtOnce = 16
	// summable is an amount of which requestsAtOnce can be added without an overflow.
	summable = math.MaxInt64 / requestsAtOnce
)

type request struct {
	name     corev1.ResourceName
	quantity resource.Quantity
}

// sumOfContainers appends the sums of the requests of the pod's containers. It returns false where
// these are not all that counts for the pod, or where the list has no room for them.
func sumOfContainers(pod *corev1.Pod, requests []request) ([]request, bool) {
	if !countsContainersAlone(pod) {
		return nil, false
	}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		status := statusOf(pod, i)
		var has, allocated int
		for name, quantity := range container.Resources.Requests {
			if isAstronomic(&quantity) {
				return nil, false
			}
			if status != nil {
				// Resources that the container has counts where they exceed its request, during a
				// resize.
				if got, ok := status.Resources.Requests[name]; ok {
					has++
					if got.Cmp(quantity) > 0 {
						return nil, false
					}
				}
				if got, ok := status.AllocatedResources[name]; ok {
					allocated++
					if got.Cmp(quantity) > 0 {
						return nil, false
					}
				}
			}
			if name == corev1.ResourcePods {
				continue // a pod counts as one pod
			}
			if len(requests) == cap(requests) {
				return nil, false
			}
			requests = append(requests, request{name, quantity})
		}
		if status != nil && (has < len(status.Resources.Requests) || allocated < len(status.AllocatedResources)) {
			return nil, false
		}
	}
	return requests, true
}

// countsContainersAlone reports whether only the requests and the resize status of containers count
// for the pod.
func countsContainersAlone(pod *corev1.Pod) bool {
	if len(pod.Spec.InitContainers) > 0 || len(pod.Spec.Overhead) > 0 || pod.Spec.Resources != nil {
		return false
	}
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodResizePending {
			return false
		}
	}
	return true
}

// statusOf returns the last status of the pod's container number i that gives its resources, or
// nil.
func statusOf(pod *corev1.Pod, i int) *corev1.ContainerStatus {
	name := pod.Spec.Containers[i].Name
	for j := len(pod.Status.ContainerStatuses) - 1; j >= 0; j-- {
		if status := &pod.Status.ContainerStatuses[j]; status.Name == name {
			if status.Resources == nil {
				return nil
			}
			return status
		}
	}
	return nil
}
