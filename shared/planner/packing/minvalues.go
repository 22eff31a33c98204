package packing

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/placement"
)

// meetMinValues takes units off the node until enough instance types could replace it to meet the
// pool's minValues.
func (p *packer) meetMinValues(n *placement.PlannedNode) {
	state := p.state
	if !state.Offers.StrictMinValues(state.Offers.PoolTypeOf(n.Offering).Pool) {
		return
	}
	for len(n.Fills) > 0 && !state.CanMeetMinValues(n) {
		fills := slices.Clone(n.Fills)
		p.returnUnits(n)
		state.Reset(n, n.Offering)
		halved := false
		for _, f := range fills {
			count := (f.Count + 1) / 2
			halved = halved || count < f.Count
			state.Place(n, state.Demands[f.Demand], count)
		}
		if !halved {
			// One unit of each demand is still too much, so half of the demands go.
			state.Reset(n, n.Offering)
			for _, f := range fills[:len(fills)/2] {
				state.Place(n, state.Demands[f.Demand], f.Count)
			}
		}
		p.takeUnits(n)
	}
}

// reserveMinValues keeps what the claims of the nodes need of limits beyond the nodes themselves, so
// that further nodes leave it.
func (p *packer) reserveMinValues() {
	if p.reserved == nil {
		p.reserved = make([]int64, len(p.Limits))
	}
	for i, amount := range p.reserved {
		p.Limits[i] += amount
	}
	clear(p.reserved)
	for _, n := range p.nodes {
		for _, use := range p.state.MinValuesReserve(n) {
			p.reserved[use.Limit] += use.Amount
		}
	}
	for i, amount := range p.reserved {
		p.Limits[i] -= amount
	}
}

// dropBelowMinValues drops nodes from position first on. It drops those for which the limits do not
// allow the list of types that minValues demand.
func (p *packer) dropBelowMinValues(first int) {
	offers := p.state.Offers
	strict := func(n *placement.PlannedNode) bool {
		pool := offers.PoolTypeOf(n.Offering).Pool
		return offers.StrictMinValues(pool) && len(offers.LimitsOf(pool)) > 0
	}
	left := offers.LimitsLeft()
	for _, n := range p.nodes {
		if !strict(n) {
			placement.Spend(left, offers.LimitUse(n.Offering))
		}
	}
	kept := p.nodes[:0]
	for at, n := range p.nodes {
		if !strict(n) {
			kept = append(kept, n)
			continue
		}
		_, most := p.state.NeededForMinValues(n)
		if at >= first && (most == nil || !placement.WithinLimits(most, left)) {
			p.returnUnits(n)
			p.Take(n.Offering, -1)
			continue
		}
		placement.Spend(left, most)
		kept = append(kept, n)
	}
	p.nodes = kept
}
