package dense

import (
	"cmp"
	"math"
	"slices"
)

// Ranked is a thing, by its number, with what it is sorted by.
type Ranked struct {
	By   float64
	Item int32
}

// bits are in the order of what the thing is sorted by.
func (m Ranked) bits() uint64 {
	// Adding zero makes one zero of the two that there are.
	bits := math.Float64bits(m.By + 0)
	if bits>>63 == 0 {
		return bits | 1<<63
	}
	return ^bits
}

// fewRanked is how many things are sorted by comparing them.
const fewRanked = 128

// SortRanked sorts things by measure, and keeps the order of equal ones. Long lists are sorted by
// eight bits at a time, the lowest first. next is memory for that, which the caller passes again.
func SortRanked(list, next []Ranked) []Ranked {
	if len(list) <= fewRanked {
		slices.SortStableFunc(list, func(a, b Ranked) int { return cmp.Compare(a.By, b.By) })
		return next
	}
	const digits, values = 8, 256
	var counts [digits][values]int32
	for i := range list {
		bits := list[i].bits()
		for digit := range &counts {
			counts[digit][bits>>(8*digit)&(values-1)]++
		}
	}
	next = slices.Grow(next[:0], len(list))[:len(list)]
	from, to := list, next
	for digit := range &counts {
		ends := &counts[digit]
		if ends[from[0].bits()>>(8*digit)&(values-1)] == int32(len(list)) {
			continue // it is the same for all
		}
		sum := int32(0)
		for i, count := range ends {
			ends[i] = sum
			sum += count
		}
		for i := range from {
			at := &ends[from[i].bits()>>(8*digit)&(values-1)]
			to[*at] = from[i]
			*at++
		}
		from, to = to, from
	}
	if &from[0] != &list[0] {
		copy(list, from)
	}
	return next
}
