package plan

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
	open scheduling.Requirements
	// peers has how many pods the node has for each spread over hosts, by text of the term's peers; nil without such.
	peers map[string]int
}

// fill is a number of units of a demand on one node.
type fill struct {
	demand int
	count  int
}

func (p *problem) newNode(column int) *node {
	return &node{column: column, free: append(vector(nil), p.configs[p.columns[column].config].free...)}
}

func (n *node) clone() *node {
	c := *n
	c.fills = append([]fill(nil), n.fills...)
	c.free = append(vector(nil), n.free...)
	if n.open != nil {
		c.open = n.open.Clone()
	}
	if n.peers != nil {
		c.peers = make(map[string]int, len(n.peers))
		for text, count := range n.peers {
			c.peers[text] = count
		}
	}
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
	for i := range d.hosts.spread {
		term := &d.hosts.spread[i]
		left := term.maxSkew - n.peers[term.text()]
		if term.match(d.shape.pod()) {
			room = min(room, left)
		} else if left < 0 {
			return 0
		}
	}
	if d.open != nil {
		if open := d.open[p.configs[p.columns[n.column].config].pool]; open != nil && !intersect(n.open, open) {
			return 0
		}
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
	if i := slices.IndexFunc(n.fills, func(f fill) bool { return f.demand == d.index }); i >= 0 {
		n.fills[i].count += count
	} else {
		n.fills = append(n.fills, fill{demand: d.index, count: count})
	}
	if d.open != nil {
		if open := d.open[p.configs[p.columns[n.column].config].pool]; open != nil {
			if n.open == nil {
				n.open = scheduling.Requirements{}
			}
			n.open.Merge(open)
		}
	}
	for text, peers := range p.hostPeers {
		if peers.match(d.shape.pod()) {
			if n.peers == nil {
				n.peers = map[string]int{}
			}
			n.peers[text] += count * len(d.units[0])
		}
	}
}
