package packing

import "github.com/whittle-dev/whittle/shared/planner/placement"

// growBudget is how many offerings grow may try in all, for each of the nodes.
const growBudget = 30000

// grow replaces one of the nodes planned since first by one that holds its units and most of what
// waits besides, where limits allow no further node. It reports whether it did; each time less
// waits.
func (k *packer) grow(first int, budget *int) bool {
	waiting := k.waiting(k.tier)
	if len(waiting) == 0 {
		return false
	}
	var best *placement.PlannedNode
	at, bestGain := -1, 0.0
	for i := first; i < len(k.nodes); i++ {
		old := k.nodes[i]
		for j := range k.tier.All() {
			if *budget <= 0 || !k.Replaces(old.Offering, j) {
				continue
			}
			*budget--
			if n := k.refill(j, old, waiting); n != nil {
				// Columns come from cheap to dear, so of equal gains the cheapest stays.
				if gain := k.valueOf(n) - k.valueOf(old); gain > bestGain*(1+1e-9)+1e-12 {
					best, at, bestGain = n, i, gain
				}
			}
		}
	}
	if best == nil {
		return false
	}
	old := k.nodes[at]
	k.unfill(old)
	for _, f := range best.Fills {
		k.left[f.Demand] -= f.Count
	}
	k.Take(old.Offering, -1)
	k.Take(best.Offering, 1)
	k.nodes[at] = best
	return true
}

// refill is a node of the offering's with all units of another, and what fits beside them; nil if
// it cannot hold all those, or nothing beside.
func (k *packer) refill(column int, old *placement.PlannedNode, waiting []int32) *placement.PlannedNode {
	p := k.p
	n := k.scratch
	p.Reset(n, column)
	for _, f := range old.Fills {
		if d := p.Demands[f.Demand]; !p.Holds(column, d) || p.Room(n, d, f.Count) < f.Count {
			return nil
		}
		p.Place(n, p.Demands[f.Demand], f.Count)
	}
	more := false
	for _, i := range waiting {
		if d := p.Demands[i]; d.Feasibility.Offerings.Has(column) {
			if count := p.Room(n, d, k.left[i]); count > 0 {
				p.Place(n, d, count)
				more = true
			}
		}
	}
	if !more || !p.CanMeetMinValues(n) {
		return nil
	}
	return n.Clone()
}
