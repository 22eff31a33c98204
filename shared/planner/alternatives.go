package planner

import "github.com/whittle-dev/whittle/shared/scheduling"

// standInSet are the columns of the node's pool that can hold all that is on the node. Exotic types stand in for exotic ones alone, and columns of reservations are
// left out where none is left. It is memory that the next call uses again.
func (p *placements) standInSet(n *node) bitset {
	pool := p.offers.configOf(n.column).pool
	set := p.offers.sets.standIns
	copy(set, pool.columns)
	var last *class
	for _, f := range n.fills {
		if c := p.demands[f.demand].class; c != last {
			set.and(c.columns)
			last = c
		}
	}
	if !p.offers.isExotic(n.column) {
		set.without(p.offers.exotic)
	}
	free := p.offers.configOf(n.column).free
	for r := range free {
		if used := free[r] - n.free[r]; used > 0 {
			p.offers.sizes[r].keep(set, used)
		}
	}
	if keys := p.offers.sets.keysOf(pool).custom; len(keys) > 0 {
		asked := p.labelsOf(n)
		for _, key := range keys {
			if r, ok := asked[key]; ok {
				if value, ok := p.offers.valueOn(n.column, r); ok {
					set.and(p.offers.sets.allowing(scheduling.In(key, value)))
				}
			}
		}
	}
	return set
}

// labelsOf are what the node's labels will be as far as the plan decides them.
func (p *placements) labelsOf(n *node) scheduling.Requirements {
	pool := p.offers.configs[p.offers.columns[n.column].config].pool
	requirements := pool.requirements.Clone()
	for key, r := range n.open.labels() {
		// Absence needs no word where nothing sets the label.
		if _, known := requirements[key]; known || !r.AllowsAbsent() {
			requirements.Add(r)
		}
	}
	for _, f := range n.fills {
		// What a demand with several alternatives asks for is in the list of types and zones.
		if alternatives := p.demands[f.demand].alternatives; len(alternatives) == 1 {
			for key, r := range alternatives[0] {
				if _, known := requirements[key]; known || !r.AllowsAbsent() {
					requirements.Add(r)
				}
			}
		}
	}
	return requirements
}

// closed drops those of the columns that would let in, by the lists of types, zones and capacity types that a claim's requirements are, another column which cannot
// hold what is on the node: a type is allowed in one zone and another type in another, and each in the other's.
func (p *placements) closed(n *node, columns []int) []int {
	return p.closedWithin(n, columns, p.standInSet(n).clone())
}

// closedWithin is closed for the columns that can hold what is on the node.
func (p *placements) closedWithin(n *node, columns []int, fits bitset) []int {
	pool := p.offers.configOf(n.column).pool
	union := newProduct(p.offers, pool)
	for _, j := range columns {
		union.add(j)
	}
	if union.within(fits) {
		return columns
	}
	// What the claim's other requirements leave out is not let in: a type of the same name with another operating system, say.
	if allowed, _ := p.offers.sets.meeting(pool, p.labelsOf(n)); allowed != nil {
		fits = fits.clone()
		for w := range fits {
			fits[w] |= ^allowed[w]
		}
	}
	union = newProduct(p.offers, pool)
	kept := columns[:0:0]
	for _, j := range columns {
		with := union.clone()
		if with.add(j); with.within(fits) {
			union = with
			kept = append(kept, j)
		}
	}
	if len(kept) == 0 {
		return columns[:1]
	}
	return kept
}
