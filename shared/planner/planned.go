package planner

// What constraints between pods need of the nodes that are being planned: topology decides for some units, one at a time, which planned node takes them, or that
// a new one has to.

// roomFor is how many units of a demand the planned node takes, at most limit. Where its column does not hold them, another of the same pool may that holds what is
// on the node as well, as far as limits and reservations allow.
func (p *placements) roomFor(n *node, d *demand, limit int) int {
	p.readDemands()
	p.readHosts(n)
	if p.holds(n.column, d) {
		if room := p.room(n, d, limit); room > 0 {
			if len(p.offers.configOf(n.column).pool.minValues) == 0 {
				return room
			}
			with := n.clone()
			if p.place(with, d, 1); p.acceptableAmong(p.planned, with, n) {
				return 1
			}
		}
	}
	if larger := p.larger(n, d, 1); larger != nil {
		return p.room(larger, d, limit)
	}
	return 0
}

// put puts units of a demand on the planned node, as many as roomFor has allowed at most, and lowers the demand's waiting.
func (p *placements) put(n *node, d *demand, count int) {
	p.readDemands()
	p.readHosts(n)
	if !p.holds(n.column, d) || p.room(n, d, count) < count {
		if larger := p.larger(n, d, count); larger != nil {
			*n = *larger
		}
	}
	p.place(n, d, count)
	d.waiting -= count
}

// larger is the planned node with another column of its pool, the cheapest that has room for so many further units; nil if there is none.
func (p *placements) larger(n *node, d *demand, count int) *node {
	set := p.standInSet(n).clone()
	set.and(d.class.columns)
	used := make(vector, len(d.need))
	for r, amount := range p.offers.configOf(n.column).free {
		used[r] = amount - n.free[r]
	}
	used.add(d.need, int64(count))
	p.offers.keepRoom(set, used)
	ledger := p.newLedger(p.planned)
	for j := range set.all() {
		if !ledger.replaces(n.column, j) {
			continue
		}
		other := n.clone()
		p.moved(other, j)
		if p.room(other, d, count) < count {
			continue
		}
		with := other.clone()
		if p.place(with, d, count); p.acceptableAmong(p.planned, with, n) {
			return other
		}
	}
	return nil
}

// openFor plans the cheapest new node for one unit of the demand, of the heaviest pools that can have one; it puts the unit on it and lowers the demand's waiting. It
// is nil where no pool may have such a node beside those planned so far (problem.planned, to which the node is added), for its limits or its minValues.
func (p *placements) openFor(d *demand) *node {
	p.readDemands()
	ledger := p.newLedger(p.planned)
	set := newBitset(len(p.offers.columns))
	for i := range 2 * len(p.offers.tiers) {
		// Exotic types come last: where limits leave nothing else.
		allowed, tier := d.class.buy, p.offers.tiers[i%len(p.offers.tiers)]
		if i >= len(p.offers.tiers) {
			allowed = d.class.columns
		}
		copy(set, allowed)
		set.and(tier)
		p.offers.keepRoom(set, d.need)
		for j := range set.all() {
			if !ledger.allows(j) {
				continue
			}
			n := p.newNode(j)
			if p.room(n, d, 1) == 0 {
				continue
			}
			p.place(n, d, 1)
			if p.acceptableAmong(p.planned, n, nil) {
				d.waiting--
				p.planned = append(p.planned, n)
				return n
			}
		}
	}
	return nil
}
