package offering

import "github.com/whittle-dev/whittle/shared/planner/dense"

// offeringSets are sets of offerings that every plan needs. readSets writes them.
type offeringSets struct {
	// Exotic are the offerings of exotic instance types.
	Exotic dense.Set
	// Stocked are the offerings that take from a stock.
	Stocked dense.Set
	// Limited are the offerings whose nodes take of a limit.
	Limited dense.Set
	// Tiers are the offerings of the NodePools of each weight, heaviest first.
	Tiers []dense.Set
}

// readSets fills in the sets. It needs the lists of offerings, the limits and the
// reservations.
func (ix *Index) readSets() {
	n := len(ix.Offerings)
	ix.Exotic, ix.Stocked, ix.Limited = dense.NewSet(n), dense.NewSet(n), dense.NewSet(n)
	for i := range ix.PoolTypes {
		t := &ix.PoolTypes[i]
		if !t.Type.Exotic {
			continue
		}
		for _, j := range t.Offerings {
			ix.Exotic.Add(j)
		}
	}
	for i := range ix.Limits {
		ix.Limited.Or(ix.Limits[i].offerings)
	}
	for j := range ix.Offerings {
		if ix.Offerings[j].Stock >= 0 {
			ix.Stocked.Add(j)
		}
	}
	for i, pool := range ix.Pools {
		if i == 0 || pool.weight() != ix.Pools[i-1].weight() {
			ix.Tiers = append(ix.Tiers, dense.NewSet(n))
		}
		ix.Tiers[len(ix.Tiers)-1].Or(pool.Offerings)
	}
}

// IsExotic reports whether offering j buys an exotic instance type.
func (ix *Index) IsExotic(j int) bool { return ix.Exotic.Has(j) }
