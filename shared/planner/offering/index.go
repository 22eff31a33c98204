package offering

import (
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Index holds the ways to buy new nodes. Build makes it.
type Index struct {
	Work *workload.Workload
	// Undefined says for which label keys a new node may have any value, even if its NodePool does
	// not mention them.
	Undefined scheduling.Undefined
	// Exclusions are what this plan does not buy.
	Exclusions []Exclusion
	typeLists  typeLists
	market
	limits
	offeringSets
	Stocks []Stock
	// Sizes orders the offerings by their free amount of each resource axis.
	Sizes         []sizes
	Feasibilities *Feasibilities
	resolver      resolver
}

// market is what NodePools offer. readPools writes it, and sortOfferings numbers the offerings.
type market struct {
	// Pools are sorted by weight, heaviest first, then by name.
	Pools []*Pool
	// PoolTypes has the pool types of one pool after those of another, in the order of Pools.
	PoolTypes []PoolType
	// Offerings are sorted by price, cheapest first.
	Offerings []Offering
	// zones and capacityTypes are those of all offerings, each once.
	zones, capacityTypes []string
}

// Build reads what the snapshot of the workload allows to buy, without the excluded offerings. It
// does not fail: Pool.Problem says why a NodePool offers nothing.
func Build(work *workload.Workload, exclusions []Exclusion) *Index {
	ix := &Index{
		Work: work, Exclusions: exclusions, Undefined: scheduling.UndefinedAnyOf(work.Snapshot.WellKnownLabels),
		typeLists: typeLists{},
	}
	ix.readPools()
	ix.sortOfferings()
	ix.listOfferings()
	ix.readStocks()
	ix.readLimitUses()
	ix.readSets()
	ix.readSizes()
	ix.Feasibilities = newFeasibilities(ix)
	return ix
}

// PoolTypeOf is the pool type of offering j.
func (ix *Index) PoolTypeOf(j int) *PoolType { return &ix.PoolTypes[ix.Offerings[j].PoolType] }

// NodePricePerHour is what packing adds to the price of each node, in US dollars. It is too small
// to matter as a price. It makes packing prefer one large node to ten small ones of nearly equal
// price.
const NodePricePerHour = 0.0002

// Cost is what packing counts for a node of offering j, in US dollars an hour.
func (ix *Index) Cost(j int) float64 {
	return ix.Offerings[j].Price + NodePricePerHour
}
