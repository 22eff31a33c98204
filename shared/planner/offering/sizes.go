package offering

import (
	"slices"
	"sort"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// sizes finds the offerings with at least some amount of one resource: the amount that an empty node
// has, or that a node takes of a limit.
type sizes struct {
	// order are the offerings by their amount, smallest first. amounts are these amounts.
	order   []int32
	amounts []int64
	// from has a set for every sizeStep-th position: the offerings from this position on.
	from []dense.Set
}

// sizeStep is how many positions of sizes.order share a set. A search removes fewer than this many
// offerings one by one.
const sizeStep = 64

// readSizes fills in the sizes of all resource axes.
func (ix *Index) readSizes() {
	ix.Sizes = make([]sizes, len(ix.Work.Axes.Names))
	for r := range ix.Sizes {
		ix.Sizes[r] = ix.sizesOf(ix.PoolTypes, func(t *PoolType) int64 { return t.Free[r] })
	}
}

// sizesOf orders the offerings of the pool types by an amount.
func (ix *Index) sizesOf(types []PoolType, amountOf func(*PoolType) int64) sizes {
	// Many pool types have the same amount, so sorting the distinct amounts is cheap. Lists of pool
	// types begin at first and continue by next.
	first, next := map[int64]int32{}, make([]int32, len(types))
	var amounts []int64
	for i := len(types) - 1; i >= 0; i-- {
		amount := amountOf(&types[i])
		at, ok := first[amount]
		if !ok {
			at = -1
			amounts = append(amounts, amount)
		}
		next[i], first[amount] = at, int32(i)
	}
	slices.Sort(amounts)
	s := sizes{order: make([]int32, 0, len(ix.Offerings)), amounts: make([]int64, 0, len(ix.Offerings))}
	for _, amount := range amounts {
		for i := first[amount]; i >= 0; i = next[i] {
			for _, j := range types[i].Offerings {
				s.order, s.amounts = append(s.order, int32(j)), append(s.amounts, amount)
			}
		}
	}
	s.readFrom(len(ix.Offerings))
	return s
}

// sizesBy orders these offerings by an amount.
func (ix *Index) sizesBy(offerings []int, amountOf func(int) int64) sizes {
	// As in sizesOf, lists of offerings with the same amount begin at first and continue by next.
	first, next := map[int64]int32{}, make([]int32, len(offerings))
	var amounts []int64
	for i := len(offerings) - 1; i >= 0; i-- {
		amount := amountOf(offerings[i])
		at, ok := first[amount]
		if !ok {
			at = -1
			amounts = append(amounts, amount)
		}
		next[i], first[amount] = at, int32(i)
	}
	slices.Sort(amounts)
	s := sizes{order: make([]int32, 0, len(offerings)), amounts: make([]int64, 0, len(offerings))}
	for _, amount := range amounts {
		for i := first[amount]; i >= 0; i = next[i] {
			s.order, s.amounts = append(s.order, int32(offerings[i])), append(s.amounts, amount)
		}
	}
	s.readFrom(len(ix.Offerings))
	return s
}

// readFrom fills in the sets of from. They share one allocation.
func (s *sizes) readFrom(offerings int) {
	set := dense.NewSet(offerings)
	s.from = make([]dense.Set, (len(s.order)+sizeStep-1)/sizeStep)
	memory := make(dense.Set, len(s.from)*len(set))
	for i := len(s.order) - 1; i >= 0; i-- {
		set.Add(int(s.order[i]))
		if i%sizeStep == 0 {
			from := memory[i/sizeStep*len(set):][:len(set):len(set)]
			copy(from, set)
			s.from[i/sizeStep] = from
		}
	}
}

// KeepAtLeast removes the offerings from the set that have less than the least amount.
func (s *sizes) KeepAtLeast(set dense.Set, least int64) {
	at := sort.Search(len(s.amounts), func(i int) bool { return s.amounts[i] >= least })
	if at == len(s.amounts) {
		clear(set)
		return
	}
	set.And(s.from[at/sizeStep])
	for _, j := range s.order[at/sizeStep*sizeStep : at] {
		set.Remove(int(j))
	}
}

// MostFree has the greatest amount of each resource that an empty node of one of the offerings has.
func (ix *Index) MostFree(set dense.Set) resource.Vector {
	free := make(resource.Vector, len(ix.Sizes))
	if set.Len() > len(ix.Offerings)/4 {
		for r := range free {
			free[r] = ix.Sizes[r].most(set)
		}
		return free
	}
	for j := range set.All() {
		for r, amount := range ix.PoolTypeOf(j).Free {
			free[r] = max(free[r], amount)
		}
	}
	return free
}

// most is the greatest amount that an offering of the set has. It is zero for an empty set.
func (s *sizes) most(set dense.Set) int64 {
	for i := len(s.order) - 1; i >= 0; i-- {
		if set.Has(int(s.order[i])) {
			return s.amounts[i]
		}
	}
	return 0
}

// least is the least amount that an offering of the set has. It is zero for an empty set.
func (s *sizes) least(set dense.Set) int64 {
	for i, j := range s.order {
		if set.Has(int(j)) {
			return s.amounts[i]
		}
	}
	return 0
}

// KeepRoom removes the offerings from the set whose empty node has no room for the need.
func (ix *Index) KeepRoom(set dense.Set, need resource.Vector) {
	for r, amount := range need {
		if amount > 0 {
			ix.Sizes[r].KeepAtLeast(set, amount)
		}
	}
}

// CheapestWithRoom is the cheapest offering of the set whose empty node has room for the need, or
// -1. It does not change the set.
func (ix *Index) CheapestWithRoom(offerings dense.Set, need resource.Vector) int {
	set := ix.Feasibilities.ScratchSet
	copy(set, offerings)
	ix.KeepRoom(set, need)
	return set.First()
}
