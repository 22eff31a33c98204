package planner

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// column is one way to get a node: a config bought through one offering. Columns are numbered by price, cheapest first, so that going through a set of
// columns goes from cheap to dear.
type column struct {
	offering *catalog.Offering
	// price is the offering's; zone and capacityType are the positions of its own in problem.zones and problem.capacityTypes. They stand here because what is spread
	// over memory takes long to read; there are thousands of columns, so they are kept small.
	price float64
	// config is a position in problem.configs; reservation is the position in problem.reservations of the reservation that a node takes one unit of, -1 for none.
	config, reservation int32
	zone, capacityType  int16
}

// reservation is a capacity reservation that columns buy from.
type reservation struct {
	id string
	// capacity is how many nodes it has left for this plan.
	capacity int
}

// readColumns numbers the columns, and fills in the sets of them that all else is made from.
func (p *offerings) readColumns() {
	p.sortColumns()
	p.exotic = newBitset(len(p.columns))
	for _, pool := range p.pools {
		pool.columns = newBitset(len(p.columns))
	}
	p.reserved = newBitset(len(p.columns))
	p.limited = newBitset(len(p.columns))
	byID := map[string]int{}
	// Each config's columns are a part of one list.
	counts := make([]int, len(p.configs))
	for j := range p.columns {
		counts[p.columns[j].config]++
	}
	list := make([]int, len(p.columns))
	for i, n := range counts {
		p.configs[i].columns, list = list[:0:n], list[n:]
	}
	for j := range p.columns {
		column := &p.columns[j]
		c := &p.configs[column.config]
		c.columns = append(c.columns, j)
		c.pool.columns.add(j)
		if c.typ.Exotic {
			p.exotic.add(j)
		}
		if len(c.pool.limits) > 0 {
			p.limited.add(j)
		}
		column.reservation = -1
		if p.capacityTypes[column.capacityType] == api.CapacityTypeReserved {
			p.reserved.add(j)
			i, ok := byID[column.offering.ReservationID]
			if !ok {
				i = len(p.reservations)
				byID[column.offering.ReservationID] = i
				p.reservations = append(p.reservations, reservation{id: column.offering.ReservationID})
			}
			column.reservation = int32(i)
			p.reservations[i].capacity = max(p.reservations[i].capacity, column.offering.ReservationCapacity)
		}
	}
	for first := 0; first < len(p.pools); {
		tier := newBitset(len(p.columns))
		first = p.addTier(tier, first)
		p.tiers = append(p.tiers, tier)
	}
	p.sizes = make([]sizes, len(p.work.axes.names))
	for r := range p.sizes {
		p.sizes[r] = p.readSizes(r)
	}
}

// sortColumns sorts by price; of equal ones spot comes before on-demand, then the order is by pool, type and zone.
func (p *offerings) sortColumns() {
	n := len(p.columns)
	if n == 0 {
		return
	}
	order := make([]ranked, n)
	for j := range p.columns {
		order[j] = ranked{by: max(p.columns[j].price, 0), thing: int32(j)}
	}
	sortRanked(order, nil)
	sorted := make([]column, n)
	for first := 0; first < n; {
		end := first + 1
		for end < n && order[end].by == order[first].by {
			end++
		}
		if end > first+1 {
			slices.SortFunc(order[first:end], func(a, b ranked) int { return p.compareColumns(a.thing, b.thing) })
		}
		for ; first < end; first++ {
			sorted[first] = p.columns[order[first].thing]
		}
	}
	p.columns = sorted
}

// compareColumns orders columns of the same price.
func (p *offerings) compareColumns(a, b int32) int {
	first, second := &p.columns[a], &p.columns[b]
	x, y := first.offering, second.offering
	if x.CapacityType != y.CapacityType {
		return strings.Compare(y.CapacityType, x.CapacityType)
	}
	if first.config != second.config {
		return cmp.Compare(first.config, second.config)
	}
	return cmp.Or(strings.Compare(x.Zone, y.Zone), strings.Compare(x.ReservationID, y.ReservationID), cmp.Compare(a, b))
}

// addTier adds the columns of the pools that have the same weight as the pool first, and gives the position of the first pool that has not.
func (p *offerings) addTier(set bitset, first int) int {
	end := first
	for ; end < len(p.pools) && p.pools[end].weight() == p.pools[first].weight(); end++ {
		set.or(p.pools[end].columns)
	}
	return end
}

// configOf is the config that a column buys.
func (p *offerings) configOf(column int) *config { return &p.configs[p.columns[column].config] }

// sizes answers which columns have at least so much of one resource.
type sizes struct {
	// order are the columns by their amount, ascending, amounts those amounts.
	order   []int32
	amounts []int64
	// from has, for every sizeStep-th position, the set of the columns from there on.
	from []bitset
}

const sizeStep = 64

func (p *offerings) readSizes(axis int) sizes {
	// Columns of a config have the same amounts, and many configs too: there are few amounts to sort.
	first, next := map[int64]int32{}, make([]int32, len(p.configs))
	var amounts []int64
	for i := len(p.configs) - 1; i >= 0; i-- {
		amount := p.configs[i].free[axis]
		at, ok := first[amount]
		if !ok {
			at = -1
			amounts = append(amounts, amount)
		}
		next[i], first[amount] = at, int32(i)
	}
	slices.Sort(amounts)
	s := sizes{order: make([]int32, 0, len(p.columns)), amounts: make([]int64, 0, len(p.columns))}
	for _, amount := range amounts {
		for i := first[amount]; i >= 0; i = next[i] {
			for _, j := range p.configs[i].columns {
				s.order, s.amounts = append(s.order, int32(j)), append(s.amounts, amount)
			}
		}
	}
	set := newBitset(len(p.columns))
	s.from = make([]bitset, (len(p.columns)+sizeStep-1)/sizeStep)
	memory := make(bitset, len(s.from)*len(set))
	for i := len(s.order) - 1; i >= 0; i-- {
		set.add(int(s.order[i]))
		if i%sizeStep == 0 {
			from := memory[i/sizeStep*len(set):][:len(set):len(set)]
			copy(from, set)
			s.from[i/sizeStep] = from
		}
	}
	return s
}

// keep leaves the columns in the set that have at least so much.
func (s *sizes) keep(set bitset, least int64) {
	at := sort.Search(len(s.amounts), func(i int) bool { return s.amounts[i] >= least })
	if at == len(s.amounts) {
		clear(set)
		return
	}
	set.and(s.from[at/sizeStep])
	for _, j := range s.order[at/sizeStep*sizeStep : at] {
		set.remove(int(j))
	}
}

// keepRoom leaves the columns in the set whose empty node has room for the need.
func (p *offerings) keepRoom(set bitset, need vector) {
	for r, amount := range need {
		if amount > 0 {
			p.sizes[r].keep(set, amount)
		}
	}
}
