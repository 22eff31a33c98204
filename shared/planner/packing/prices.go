package packing

import (
	"github.com/whittle-dev/whittle/shared/planner/bound"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/lp"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// unitPrices are the dual prices as packing uses them, in US dollars an hour.
type unitPrices struct {
	// unit is the price of one unit, by demand; slot is the part of it that host constraints cause.
	unit, slot []float64
	// size is the price of a unit's cpu and memory at average prices, by demand; memoryShare is the
	// part of it that is memory's.
	size, memoryShare []float64
	// axis is the average price of one of each resource, by axis.
	axis []float64
	// stock is the price of a unit, by stock.
	stock []float64
}

// solveDual solves the bound's linear program for the waiting units.
func (p *packer) solveDual(waiting []int32) *bound.Dual {
	return bound.Solve(p.state.Offers, p.unitsOf(waiting))
}

// unitsOf are the waiting units of the demands, with the offerings of the tier.
func (p *packer) unitsOf(waiting []int32) []bound.Units {
	inTier := map[*offering.Feasibility]*dense.Set{}
	units := make([]bound.Units, len(waiting))
	for n, i := range waiting {
		d := p.state.Demands[i]
		if inTier[d.Feasibility] == nil {
			set := d.Feasibility.Buyable.Clone()
			set.And(p.tier)
			inTier[d.Feasibility] = &set
		}
		units[n] = bound.Units{
			ID: d.NeedID(), Need: d.Need, Count: p.left[i], Offerings: inTier[d.Feasibility], Slots: d.Slots,
		}
	}
	return units
}

// readPrices fills in the prices of the waiting units.
func (p *packer) readPrices(dual *bound.Dual, waiting []int32) {
	prices := &p.prices
	prices.stock = make([]float64, len(dual.StockPrices))
	for i, price := range dual.StockPrices {
		prices.stock[i] = price / float64(max(p.state.Offers.Stocks[i].Most, 1))
	}
	if prices.unit == nil {
		demands := len(p.state.Demands)
		all := make([]float64, 4*demands)
		for i, part := range []*[]float64{&prices.unit, &prices.slot, &prices.size, &prices.memoryShare} {
			*part = all[i*demands : (i+1)*demands]
		}
	}
	p.readUnitPrices(dual, waiting)
	cpuPrice, memoryPrice := prices.axis[resource.CPU], prices.axis[resource.Memory]
	for _, i := range waiting {
		need := p.state.Demands[i].Need
		cpu, memory := float64(need[resource.CPU])*cpuPrice, float64(need[resource.Memory])*memoryPrice
		if prices.size[i] = cpu + memory; prices.size[i] > 0 {
			prices.memoryShare[i] = memory / prices.size[i]
		}
	}
}

// readUnitPrices fills in the price of each waiting unit, and the average prices of the axes.
func (p *packer) readUnitPrices(dual *bound.Dual, waiting []int32) {
	prices := &p.prices
	floor := dual.FloorPrices()
	paid, needed := make([]float64, dual.Width()), make([]float64, dual.Width())
	for n, i := range waiting {
		price, at := dual.Prices[n], dual.Best[n]
		need := dual.NeedOf(n)
		// Packing divides by prices. The floor gives units without a dual price a small one.
		prices.unit[i] = float64(0.98*price) + float64(0.02*lp.Dot(floor, need))
		prices.slot[i] = 0
		if at < 0 {
			continue
		}
		weights := dual.Offerings[at].Weights
		prices.slot[i] = lp.Dot(weights[len(dual.Axes):dual.Width()], need[len(dual.Axes):])
		for a, amount := range need {
			amount *= float64(p.left[i])
			paid[a] += float64(amount * (0.9*weights[a] + 0.1*floor[a]))
			needed[a] += amount
		}
	}
	prices.axis = make([]float64, len(p.state.Work.Axes.Names))
	for a, r := range dual.Axes {
		if needed[a] > 0 {
			prices.axis[r] = paid[a] / needed[a] / dual.Scale[a]
		}
	}
}

// price is what packing counts for a node of the offering, in US dollars an hour. Most of the price of what it takes
// of its stock counts too, so that packing does not waste that.
func (p *packer) price(number int) float64 {
	price := p.state.Offers.Cost(number)
	if o := &p.state.Offers.Offerings[number]; o.Stock >= 0 && int(o.Stock) < len(p.prices.stock) {
		price += float64(0.9 * p.prices.stock[o.Stock] * float64(o.Units))
	}
	return price
}
