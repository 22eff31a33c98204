package planner

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
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

func (p *placements) newNode(column int) *node {
	n := &node{}
	p.reset(n, column)
	return n
}

// reset makes the node an empty one of the column's, in the memory that it has.
func (p *placements) reset(n *node, column int) {
	n.column, n.generation = column, p.generation
	n.fills, n.counts = n.fills[:0], n.counts[:0]
	n.free = append(n.free[:0], p.offers.configOf(column).free...)
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
func (p *placements) room(n *node, d *demand, limit int) int {
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
	if _, ok := p.offers.decide(n.open, n.column, d.class); !ok {
		return 0
	}
	return max(room, 0)
}

// place puts units of a demand on the node, which room has allowed.
func (p *placements) place(n *node, d *demand, count int) {
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
	n.open, _ = p.offers.decide(n.open, n.column, d.class)
	if d.rules != nil {
		n.count(d.rules, count*d.pods())
	}
}

// moved puts what is on the node on an empty one of another column that can hold it.
func (p *placements) moved(n *node, column int) {
	free := p.offers.configOf(column).free
	for r, amount := range p.offers.configOf(n.column).free {
		n.free[r] = free[r] - (amount - n.free[r])
	}
	n.column = column
}

// countOf is how many pods of a group the node has.
func (n *node) countOf(group int) int {
	for i := range n.counts {
		if int(n.counts[i].group) == group {
			return int(n.counts[i].count)
		}
	}
	return 0
}

// count adds pods of a demand to the groups that they count in.
func (n *node) count(rules *hostRules, pods int) {
next:
	for _, group := range rules.counted {
		for i := range n.counts {
			if n.counts[i].group == group {
				n.counts[i].count += int32(pods)
				continue next
			}
		}
		n.counts = append(n.counts, groupCount{group: group, count: int32(pods)})
	}
}

// groupCount is how many pods of a group a node has.
type groupCount struct {
	group int32
	count int32
}

// refilled is a planned node with just these fills.
func (p *placements) refilled(column int, fills []fill) *node {
	n := p.newNode(column)
	for _, f := range fills {
		p.place(n, p.demands[f.demand], f.count)
	}
	return n
}

// followed reports whether a planned node has one of each of the peers that the demand has to follow.
func (p *placements) followed(n *node, d *demand) bool {
	for _, peers := range d.follows {
		if !slices.ContainsFunc(n.fills, func(f fill) bool { return peers.matchClass(p.work.podClasses, p.demands[f.demand].shape.class) }) {
			return false
		}
	}
	return true
}

// peersOn is how many of the peers are planned for the node.
func (p *placements) peersOn(n *node, wanted *peers) int {
	count := 0
	for _, f := range n.fills {
		if d := p.demands[f.demand]; wanted.matchClass(p.work.podClasses, d.shape.class) {
			count += f.count * d.pods()
		}
	}
	return count
}

// firstOn is how many of the peers are planned for the node that need not wait for others to be bound elsewhere: those others might wait for them.
func (p *placements) firstOn(n *node, wanted *peers) int {
	count := 0
	for _, f := range n.fills {
		d := p.demands[f.demand]
		waits := slices.ContainsFunc(d.shape.topology.spread, func(t spreadTerm) bool { return t.key != corev1.LabelHostname && !t.preferred })
		if !waits && wanted.matchClass(p.work.podClasses, d.shape.class) {
			count += f.count * d.pods()
		}
	}
	return count
}
