package offering

import (
	"cmp"
	"slices"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Index are the ways to buy new nodes.
type Index struct {
	Work *workload.Workload
	// Undefined says which label keys a new node may have any value of, though its pool does not
	// mention them.
	Undefined scheduling.Undefined
	Pools     []*Pool
	types     map[string]*typeList
	PoolTypes []PoolType
	// daemonSetSums counts the sets of daemons that run together.
	daemonSetSums int
	Offerings     []Offering
	// zones and capacityTypes are those of all offerings.
	zones, capacityTypes []string
	// Exotic are the offerings of exotic instance types, reserved those that take units of
	// reservations, limited those of pools with limits.
	Exotic, Reserved, Limited dense.Set
	// Exclusions is what this plan does not buy. A replan excludes things one at a time.
	Exclusions []Exclusion
	// Tiers are the offerings of the pools of each weight, heaviest first; reservations what reserved
	// offerings share.
	Tiers        []dense.Set
	Reservations []Reservation
	// Sizes are, by axis, the offerings by how much they have.
	Sizes         []sizes
	Feasibilities *Feasibilities
	// resolutions remember the answers of Resolve; resolvedByKey has one value for equal ones.
	resolutions   map[resolution]*ResolvedLabels
	resolvedByKey map[string]*ResolvedLabels
}

// Build finds out what can be bought but for what is left out.
func Build(work *workload.Workload, leftOut []Exclusion) *Index {
	p := &Index{Work: work, types: map[string]*typeList{}, Exclusions: leftOut}
	p.Undefined = scheduling.UndefinedAnyOf(work.Snapshot.WellKnownLabels)
	p.readPools()
	p.readOfferings()
	p.Feasibilities = newFeasibilities(p)
	return p
}

// StrictMinValues reports whether nodes of the pool have to meet minValues.
func (ix *Index) StrictMinValues(pool *Pool) bool {
	return len(pool.MinValues) > 0 && !ix.BestEffortMinValues()
}

// ByLimitShare are the pool's offerings by the greatest part of a limit that one takes.
func (ix *Index) ByLimitShare(pool *Pool) []int {
	if pool.byShare != nil {
		return pool.byShare
	}
	columns := slices.Collect(pool.Offerings.All())
	if len(pool.Limits) > 0 {
		shares := make(map[int]float64, len(columns))
		for _, j := range columns {
			for i, use := range ix.PoolTypeOf(j).LimitUse {
				shares[j] = max(shares[j], float64(use)/float64(max(pool.Limits[i].Most, 1)))
			}
		}
		slices.SortFunc(columns, func(a, b int) int { return cmp.Or(cmp.Compare(shares[a], shares[b]), cmp.Compare(a, b)) })
	}
	pool.byShare = columns
	return columns
}

// BestEffortMinValues reports whether minValues that cannot be met are lowered.
func (ix *Index) BestEffortMinValues() bool {
	return ix.Work.Snapshot.MinValuesPolicy == plan.MinValuesBestEffort
}

func (ix *Index) IsExotic(column int) bool { return ix.Exotic.Has(column) }

// NodePricePerHour is what packing counts for each node besides its instance, in US dollars: little
// enough to be no price to speak of, and enough to take one large node rather than ten small ones
// for a price that is hardly any lower.
const NodePricePerHour = 0.0002

// Cost is what packing counts for a node of the offering's.
func (ix *Index) Cost(column int) float64 {
	return ix.Offerings[column].Price + NodePricePerHour
}

// CheapestWithRoom is the first offering of the set whose empty node has room for the need; -1
// without one.
func (ix *Index) CheapestWithRoom(columns dense.Set, need resource.Vector) int {
	set := ix.Feasibilities.ScratchSet
	copy(set, columns)
	ix.KeepRoom(set, need)
	return set.First()
}
