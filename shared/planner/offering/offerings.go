package offering

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/planner/dense"
)

// Offering is one way to buy a node: a pool type through an offering of the catalogue.
//
// Searches read thousands of these, so the struct repeats the fields that they need and is small.
type Offering struct {
	Source *catalog.Offering
	// Price is the price of Source, in US dollars an hour.
	Price float64
	// PoolType is a position in Index.PoolTypes.
	PoolType int32
	// Stock is a position in Index.Stocks, and Units what a node takes of it. Stock is -1 for offerings that can be
	// bought without end.
	Stock int32
	Units int
	// zone and capacityType are positions in market.zones and market.capacityTypes.
	zone, capacityType int16
}

// Stock is what offerings share that ends: the instances of a capacity reservation, or what is left of a commitment.
type Stock struct {
	ID string
	// Left is how many more units it has for this plan. A unit of a reservation is an instance.
	Left int
	// Most is the most units that an offering takes.
	Most int
}

// sortOfferings numbers the offerings by price. Among equal prices, spot comes before on-demand,
// and then the order is by pool type, zone and stock.
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

// listOfferings fills in the offerings of each pool type and of each pool.
func (ix *Index) listOfferings() {
	for _, pool := range ix.Pools {
		pool.Offerings = dense.NewSet(len(ix.Offerings))
	}
	counts := make([]int, len(ix.PoolTypes))
	for j := range ix.Offerings {
		counts[ix.Offerings[j].PoolType]++
	}
	// The lists of all pool types share one allocation.
	list := make([]int, len(ix.Offerings))
	for i, n := range counts {
		ix.PoolTypes[i].Offerings, list = list[:0:n], list[n:]
	}
	for j := range ix.Offerings {
		t := ix.PoolTypeOf(j)
		t.Offerings = append(t.Offerings, j)
		t.Pool.Offerings.Add(j)
	}
}

// readStocks lists the stocks, and fills in which offering buys from which.
func (ix *Index) readStocks() {
	byID := map[string]int{}
	for j := range ix.Offerings {
		o := &ix.Offerings[j]
		id, units, left := stockOf(o.Source)
		if o.Stock = -1; id == "" {
			continue
		}
		i, ok := byID[id]
		if !ok {
			i = len(ix.Stocks)
			byID[id] = i
			ix.Stocks = append(ix.Stocks, Stock{ID: id})
		}
		o.Stock, o.Units = int32(i), units
		// NodePools may see the same stock with different counts. The greatest one counts.
		ix.Stocks[i].Left, ix.Stocks[i].Most = max(ix.Stocks[i].Left, left), max(ix.Stocks[i].Most, units)
	}
}

// stockOf tells what the offering buys from, what a node takes of it, and what it has left. The id is empty for
// none.
func stockOf(source *catalog.Offering) (id string, units, left int) {
	switch {
	case source.CapacityType == api.CapacityTypeReserved:
		return source.ReservationID, 1, source.ReservationCapacity
	case source.Coverage != nil:
		return source.Coverage.Commitment, source.Coverage.Units, source.Coverage.Left
	}
	return "", 0, 0
}
