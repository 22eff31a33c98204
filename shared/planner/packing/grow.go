package packing

import "github.com/whittle-dev/whittle/shared/planner/placement"

// growBudget is how many offerings all calls of grow may try together.
const growBudget = 30000

// grow replaces one of the nodes from position first on by a node that holds its units and waiting
// ones. It is for limits that allow no further node. It takes the replacement that adds the highest
// value, and reports whether there was one. Each replacement leaves fewer units.
func (p *packer) grow(first int, budget *int) bool {
	waiting := p.waiting(p.tier)
	if len(waiting) == 0 {
		return false
	}
	var best *placement.PlannedNode
	at, bestGain := -1, 0.0
	for i := first; i < len(p.nodes); i++ {
		old := p.nodes[i]
		for j := range p.tier.All() {
			if *budget <= 0 || !p.Replaces(old.Offering, j) {
				continue
			}
			*budget--
			n := p.grown(j, old, waiting)
			if n == nil {
				continue
			}
			// Offerings are sorted by price, so the cheapest of equal gains stays.
			if gain := p.valueOf(n) - p.valueOf(old); gain > bestGain*(1+1e-9)+1e-12 {
				best, at, bestGain = n, i, gain
			}
		}
	}
	if best == nil {
		return false
	}
	old := p.nodes[at]
	p.returnUnits(old)
	p.takeUnits(best)
	p.Take(old.Offering, -1)
	p.Take(best.Offering, 1)
	p.nodes[at] = best
	return true
}

// grown returns a node of the offering with all units of the old node and waiting ones; nil if it
// cannot hold the former or has no room for the latter.
func (p *packer) grown(number int, old *placement.PlannedNode, waiting []int32) *placement.PlannedNode {
	n := p.memory.scratch
	p.state.Reset(n, number)
	for _, f := range old.Fills {
		d := p.state.Demands[f.Demand]
		if !p.state.Holds(number, d) || p.state.Room(n, d, f.Count) < f.Count {
			return nil
		}
		p.state.Place(n, d, f.Count)
	}
	more := false
	for _, i := range waiting {
		d := p.state.Demands[i]
		if !d.Feasibility.Offerings.Has(number) {
			continue
		}
		if count := p.state.Room(n, d, p.left[i]); count > 0 {
			p.state.Place(n, d, count)
			more = true
		}
	}
	if !more || !p.state.CanMeetMinValues(n) {
		return nil
	}
	return n.Clone()
}
