package offering

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// Offering is one way to get a node: a pool type bought through one offering. Columns are numbered
// by price, cheapest first, so that going through a set of offerings goes from cheap to dear.
type Offering struct {
	Source *catalog.Offering
	// Price is the offering's; zone and capacityType are the positions of its own in zones and
	// capacityTypes. They stand here because what is spread over memory takes long to read; there are
	// thousands of offerings, so they are kept small.
	Price float64
	// PoolType is a position in pool types; reservation is the position in reservations of the
	// reservation that a node takes one unit of, -1 for none.
	PoolType, Reservation int32
	zone, capacityType    int16
}

// Reservation is a capacity reservation that offerings buy from.
type Reservation struct {
	id string
	// Capacity is how many nodes it has left for this plan.
	Capacity int
}

// readOfferings numbers the offerings, and fills in the sets of them that all else is made from.
func (ix *Index) readOfferings() {
	ix.sortOfferings()
	ix.Exotic = dense.NewSet(len(ix.Offerings))
	for _, pool := range ix.Pools {
		pool.Offerings = dense.NewSet(len(ix.Offerings))
	}
	ix.Reserved = dense.NewSet(len(ix.Offerings))
	ix.Limited = dense.NewSet(len(ix.Offerings))
	byID := map[string]int{}
	// Each pool type's offerings are a part of one list.
	counts := make([]int, len(ix.PoolTypes))
	for j := range ix.Offerings {
		counts[ix.Offerings[j].PoolType]++
	}
	list := make([]int, len(ix.Offerings))
	for i, n := range counts {
		ix.PoolTypes[i].Offerings, list = list[:0:n], list[n:]
	}
	for j := range ix.Offerings {
		column := &ix.Offerings[j]
		c := &ix.PoolTypes[column.PoolType]
		c.Offerings = append(c.Offerings, j)
		c.Pool.Offerings.Add(j)
		if c.Type.Exotic {
			ix.Exotic.Add(j)
		}
		if len(c.Pool.Limits) > 0 {
			ix.Limited.Add(j)
		}
		column.Reservation = -1
		if ix.capacityTypes[column.capacityType] == api.CapacityTypeReserved {
			ix.Reserved.Add(j)
			i, ok := byID[column.Source.ReservationID]
			if !ok {
				i = len(ix.Reservations)
				byID[column.Source.ReservationID] = i
				ix.Reservations = append(ix.Reservations, Reservation{id: column.Source.ReservationID})
			}
			column.Reservation = int32(i)
			ix.Reservations[i].Capacity = max(ix.Reservations[i].Capacity, column.Source.ReservationCapacity)
		}
	}
	for first := 0; first < len(ix.Pools); {
		tier := dense.NewSet(len(ix.Offerings))
		first = ix.addTier(tier, first)
		ix.Tiers = append(ix.Tiers, tier)
	}
	ix.Sizes = make([]sizes, len(ix.Work.Axes.Names))
	for r := range ix.Sizes {
		ix.Sizes[r] = ix.readSizes(r)
	}
}

// sortOfferings sorts by price; of equal ones spot comes before on-demand, then the order is by
// pool, type and zone.
func (ix *Index) sortOfferings() {
	n := len(ix.Offerings)
	if n == 0 {
		return
	}
	order := make([]dense.Ranked, n)
	for j := range ix.Offerings {
		order[j] = dense.Ranked{By: max(ix.Offerings[j].Price, 0), Item: int32(j)}
	}
	dense.SortRanked(order, nil)
	sorted := make([]Offering, n)
	for first := 0; first < n; {
		end := first + 1
		for end < n && order[end].By == order[first].By {
			end++
		}
		if end > first+1 {
			slices.SortFunc(order[first:end], func(a, b dense.Ranked) int { return ix.compareOfferings(a.Item, b.Item) })
		}
		for ; first < end; first++ {
			sorted[first] = ix.Offerings[order[first].Item]
		}
	}
	ix.Offerings = sorted
}

// compareOfferings orders offerings of the same price.
func (ix *Index) compareOfferings(a, b int32) int {
	first, second := &ix.Offerings[a], &ix.Offerings[b]
	x, y := first.Source, second.Source
	if x.CapacityType != y.CapacityType {
		return strings.Compare(y.CapacityType, x.CapacityType)
	}
	if first.PoolType != second.PoolType {
		return cmp.Compare(first.PoolType, second.PoolType)
	}
	return cmp.Or(strings.Compare(x.Zone, y.Zone), strings.Compare(x.ReservationID, y.ReservationID), cmp.Compare(a, b))
}

// addTier adds the offerings of the pools that have the same weight as the pool first, and gives
// the position of the first pool that has not.
func (ix *Index) addTier(set dense.Set, first int) int {
	end := first
	for ; end < len(ix.Pools) && ix.Pools[end].weight() == ix.Pools[first].weight(); end++ {
		set.Or(ix.Pools[end].Offerings)
	}
	return end
}

// PoolTypeOf is the pool type that an offering buys.
func (ix *Index) PoolTypeOf(column int) *PoolType {
	return &ix.PoolTypes[ix.Offerings[column].PoolType]
}

// sizes answers which offerings have at least so much of one resource.
type sizes struct {
	// order are the offerings by their amount, ascending, amounts those amounts.
	order   []int32
	amounts []int64
	// from has, for every sizeStep-th position, the set of the offerings from there on.
	from []dense.Set
}

const sizeStep = 64

func (ix *Index) readSizes(axis int) sizes {
	// Columns of a pool type have the same amounts, and many pool types too: there are few amounts to
	// sort.
	first, next := map[int64]int32{}, make([]int32, len(ix.PoolTypes))
	var amounts []int64
	for i := len(ix.PoolTypes) - 1; i >= 0; i-- {
		amount := ix.PoolTypes[i].Free[axis]
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
			for _, j := range ix.PoolTypes[i].Offerings {
				s.order, s.amounts = append(s.order, int32(j)), append(s.amounts, amount)
			}
		}
	}
	set := dense.NewSet(len(ix.Offerings))
	s.from = make([]dense.Set, (len(ix.Offerings)+sizeStep-1)/sizeStep)
	memory := make(dense.Set, len(s.from)*len(set))
	for i := len(s.order) - 1; i >= 0; i-- {
		set.Add(int(s.order[i]))
		if i%sizeStep == 0 {
			from := memory[i/sizeStep*len(set):][:len(set):len(set)]
			copy(from, set)
			s.from[i/sizeStep] = from
		}
	}
	return s
}

// KeepAtLeast leaves the offerings in the set that have at least so much.
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

// KeepRoom leaves the offerings in the set whose empty node has room for the need.
func (ix *Index) KeepRoom(set dense.Set, need resource.Vector) {
	for r, amount := range need {
		if amount > 0 {
			ix.Sizes[r].KeepAtLeast(set, amount)
		}
	}
}
