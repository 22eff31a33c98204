package dispersal

import (
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

const (
	// exchangeLeast and exchangePerUnit bound the work of exchanges: the pairs of entries that are
	// compared.
	exchangeLeast, exchangePerUnit = 20_000, 6
	// exchangeMost is how many units of one demand change their place for one of another.
	exchangeMost = 6
)

// Exchange moves units between new nodes until no workload has more than half on one, as far as
// that needs no other nodes. It reports whether it has moved any.
func (d *Dispersal) Exchange() bool {
	units := 0
	for _, n := range d.nodes {
		for i := range n.held {
			units += len(n.held[i].units)
		}
	}
	budget, changed := exchangeLeast+exchangePerUnit*units, false
	for number := range d.workloads {
		w := &d.workloads[number]
		if w.total < 2 {
			continue
		}
		for _, n := range w.nodes {
			for d.work < budget && n.count(d.state, number) > w.most && d.relieve(n, number) {
				changed = true
			}
		}
	}
	return changed
}

// relieve moves a unit of the workload off the node, or some, and reports whether it could.
func (d *Dispersal) relieve(from *node, number int) bool {
	if from.fixed {
		return false
	}
	for at := range from.held {
		if from.held[at].workload != number || !d.isMovable(from.held[at].demand) {
			continue
		}
		for i := range d.nodes {
			to := d.nodes[(from.index+1+i)%len(d.nodes)]
			d.work++
			if to == from || to.fixed || to.tier != from.tier || !d.takesMore(to, number, 1) {
				continue
			}
			if d.move(from, to, at) || d.swapWithAny(from, to, at) {
				return true
			}
		}
	}
	return false
}

// takesMore reports whether the node may have so many more replicas of the workload.
func (d *Dispersal) takesMore(n *node, number, more int) bool {
	return number == none || n.count(d.state, number)+more <= d.workloads[number].most
}

// move moves one unit of an entry to the other node if that has room for it.
func (d *Dispersal) move(from, to *node, at int) bool {
	demand := d.state.Demands[from.held[at].demand]
	if !to.Free.Fits(demand.Need) || len(from.held) == 1 && len(from.held[at].units) == 1 {
		return false
	}
	return d.apply(change{from: from, to: to, give: at, given: 1, get: none})
}

// swapWithAny exchanges units of an entry for units of another on the other node, if there is one.
func (d *Dispersal) swapWithAny(from, to *node, at int) bool {
	for other := range to.held {
		d.work++
		if to.held[other].workload == from.held[at].workload || !d.isMovable(to.held[other].demand) {
			continue
		}
		if d.swap(from, to, at, other) {
			return true
		}
	}
	return false
}

// swap exchanges one unit of the entry for as many of the other as make room for it, or the
// reverse.
func (d *Dispersal) swap(from, to *node, at, other int) bool {
	number, replaced := from.held[at].workload, to.held[other].workload
	give, get := d.state.Demands[from.held[at].demand].Need, d.state.Demands[to.held[other].demand].Need
	mostGiven := min(exchangeMost, len(from.held[at].units), from.count(d.state, number)-d.workloads[number].most)
	for got := 1; got <= min(exchangeMost, len(to.held[other].units)); got++ {
		if !d.takesMore(from, replaced, got) {
			break
		}
		if fitsFor(to.Free, give, get, 1, got) && fitsFor(from.Free, get, give, got, 1) &&
			d.apply(change{from: from, to: to, give: at, given: 1, get: other, got: got}) {
			return true
		}
	}
	for given := 2; given <= mostGiven && d.takesMore(from, replaced, 1) && d.takesMore(to, number, given); given++ {
		if fitsFor(to.Free, give, get, given, 1) && fitsFor(from.Free, get, give, 1, given) &&
			d.apply(change{from: from, to: to, give: at, given: given, get: other, got: 1}) {
			return true
		}
	}
	return false
}

// fitsFor reports whether so many further units fit into what is free once others have left.
func fitsFor(free, need, left resource.Vector, units, leaving int) bool {
	for r := range need {
		if need[r] > 0 && int64(units)*need[r] > free[r]+int64(leaving)*left[r] {
			return false
		}
	}
	return true
}

// change moves units of the entry give to the other node, and units of its entry get back.
type change struct {
	from, to              *node
	give, given, get, got int
}

// apply makes the change if both nodes can hold their units then.
func (d *Dispersal) apply(c change) bool {
	from, to := c.from.copyOfHeld(), c.to.copyOfHeld()
	given := from.take(c.give, c.given)
	if c.get != none {
		from.add(to.take(c.get, c.got))
	}
	to.add(given)
	with, without := d.built(to), d.built(from)
	if with == nil || without == nil {
		return false
	}
	c.from.held, c.to.held = from.held, to.held
	*c.from.PlannedNode, *c.to.PlannedNode = *without, *with
	for _, n := range []*node{c.from, c.to} {
		for i := range n.held {
			d.note(n, n.held[i].workload)
		}
	}
	return true
}

// note notes that the node has replicas of the workload.
func (d *Dispersal) note(n *node, number int) {
	if number == none {
		return
	}
	w := &d.workloads[number]
	for _, known := range w.nodes {
		if known == n {
			return
		}
	}
	w.nodes = append(w.nodes, n)
}

// copyOfHeld is a node with its entries only.
func (n *node) copyOfHeld() *node {
	c := &node{PlannedNode: n.PlannedNode, held: make([]held, len(n.held), len(n.held)+1)}
	for i, h := range n.held {
		c.held[i] = held{demand: h.demand, workload: h.workload, units: h.units[:len(h.units):len(h.units)]}
	}
	return c
}

// built is a planned node of the same offering with the entries; nil if it cannot hold them.
func (d *Dispersal) built(n *node) *placement.PlannedNode {
	made := d.state.NewNode(n.Offering)
	for i := range n.held {
		demand, count := d.state.Demands[n.held[i].demand], len(n.held[i].units)
		if !d.state.Holds(n.Offering, demand) || d.state.Room(made, demand, count) < count {
			return nil
		}
		d.state.Place(made, demand, count)
	}
	made.Within = n.Within
	return made
}
