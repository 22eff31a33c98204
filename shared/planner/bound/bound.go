package bound

import (
	"math"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/placement"
)

// roundingMargin lowers the bound a little. A fleet that meets it exactly must not look cheaper
// because sums of prices round differently.
const roundingMargin = 1 - 1e-9

// wholeGap is how close to the price a bound is close enough.
const wholeGap = 1e-6

// LowerBound is the price in US dollars an hour that no fleet of new nodes undercuts which holds so
// many units of each demand (placed, by the demand's index). The domains that topology chose for
// the demands do not count, because another plan could have chosen others. last may be the Dual of
// an earlier Solve; it is solved further, and changed, if it has the same units. price is that of
// nodes that hold the units. Where there are few units and the bound is below that, it counts whole
// nodes and units.
func LowerBound(state *placement.State, placed []int, last *Dual, price float64) float64 {
	units, demands := placedUnits(state, placed)
	dual := last
	if dual == nil || !dual.solveAgain(units) {
		dual = Solve(state.Offers, units)
	}
	total := 0.0
	for n, price := range dual.Prices {
		total += float64(price * float64(units[n].Count))
	}
	for at := range dual.StockPrices {
		total -= dual.stockPrice(at)
	}
	total *= roundingMargin
	for n, d := range demands {
		total = countBound(state, dual, d, &units[n], dual.Best[n], total)
	}
	if total < price*(1-wholeGap) {
		// Rounding must not make a bound that exceeds the price which has just met it.
		total = max(total, min(wholeBound(state, dual, units, demands, price), price))
	}
	return total
}

// StocksPrice is what all that is left of the stocks is worth beyond its price, in US dollars an
// hour.
func (d *Dual) StocksPrice() float64 {
	total := 0.0
	for at := range d.StockPrices {
		total += d.stockPrice(at)
	}
	return total
}

func (d *Dual) stockPrice(at int) float64 {
	return float64(d.StockPrices[at] * float64(d.index.Stocks[at].Left) / d.unit(at))
}

// placedUnits are the placed units of each demand that has some. Any alternative counts.
func placedUnits(state *placement.State, placed []int) ([]Units, []*placement.Demand) {
	units := make([]Units, 0, len(state.Demands))
	demands := make([]*placement.Demand, 0, len(state.Demands))
	for i, d := range state.Demands {
		if placed[i] == 0 {
			continue
		}
		var offerings *dense.Set
		if d.Alternatives == d.Group.Alternatives && d.Feasibility != nil {
			// Topology did not narrow the demand, so its feasibility follows from the group's
			// alternatives.
			offerings = d.Feasibility.AnyAlternative
		} else {
			offerings = state.Offers.Feasibilities.LabelsFor(d.Group, d.Group.Alternatives, d.Need).AnyAlternative
		}
		units = append(units, Units{
			ID: d.NeedID(), Need: d.Need, Count: placed[i], Offerings: offerings, Slots: d.Slots,
		})
		demands = append(demands, d)
	}
	return units, demands
}

// countBound is the price of as many nodes as the demand needs at least, or total if that is more.
// best is the position among the dual's offerings that gives the units their price.
func countBound(
	state *placement.State, dual *Dual, d *placement.Demand, units *Units, best int32, total float64,
) float64 {
	offerings := state.Offers.Offerings
	nodes := 1.0
	for _, s := range d.Slots {
		nodes = max(nodes, math.Ceil(float64(units.Count)*s.Share-1e-9))
	}
	// The cheapest offering that can hold a unit costs at most as much as any that can.
	if best >= 0 && nodes*offerings[dual.Offerings[best].Offering].Price <= total {
		return total
	}
	cheapest := state.Offers.CheapestWithRoom(*units.Offerings, d.Need)
	if cheapest < 0 || offerings[cheapest].Stock >= 0 {
		return total
	}
	return max(total, nodes*offerings[cheapest].Price)
}
