package plan

import (
	"cmp"
	"slices"
)

// improveBudget is how many fillings improve may try in all. Counting work instead of time keeps the plan the same on every machine.
const improveBudget = 6000

// growBudget is the same for grow, whose tries are cheaper.
const growBudget = 30000

// minimumGain is the saving in US dollars an hour below which a change is not worth making; it also keeps rounding errors from counting as gains.
const minimumGain = 1e-7

// improve takes the nodes planned since first that are worst used apart and packs their units anew: into what room the others have, then on new nodes by
// different orders and with different first nodes. What is cheaper stays.
func (k *packer) improve(first int, columns []int) {
	k.budget = k.fillings + improveBudget
	for i := first; i < len(k.nodes); i++ {
		k.nodes[i] = k.rightSize(k.nodes[i])
	}
	for improved := true; improved; {
		improved = false
		// Few nodes first: the ends of a packing are where most is lost, and the smallest try costs least.
		for take := 1; take <= 64 && k.fillings < k.budget && len(k.nodes) > first; take *= 2 {
			if k.repack(first, min(take, len(k.nodes)-first), columns) {
				improved = true
				break
			}
			if take >= len(k.nodes)-first {
				break
			}
		}
	}
}

// rightSize is the node, or a cheaper one of the same pool that holds the same.
func (k *packer) rightSize(n *node) *node {
	limited := len(k.limits[k.p.configs[k.p.columns[n.column].config].pool]) > 0
	for j := range k.p.standIns(n) {
		if j == n.column || k.p.cost(j) >= k.p.cost(n.column) {
			return n
		}
		if limited {
			return n // a cheaper node may still take more of what is limited
		}
		smaller := k.p.newNode(j)
		for _, f := range n.fills {
			k.p.place(smaller, k.p.demands[f.demand], f.count)
		}
		return smaller
	}
	return n
}

// repack tries to plan the worst nodes anew, and reports whether that was cheaper. If not, all is as it was.
func (k *packer) repack(first, take int, columns []int) bool {
	byUse := slices.Clone(k.nodes[first:])
	slices.SortStableFunc(byUse, func(a, b *node) int {
		return cmp.Compare(k.value(a)/k.p.cost(a.column), k.value(b)/k.p.cost(b.column))
	})
	before := slices.Clone(k.nodes)
	waiting := slices.Clone(k.left)
	cost := 0.0
	removed := map[*node]bool{}
	for _, n := range byUse[:take] {
		cost += k.p.cost(n.column)
		removed[n] = true
	}
	// try plans the removed units anew, the first node from the column if that is none of -1, and reports whether to keep that.
	try := func(column int, order []int) bool {
		k.nodes = slices.DeleteFunc(slices.Clone(before), func(n *node) bool { return removed[n] })
		for n := range removed {
			k.remove(n)
		}
		k.absorb(first, order)
		kept := len(k.nodes)
		if column >= 0 && k.withinLimits(column) {
			if n := k.fill(column, slices.Values(order)); len(n.fills) > 0 {
				k.add(n)
			}
		}
		k.pack(columns, slices.Values(order))
		now := 0.0
		for i := kept; i < len(k.nodes); i++ {
			k.nodes[i] = k.rightSize(k.nodes[i])
			now += k.p.cost(k.nodes[i].column)
		}
		if slices.Equal(k.left, waiting) && now < cost-minimumGain {
			return true
		}
		for _, n := range k.nodes {
			k.remove(n)
		}
		k.nodes = k.nodes[:0]
		for _, n := range before {
			k.add(n)
		}
		return false
	}
	for _, order := range k.p.orders {
		if try(-1, order) {
			return true
		}
	}
	for _, column := range columns {
		if k.p.cost(column) >= cost || k.fillings >= k.budget {
			break
		}
		if try(column, k.p.orders[0]) {
			return true
		}
	}
	return false
}

// absorb puts what waits where the nodes planned since first have room.
func (k *packer) absorb(first int, order []int) {
	for i := first; i < len(k.nodes) && !k.waiting.empty(); i++ {
		var changed *node
		for _, demand := range order {
			if k.left[demand] == 0 || !k.holders[k.nodes[i].column].has(demand) {
				continue
			}
			n := changed
			if n == nil {
				n = k.nodes[i]
			}
			count := k.p.room(n, k.p.demands[demand], k.left[demand])
			if count == 0 {
				continue
			}
			if changed == nil {
				changed = n.clone()
			}
			k.p.place(changed, k.p.demands[demand], count)
			k.setLeft(demand, k.left[demand]-count)
		}
		if changed != nil && (len(k.p.configs[k.p.columns[changed.column].config].pool.minValues) == 0 || k.acceptable(changed)) {
			k.nodes[i] = changed
		} else if changed != nil {
			k.undo(changed, k.nodes[i])
		}
	}
}

func (k *packer) acceptable(n *node) bool {
	pool := k.p.configs[k.p.columns[n.column].config].pool
	return k.p.meetsMinValues(pool, k.p.standIns(n))
}

// undo gives back what changed has more than the node it was made from.
func (k *packer) undo(changed, from *node) {
	for _, f := range changed.fills {
		more := f.count
		for _, g := range from.fills {
			if g.demand == f.demand {
				more -= g.count
			}
		}
		k.setLeft(f.demand, k.left[f.demand]+more)
	}
}

// grow replaces one of the nodes planned since first by one that holds its units and most of what waits besides, where limits allow no further node. It
// reports whether it did; each time less waits.
func (k *packer) grow(first int, tier bitset) bool {
	var best *node
	at, bestGain := -1, 0.0
	for i := first; i < len(k.nodes); i++ {
		old := k.nodes[i]
		k.remove(old)
		for _, j := range k.p.byPrice {
			if k.fillings >= k.budget || !tier.has(j) || !k.withinLimits(j) {
				continue
			}
			k.fillings++
			if n := k.refill(j, old); n != nil {
				// Columns come from cheap to dear, so of equal gains the cheapest stays.
				if gain := k.value(n) - k.value(old); gain > bestGain*(1+1e-9)+1e-12 {
					best, at, bestGain = n, i, gain
				}
			}
		}
		k.account(old, 1)
	}
	if best == nil {
		return false
	}
	k.remove(k.nodes[at])
	k.nodes[at] = best
	k.account(best, 1)
	return true
}

// refill is a node of the column's with all units of another, and what fits beside them; nil if it cannot hold all those.
func (k *packer) refill(column int, old *node) *node {
	n := k.p.newNode(column)
	for _, f := range old.fills {
		if !k.holders[column].has(f.demand) || k.p.room(n, k.p.demands[f.demand], f.count) < f.count {
			return nil
		}
		k.p.place(n, k.p.demands[f.demand], f.count)
	}
	for i := range k.left {
		have := 0
		if j := slices.IndexFunc(old.fills, func(f fill) bool { return f.demand == i }); j >= 0 {
			have = old.fills[j].count // it waits again while the old node is out
		}
		if k.left[i] <= have || !k.holders[column].has(i) {
			continue
		}
		if count := k.p.room(n, k.p.demands[i], k.left[i]-have); count > 0 {
			k.p.place(n, k.p.demands[i], count)
		}
	}
	if len(k.p.configs[k.p.columns[column].config].pool.minValues) > 0 && !k.acceptable(n) {
		return nil
	}
	return n
}
