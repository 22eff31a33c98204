package scheduling

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Amount is a quantity in the unit that plans count in: thousandths for cpu, whole units for all else. Parts of a unit round away from zero. What is
// beyond 64 bits is the greatest or the least number that there is: Quantity's own Value and MilliValue give zero or any number then.
func Amount(name corev1.ResourceName, quantity *resource.Quantity) int64 {
	amount, _ := amountOf(name, quantity)
	return amount
}

// AddAmounts is a + b, or the greatest or the least number that there is where the sum is beyond it.
func AddAmounts(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

// amountOf is Amount, and whether nothing was rounded or cut off.
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
		// Quantity rounds some negative fractions up, others down.
		positive := quantity.DeepCopy()
		positive.Neg()
		amount, exact = amountOf(name, &positive)
		return -amount, exact
	}
	return amount, false
}

// EachRequest calls yield with what the pod takes of its node, PodRequests without making a list: of one name there may be several amounts, which add up. One
// of the resource "pods" is among them. The quantity is yield's to read until it returns, not to keep or to change.
func EachRequest(pod *corev1.Pod, yield func(name corev1.ResourceName, quantity *resource.Quantity)) {
	var buffer [requestsAtOnce]request
	requests, ok := sumOfContainers(pod, buffer[:0])
	if !ok {
		for name, quantity := range PodRequests(pod) {
			yield(name, &quantity)
		}
		return
	}
	var quantity resource.Quantity // one for all: what yield is given is on the heap
	for i := range requests {
		quantity = requests[i].quantity
		yield(requests[i].name, &quantity)
	}
	quantity = *resource.NewQuantity(1, resource.DecimalSI)
	yield(corev1.ResourcePods, &quantity)
}

// EachRequestedAmount is EachRequest with each quantity as an Amount, and the fastest way to add up what many pods take: in the ordinary case it allocates
// nothing. What it yields of a name adds up (AddAmounts) to the Amount of the sum.
func EachRequestedAmount(pod *corev1.Pod, yield func(name corev1.ResourceName, amount int64)) {
	// Most pods that wait are like this.
	if len(pod.Spec.Containers) == 1 && len(pod.Status.ContainerStatuses) == 0 && countsContainersAlone(pod) {
		requests, read := pod.Spec.Containers[0].Resources.Requests, 0
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
		yield(corev1.ResourcePods, 1)
		return
	}
	var buffer [requestsAtOnce]request
	requests, ok := sumOfContainers(pod, buffer[:0])
	var amounts [requestsAtOnce]int64
	for i := range requests {
		var exact bool
		amounts[i], exact = amountOf(requests[i].name, &requests[i].quantity)
		// Two halves are one, but each rounds to one; and what would be cut off on the way may not be in the end.
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

const (
	// requestsAtOnce is how many requests of containers are held at once; few pods have so many.
	requestsAtOnce = 16
	// summable is an amount that so many can be added up of without a sum beyond 64 bits.
	summable = math.MaxInt64 / requestsAtOnce
)

type request struct {
	name     corev1.ResourceName
	quantity resource.Quantity
}

// sumOfContainers appends the requests of the pod's containers, and reports whether they are all that counts for the pod: it has no init containers, overhead and
// requests of its own, what its containers have got of a resize is no more than what they ask for, and there is room in the list.
func sumOfContainers(pod *corev1.Pod, requests []request) ([]request, bool) {
	if !countsContainersAlone(pod) {
		return nil, false
	}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		status := statusOf(pod, i)
		var has, allocated int
		for name, quantity := range container.Resources.Requests {
			if status != nil {
				// What the container has got counts where it is more than what it asks for.
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
				continue // a pod is one, whatever it asks for
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

// countsContainersAlone reports whether nothing but what containers ask for and have got counts for the pod.
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

// statusOf is the status of the pod's container number i if it says what the container has got, else nil. Of several the last counts.
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
