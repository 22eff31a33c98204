package planner

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// vector is an amount of each resource that anything in the snapshot asks for, in the order of axes: thousandths of a core for cpu, else whole units.
type vector []int64

// axes are the resources that vectors count, by name and position. A resource that nothing asks for bounds nothing and is left out, apart from
// those that order shapes and that explanations speak of.
type axes struct {
	names    []corev1.ResourceName
	position map[corev1.ResourceName]int
}

// Positions of the resources that every axes has.
const (
	axisCPU = iota
	axisMemory
	axisPods
	axisCount
)

func newAxes(requested []corev1.ResourceName) *axes {
	a := &axes{names: []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods}}
	var others []corev1.ResourceName
	for _, name := range requested {
		if !slices.Contains(a.names, name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	a.names = append(a.names, slices.Compact(others)...)
	a.position = make(map[corev1.ResourceName]int, len(a.names))
	for i, name := range a.names {
		a.position[name] = i
	}
	return a
}

// requests counts what is asked for; parts of a unit round up.
func (a *axes) requests(list corev1.ResourceList) vector {
	v := make(vector, len(a.names))
	for name, quantity := range list {
		if i, ok := a.position[name]; ok {
			v[i] = amountUp(name, &quantity)
		}
	}
	return v
}

// supply counts what there is; parts of a unit round down.
func (a *axes) supply(list corev1.ResourceList) vector {
	v := make(vector, len(a.names))
	a.readSupply(v, list)
	return v
}

// readSupply counts what there is into v, which is zero.
func (a *axes) readSupply(v vector, list corev1.ResourceList) {
	for i, name := range a.names {
		if quantity, ok := list[name]; ok {
			v[i] = amountDown(name, &quantity)
		}
	}
}

// take subtracts what a running pod takes.
func (a *axes) take(free vector, pod *corev1.Pod) {
	scheduling.EachRequestedAmount(pod, func(name corev1.ResourceName, amount int64) {
		if i, ok := a.position[name]; ok {
			free[i] -= max(0, min(amount, beyond))
		}
	})
}

// beyond is more than any machine has of anything, and little enough that a thousand of it can be added up. A pod may ask for any quantity; one that
// does not fit into 64 bits would come out as little or nothing, and a node would be launched for it in vain, again and again.
const beyond = 1 << 53

// amountUp is a quantity in a vector's unit, rounded up, and no more than beyond.
func amountUp(name corev1.ResourceName, quantity *resource.Quantity) int64 {
	if whole, ok := wholeAmount(name, quantity); ok {
		return whole
	}
	if name == corev1.ResourceCPU {
		if quantity.CmpInt64(beyond/1000) > 0 {
			return beyond
		}
		return quantity.MilliValue()
	}
	if quantity.CmpInt64(beyond) > 0 {
		return beyond
	}
	return quantity.Value()
}

// wholeAmount is a quantity of whole units that is not beyond, which nearly all are, without any arithmetic on quantities.
func wholeAmount(name corev1.ResourceName, quantity *resource.Quantity) (int64, bool) {
	whole, ok := quantity.AsInt64()
	if name == corev1.ResourceCPU {
		return whole * 1000, ok && -beyond/1000 <= whole && whole <= beyond/1000
	}
	return whole, ok && -beyond <= whole && whole <= beyond
}

// amountDown is a quantity in a vector's unit, rounded down.
func amountDown(name corev1.ResourceName, quantity *resource.Quantity) int64 {
	if whole, ok := wholeAmount(name, quantity); ok {
		return whole
	}
	amount := amountUp(name, quantity)
	if quantityOf(name, amount).Cmp(*quantity) > 0 {
		amount--
	}
	return amount
}

// quantityOf is an amount in a vector's unit as a quantity.
func quantityOf(name corev1.ResourceName, amount int64) *resource.Quantity {
	switch name {
	case corev1.ResourceCPU:
		return resource.NewMilliQuantity(amount, resource.DecimalSI)
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return resource.NewQuantity(amount, resource.BinarySI)
	}
	return resource.NewQuantity(amount, resource.DecimalSI)
}

func (v vector) add(other vector, times int64) {
	for i := range v {
		v[i] += other[i] * times
	}
}

func (v vector) sub(other vector) {
	for i := range v {
		v[i] -= other[i]
	}
}

// fits reports whether need is there.
func (v vector) fits(need vector) bool {
	for i, n := range need {
		if n > 0 && n > v[i] {
			return false
		}
	}
	return true
}

// room is how many times need is there, at most limit.
func (v vector) room(need vector, limit int64) int64 {
	for i, n := range need {
		if n <= 0 {
			continue
		}
		if v[i] < n {
			return 0
		}
		limit = min(limit, v[i]/n)
	}
	return limit
}

// atLeast reports whether v has no less than other of anything.
func (v vector) atLeast(other vector) bool {
	for i := range v {
		if v[i] < other[i] {
			return false
		}
	}
	return true
}

// addLists adds a resource list to a sum.
func addLists(sum, list corev1.ResourceList) {
	for name, quantity := range list {
		total := sum[name]
		total.Add(quantity)
		sum[name] = total
	}
}
