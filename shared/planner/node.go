package planner

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// node is a new node as it is being planned.
type node struct {
	column int
	fills  []fill
	// free is what the config has left.
	free vector
	// open is what the demands on it decide of the pool's open labels.
	open *opened
	// counts has how many pods of each group the node has that a spread over hosts counts.
	counts []groupCount
	// generation tells for which demands counts was made: see readHosts.
	generation int
}

// fill is a number of units of a demand on one node.
type fill struct {
	demand int
	count  int
}

func (p *problem) newNode(column int) *node {
	n := &node{}
	p.reset(n, column)
	return n
}

// reset makes the node an empty one of the column's, in the memory that it has.
func (p *problem) reset(n *node, column int) {
	n.column, n.generation = column, p.generation
	n.fills, n.counts = n.fills[:0], n.counts[:0]
	n.free = append(n.free[:0], p.configOf(column).free...)
	n.open = nil
}

func (n *node) clone() *node {
	c := *n
	c.fills = slices.Clone(n.fills)
	c.free = slices.Clone(n.free)
	c.counts = slices.Clone(n.counts)
	return &c
}

// room is how many units of a demand the node takes, at most limit.
func (p *problem) room(n *node, d *demand, limit int) int {
	room := int(n.free.room(d.need, int64(limit)))
	if room == 0 {
		return 0
	}
	if d.conflicts != nil {
		for _, f := range n.fills {
			if d.conflicts.has(f.demand) {
				return 0
			}
		}
		if d.conflicts.has(d.index) {
			room = 1
		}
	}
	if d.rules != nil {
		for i := range d.rules.limits {
			limit := &d.rules.limits[i]
			left := limit.most + d.slack - n.countOf(limit.group)
			if limit.member {
				room = min(room, left/d.pods())
			} else if left < 0 {
				return 0
			}
		}
	}
	if _, ok := p.decide(n, d.class); !ok {
		return 0
	}
	return max(room, 0)
}

// intersect reports whether both leave a value for each label.
func intersect(a, b scheduling.Requirements) bool {
	for key, r := range b {
		if have, ok := a[key]; ok && have.Intersection(r).Empty() {
			return false
		}
	}
	return true
}

// place puts units of a demand on the node, which room has allowed.
func (p *problem) place(n *node, d *demand, count int) {
	n.free.add(d.need, -int64(count))
	at := len(n.fills) - 1
	// Units of a demand mostly come one after the other.
	for at >= 0 && n.fills[at].demand != d.index {
		at--
	}
	if at >= 0 {
		n.fills[at].count += count
	} else {
		n.fills = append(n.fills, fill{demand: d.index, count: count})
	}
	n.open, _ = p.decide(n, d.class)
	if d.rules != nil {
		n.count(d.rules, count*d.pods())
	}
}

// moved puts what is on the node on an empty one of another column that can hold it.
func (p *problem) moved(n *node, column int) {
	free := p.configOf(column).free
	for r, amount := range p.configOf(n.column).free {
		n.free[r] = free[r] - (amount - n.free[r])
	}
	n.column = column
}
