package planner

// growBudget is how many columns grow may try in all, for each of the nodes.
const growBudget = 30000

// grow replaces one of the nodes planned since first by one that holds its units and most of what waits besides, where limits allow no further node. It
// reports whether it did; each time less waits.
func (k *packer) grow(first int, budget *int) bool {
	waiting := k.waiting(k.tier)
	if len(waiting) == 0 {
		return false
	}
	var best *node
	at, bestGain := -1, 0.0
	for i := first; i < len(k.nodes); i++ {
		old := k.nodes[i]
		for j := range k.tier.all() {
			if *budget <= 0 || !k.replaces(old.column, j) {
				continue
			}
			*budget--
			if n := k.refill(j, old, waiting); n != nil {
				// Columns come from cheap to dear, so of equal gains the cheapest stays.
				if gain := k.worthOf(n) - k.worthOf(old); gain > bestGain*(1+1e-9)+1e-12 {
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
	for _, f := range best.fills {
		k.left[f.demand] -= f.count
	}
	k.take(old.column, -1)
	k.take(best.column, 1)
	k.nodes[at] = best
	return true
}

// refill is a node of the column's with all units of another, and what fits beside them; nil if it cannot hold all those, or nothing beside.
func (k *packer) refill(column int, old *node, waiting []int32) *node {
	p := k.p
	n := k.scratch
	p.reset(n, column)
	for _, f := range old.fills {
		if d := p.demands[f.demand]; !p.holds(column, d) || p.room(n, d, f.count) < f.count {
			return nil
		}
		p.place(n, p.demands[f.demand], f.count)
	}
	more := false
	for _, i := range waiting {
		if d := p.demands[i]; d.class.columns.has(column) {
			if count := p.room(n, d, k.left[i]); count > 0 {
				p.place(n, d, count)
				more = true
			}
		}
	}
	if !more || !p.acceptable(n) {
		return nil
	}
	return n.clone()
}
