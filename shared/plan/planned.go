package plan

// What constraints between pods need of the nodes that are being planned: topology decides for some units, one at a time, which planned node takes them, or that
// a new one has to.

// roomFor is how many units of a demand the planned node takes, at most limit. Where its column does not hold them, another of the same pool may that holds what is
// on the node as well.
func (p *problem) roomFor(n *node, d *demand, limit int) int {
	if d.feasible.has(n.column) {
		if room := p.room(n, d, limit); room > 0 {
			return room
		}
	}
	if larger := p.larger(n, d, 1); larger != nil {
		return p.room(larger, d, limit)
	}
	return 0
}

// put puts units of a demand on the planned node, as many as roomFor has allowed at most, and lowers the demand's waiting.
func (p *problem) put(n *node, d *demand, count int) {
	if !d.feasible.has(n.column) || p.room(n, d, count) < count {
		if larger := p.larger(n, d, count); larger != nil {
			*n = *larger
		}
	}
	p.place(n, d, count)
	d.waiting -= count
}

// larger is the planned node with another column of its pool, the cheapest that has room for so many further units; nil if there is none. The pool's limits do
// not let it take more than the node does.
func (p *problem) larger(n *node, d *demand, count int) *node {
	own := &p.configs[p.columns[n.column].config]
	for _, j := range p.byPrice {
		c := &p.configs[p.columns[j].config]
		if c.pool != own.pool || !d.feasible.has(j) || !noMore(c.use, own.use) {
			continue
		}
		other := p.newNode(j)
		held := true
		for _, f := range n.fills {
			on := p.demands[f.demand]
			if held = on.feasible.has(j) && p.room(other, on, f.count) >= f.count; !held {
				break
			}
			p.place(other, on, f.count)
		}
		if held && p.room(other, d, count) >= count {
			return other
		}
	}
	return nil
}

// openFor plans the cheapest new node for one unit of the demand, puts the unit on it and lowers the demand's waiting. It is nil where no pool may have such a node
// beside those planned so far (problem.planned, to which
// the node is added), for its limits or its minValues.
func (p *problem) openFor(d *demand) *node {
	k := p.newPacker(p.planned)
	var best *node
	for _, j := range p.byPrice {
		c := &p.configs[p.columns[j].config]
		if best != nil && c.pool.weight() <= p.configs[p.columns[best.column].config].pool.weight() {
			continue
		}
		if !d.buy.has(j) || !k.withinLimits(j) {
			continue
		}
		n := p.newNode(j)
		if p.room(n, d, 1) == 0 {
			continue
		}
		p.place(n, d, 1)
		if k.acceptable(n) {
			best = n
		}
	}
	if best != nil {
		d.waiting--
		p.planned = append(p.planned, best)
	}
	return best
}
