package podgroup

import "github.com/whittle-dev/whittle/shared/scheduling"

// Vector is an amount of each resource, by the resource's axis, in scheduling.Amount's units. Axes
// beyond its end are zero.
type Vector []int64

// At is the amount on the axis.
func (v Vector) At(axis int) int64 {
	if axis < len(v) {
		return v[axis]
	}
	return 0
}

// Holds tells whether the requests fit into the vector.
func (v Vector) Holds(requests Vector) bool {
	for axis, amount := range requests {
		if amount > 0 && amount > v.At(axis) {
			return false
		}
	}
	return true
}

// Add adds the other vector so many times. Axes beyond the end of v are dropped.
func (v Vector) Add(other Vector, times int64) {
	for axis, amount := range other {
		if amount != 0 && axis < len(v) {
			v[axis] = scheduling.AddAmounts(v[axis], amount*times)
		}
	}
}
