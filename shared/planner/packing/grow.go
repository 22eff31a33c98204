package packing

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// growBudget bounds the work of all calls of grow together: the demands that the tries look at.
const growBudget = 1_500_000

// grow replaces one of the nodes from position first on by a node that holds its units and waiting
// ones. It is for limits that allow no further node. It takes the replacement that adds the highest
// value, and reports whether there was one. Each replacement leaves fewer units.
func (p *packer) grow(first int, budget *int) bool {
	waiting := p.waiting(p.tier)
	if len(waiting) == 0 {
		return false
	}
	least := p.leastNeed(waiting)
	replacing := dense.NewSet(len(p.state.Offers.Offerings))
	var best *placement.PlannedNode
	at, bestGain := -1, 0.0
	for i := first; i < len(p.nodes) && *budget > 0; i++ {
		old := p.nodes[i]
		copy(replacing, p.tier)
		p.keepLarger(replacing, old, least)
		for j := range replacing.All() {
			if *budget <= 0 {
				break
			}
			n, looks := p.grown(j, old, waiting, least)
			*budget -= looks
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

// leastNeed has the least amount of each resource that a unit of the demands needs.
func (p *packer) leastNeed(demands []int32) resource.Vector {
	least := slices.Clone(p.state.Demands[demands[0]].Need)
	for _, i := range demands[1:] {
		for r, amount := range p.state.Demands[i].Need {
			least[r] = min(least[r], amount)
		}
	}
	return least
}

// keepLarger removes the offerings from the set that cannot take the node's place with its units and
// the need besides.
func (p *packer) keepLarger(set dense.Set, n *placement.PlannedNode, need resource.Vector) {
	for _, f := range n.Fills {
		set.And(p.state.Demands[f.Demand].Feasibility.Offerings)
	}
	used := slices.Clone(p.state.Offers.PoolTypeOf(n.Offering).Free)
	used.Sub(n.Free)
	used.Add(need, 1)
	p.state.Offers.KeepRoom(set, used)
	p.KeepReplacing(set, n.Offering)
}

// grown returns a node of the offering with all units of the old node and waiting ones; nil if it
// cannot hold the former or has no room for the latter. None of the latter needs less than least. It
// also returns how many demands it looked at.
func (p *packer) grown(
	number int, old *placement.PlannedNode, waiting []int32, least resource.Vector,
) (n *placement.PlannedNode, looks int) {
	n, looks = p.memory.scratch, len(old.Fills)
	p.state.Reset(n, number)
	for _, f := range old.Fills {
		d := p.state.Demands[f.Demand]
		if !p.state.Holds(number, d) || p.state.Room(n, d, f.Count) < f.Count {
			return nil, looks
		}
		p.state.Place(n, d, f.Count)
	}
	more := false
	for _, i := range waiting {
		if !n.Free.Fits(least) {
			break
		}
		looks++
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
		return nil, looks
	}
	return n.Clone(), looks
}
