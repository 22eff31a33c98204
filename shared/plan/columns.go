package plan

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
	config   int
	offering *catalog.Offering
	// reservation is the position in problem.reservations of the reservation that a node takes one unit of; -1 for none.
	reservation int
}

// reservation is a capacity reservation that columns buy from.
type reservation struct {
	id string
	// capacity is how many nodes it has left for this plan.
	capacity int
}

// readColumns numbers the columns, and fills in the sets of them that all else is made from.
func (p *problem) readColumns() {
	p.sortColumns()
	p.exotic = newBitset(len(p.columns))
	for _, pool := range p.pools {
		pool.columns = newBitset(len(p.columns))
	}
	p.reserved = newBitset(len(p.columns))
	p.limited = newBitset(len(p.columns))
	byID := map[string]int{}
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
		if column.offering.CapacityType == api.CapacityTypeReserved {
			p.reserved.add(j)
			i, ok := byID[column.offering.ReservationID]
			if !ok {
				i = len(p.reservations)
				byID[column.offering.ReservationID] = i
				p.reservations = append(p.reservations, reservation{id: column.offering.ReservationID})
			}
			column.reservation = i
			p.reservations[i].capacity = max(p.reservations[i].capacity, column.offering.ReservationCapacity)
		}
	}
	for first := 0; first < len(p.pools); {
		tier := newBitset(len(p.columns))
		first = p.addTier(tier, first)
		p.tiers = append(p.tiers, tier)
	}
	p.sizes = make([]sizes, len(p.axes.names))
	for r := range p.sizes {
		p.sizes[r] = p.readSizes(r)
	}
}

// sortColumns sorts by price; of equal ones spot comes before on-demand, then the order is by pool, type and zone.
func (p *problem) sortColumns() {
	slices.SortStableFunc(p.columns, func(a, b column) int {
		x, y := a.offering, b.offering
		if x.Price != y.Price {
			return cmp.Compare(x.Price, y.Price)
		}
		return cmp.Or(-strings.Compare(x.CapacityType, y.CapacityType), cmp.Compare(a.config, b.config), strings.Compare(x.Zone, y.Zone),
			strings.Compare(x.ReservationID, y.ReservationID))
	})
}

// addTier adds the columns of the pools that have the same weight as the pool first, and gives the position of the first pool that has not.
func (p *problem) addTier(set bitset, first int) int {
	end := first
	for ; end < len(p.pools) && p.pools[end].weight() == p.pools[first].weight(); end++ {
		set.or(p.pools[end].columns)
	}
	return end
}

// configOf is the config that a column buys.
func (p *problem) configOf(column int) *config { return &p.configs[p.columns[column].config] }

// sizes answers which columns have at least so much of one resource.
type sizes struct {
	// order are the columns by their amount, ascending, amounts those amounts.
	order   []int32
	amounts []int64
	// from has, for every sizeStep-th position, the set of the columns from there on.
	from []bitset
}

const sizeStep = 64

func (p *problem) readSizes(axis int) sizes {
	s := sizes{order: make([]int32, len(p.columns)), amounts: make([]int64, len(p.columns))}
	for j := range s.order {
		s.order[j] = int32(j)
	}
	amount := func(j int32) int64 { return p.configOf(int(j)).free[axis] }
	slices.SortFunc(s.order, func(a, b int32) int { return cmp.Or(cmp.Compare(amount(a), amount(b)), cmp.Compare(a, b)) })
	set := newBitset(len(p.columns))
	s.from = make([]bitset, (len(p.columns)+sizeStep-1)/sizeStep)
	for i := len(s.order) - 1; i >= 0; i-- {
		s.amounts[i] = amount(s.order[i])
		set.add(int(s.order[i]))
		if i%sizeStep == 0 {
			s.from[i/sizeStep] = set.clone()
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
func (p *problem) keepRoom(set bitset, need vector) {
	for r, amount := range need {
		if amount > 0 {
			p.sizes[r].keep(set, amount)
		}
	}
}
