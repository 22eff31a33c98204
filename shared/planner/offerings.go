package planner

import (
	"cmp"
	"slices"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// offerings are the ways to buy new nodes.
type offerings struct {
	work *workload
	// undefined says which label keys a new node may have any value of, though its pool does not mention them.
	undefined scheduling.Undefined
	pools     []*pool
	types     map[string]*typeList
	configs   []config
	// daemonSums counts the sets of daemons that run together.
	daemonSums int
	columns    []column
	// zones and capacityTypes are those of the columns' offerings.
	zones, capacityTypes []string
	// exotic are the columns of exotic instance types, reserved those that take units of reservations, limited those of pools with limits.
	exotic, reserved, limited bitset
	// leftOut is what this plan makes no use of: see further.go.
	leftOut []aspect
	// tiers are the columns of the pools of each weight, heaviest first; reservations what reserved columns share.
	tiers        []bitset
	reservations []reservation
	// sizes are, by axis, the columns by how much they have.
	sizes   []sizes
	sets    *columnSets
	classes []*class
	// decisions remember what decide was asked for, openedBy its results by their text.
	decisions map[decision]*opened
	openedBy  map[string]*opened
}

// buildOfferings finds out what can be bought but for what is left out.
func buildOfferings(work *workload, leftOut []aspect) *offerings {
	p := &offerings{work: work, types: map[string]*typeList{}, leftOut: leftOut}
	p.undefined = scheduling.UndefinedAnyOf(work.snapshot.WellKnownLabels)
	p.readPools()
	p.readColumns()
	p.sets = newColumnSets(p)
	return p
}

// strict reports whether nodes of the pool have to meet minValues.
func (p *offerings) strict(pool *pool) bool { return len(pool.minValues) > 0 && !p.bestEffort() }

// byShare are the pool's columns by the greatest part of a limit that one takes.
func (p *offerings) byShare(pool *pool) []int {
	if pool.byShare != nil {
		return pool.byShare
	}
	columns := slices.Collect(pool.columns.all())
	if len(pool.limits) > 0 {
		shares := make(map[int]float64, len(columns))
		for _, j := range columns {
			for i, use := range p.configOf(j).use {
				shares[j] = max(shares[j], float64(use)/float64(max(pool.limits[i].most, 1)))
			}
		}
		slices.SortFunc(columns, func(a, b int) int { return cmp.Or(cmp.Compare(shares[a], shares[b]), cmp.Compare(a, b)) })
	}
	pool.byShare = columns
	return columns
}

// bestEffort reports whether minValues that cannot be met are lowered.
func (p *offerings) bestEffort() bool {
	return p.work.snapshot.MinValuesPolicy == plan.MinValuesBestEffort
}

func (p *offerings) isExotic(column int) bool { return p.exotic.has(column) }

// nodePricePerHour is what packing counts for each node besides its instance, in US dollars: little enough to be no price to speak of, and enough to take one large node
// rather than ten small ones for a price that is hardly any lower.
const nodePricePerHour = 0.0002

// cost is what packing counts for a node of the column's.
func (p *offerings) cost(column int) float64 {
	return p.columns[column].price + nodePricePerHour
}

// cheapest is the first column of the set whose empty node has room for the need; -1 without one.
func (p *offerings) cheapest(columns bitset, need vector) int {
	set := p.sets.scratch
	copy(set, columns)
	p.keepRoom(set, need)
	return set.first()
}
