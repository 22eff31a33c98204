package dispersal

import (
	"cmp"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// EC2 asks half the price for half the size. Two small nodes in place of a large one therefore cost
// little, but for what each node takes for itself.

const (
	// splitMost bounds how many nodes are tried, and splitUnits how many units a node may have for
	// that.
	splitMost, splitUnits = 40, 1000
)

// splitSizes are the sizes of the nodes that are tried in place of one, as parts of what its units
// need. A part is a little less than a half or a quarter, since the node was not full.
var splitSizes = [...][]float64{
	{0.5}, {0.45}, {0.45, 0.45}, {0.35, 0.35}, {0.3, 0.3, 0.3}, {0.7}, {0.7, 0.22}, {0.9}, {0.8}, {0.22, 0.22, 0.45},
}

// Split replaces nodes that have too many replicas of a workload by two or three smaller ones,
// within a budget in US dollars an hour. It returns what that adds to the price, and whether it
// split any.
func (d *Dispersal) Split(budget float64) (added float64, split bool) {
	for _, n := range d.crowdedNodes() {
		if parts, dearer := d.partsOf(n, budget-added); parts != nil {
			d.replace(n, parts)
			added, split = added+dearer, true
		}
	}
	return added, split
}

// crowdedNodes are nodes with too many replicas of a workload, those with the most too many first.
func (d *Dispersal) crowdedNodes() []*node {
	type ranked struct {
		*node
		over int
	}
	var crowded []ranked
	for _, n := range d.nodes {
		if n.fixed {
			continue
		}
		if over := d.over(n); over > 0 {
			crowded = append(crowded, ranked{n, over})
		}
	}
	slices.SortStableFunc(crowded, func(a, b ranked) int { return cmp.Compare(b.over, a.over) })
	nodes := make([]*node, 0, splitMost)
	for _, r := range crowded[:min(len(crowded), splitMost)] {
		nodes = append(nodes, r.node)
	}
	return nodes
}

// over is how many replicas the node has too many.
func (d *Dispersal) over(n *node) int {
	over := 0
	for i := range n.held {
		number := n.held[i].workload
		first := func(h held) bool { return h.workload == number }
		if number != none && slices.IndexFunc(n.held, first) == i {
			over += max(0, n.count(d.state, number)-d.workloads[number].most)
		}
	}
	return over
}

// partsOf are the cheapest nodes that can have the node's units apart, within the budget, and what
// they cost more than the node. They are nil if there are none.
func (d *Dispersal) partsOf(n *node, budget float64) (best []*node, dearer float64) {
	units, over := d.unitsOf(n), d.over(n)
	if units == nil {
		return nil, 0
	}
	ledger := d.plannedLedger()
	ledger.Take(n.Offering, -1)
	defer ledger.Take(n.Offering, 1)
	price := d.state.Offers.Offerings[n.Offering].Price
	for try := range 2 * len(splitSizes) {
		parts := d.bought(n, units, splitSizes[try/2], try%2 > 0)
		if parts == nil {
			continue
		}
		cost, left := -price, 0
		for _, part := range parts {
			cost += d.state.Offers.Offerings[part.Offering].Price
			left += d.over(part)
		}
		if cost <= budget+minimumPrice && (left < over || left == over && best != nil && cost < dearer) {
			best, dearer, over = parts, cost, left
		}
	}
	return best, dearer
}

// minimumPrice is the greatest rounding error of a sum of prices, in US dollars an hour.
const minimumPrice = 1e-9

// sized is a unit with its part of what all units of its node need.
type sized struct {
	held
	size float64
}

// unitsOf are the units of the node one by one, the largest first. They are nil if one may not
// move, or if there are too many.
func (d *Dispersal) unitsOf(n *node) []sized {
	total := make(resource.Vector, len(d.state.Work.Axes.Names))
	count := 0
	for i := range n.held {
		if !d.isMovable(n.held[i].demand) {
			return nil
		}
		count += len(n.held[i].units)
		total.Add(d.state.Demands[n.held[i].demand].Need, int64(len(n.held[i].units)))
	}
	if count > splitUnits {
		return nil
	}
	units := make([]sized, 0, count)
	for _, h := range n.held {
		size := 0.0
		for r, need := range d.state.Demands[h.demand].Need {
			if total[r] > 0 {
				size = max(size, float64(need)/float64(total[r]))
			}
		}
		for i := range h.units {
			one := held{demand: h.demand, workload: h.workload, units: h.units[i : i+1 : i+1]}
			units = append(units, sized{held: one, size: size})
		}
	}
	slices.SortStableFunc(units, func(a, b sized) int { return -cmp.Compare(a.size, b.size) })
	return units
}

// bought divides the units among nodes that are large enough for the given parts of them, each of
// the cheapest offering. A last node takes the units that are left over. It returns nil if one has
// no offering.
func (d *Dispersal) bought(n *node, units []sized, sizes []float64, dealt bool) []*node {
	ledger := d.plannedLedger()
	var parts []*node
	defer func() {
		for _, part := range parts {
			ledger.Take(part.Offering, -1)
		}
	}()
	buy := func(units []sized, size float64) bool {
		j := d.cheapestFor(n, units, size)
		if j == none {
			return false
		}
		parts = append(parts, &node{PlannedNode: d.state.NewNode(j), tier: n.tier})
		ledger.Take(j, 1)
		return true
	}
	for _, size := range sizes {
		if !buy(units, size) {
			return nil
		}
	}
	if rest := d.fill(parts, units, dealt); len(rest) > 0 {
		if !buy(rest, 1) || len(d.fill(parts[len(parts)-1:], rest, false)) > 0 {
			return nil
		}
	}
	if slices.ContainsFunc(parts, func(part *node) bool { return len(part.held) == 0 }) {
		return nil
	}
	return slices.Clone(parts)
}

// cheapestFor is the cheapest offering of the node's pool that holds so great a part of the units,
// and each single one; none if there is none.
func (d *Dispersal) cheapestFor(n *node, units []sized, size float64) int {
	offers := d.state.Offers
	set, need := offers.PoolTypeOf(n.Offering).Pool.Offerings.Clone(), make(resource.Vector, len(d.state.Work.Axes.Names))
	var last *placement.Demand
	for _, u := range units {
		demand := d.state.Demands[u.demand]
		if need.Add(demand.Need, 1); demand != last {
			set.And(demand.Feasibility.Buyable)
			offers.KeepRoom(set, demand.Need)
			last = demand
		}
	}
	for r := range need {
		need[r] = int64(float64(need[r]) * size)
	}
	offers.KeepRoom(set, need)
	d.plannedLedger().KeepAllowed(set)
	if set.Empty() {
		return none
	}
	return set.First()
}

// fill puts each unit on the first node that has room for it, and no more than half of its workload
// then. It returns the others. Dealt units begin with one node after the other, so that each gets
// the same mixture.
func (d *Dispersal) fill(parts []*node, units []sized, dealt bool) (rest []sized) {
next:
	for at, u := range units {
		demand := d.state.Demands[u.demand]
		for i := range parts {
			if dealt {
				i = (i + at) % len(parts)
			}
			part := parts[i]
			if d.takesMore(part, u.workload, 1) && d.state.Room(part.PlannedNode, demand, 1) > 0 {
				d.state.Place(part.PlannedNode, demand, 1)
				part.add(held{demand: u.demand, workload: u.workload, units: slices.Clone(u.units)})
				continue next
			}
		}
		rest = append(rest, u)
	}
	return rest
}

// plannedLedger counts the new nodes.
func (d *Dispersal) plannedLedger() *placement.Ledger {
	if d.ledger == nil {
		d.ledger = d.state.NewLedger(d.state.Planned)
	}
	return d.ledger
}

// replace puts the parts in the place of the node.
func (d *Dispersal) replace(n *node, parts []*node) {
	var had []int
	for i := range n.held {
		if number := n.held[i].workload; number != none {
			had = append(had, number)
		}
	}
	ledger := d.plannedLedger()
	ledger.Take(n.Offering, -1)
	for i, part := range parts {
		ledger.Take(part.Offering, 1)
		if i == 0 {
			*n.PlannedNode, n.held = *part.PlannedNode, part.held
			continue
		}
		part.index = len(d.nodes)
		d.nodes, d.state.Planned = append(d.nodes, part), append(d.state.Planned, part.PlannedNode)
		for h := range part.held {
			d.note(part, part.held[h].workload)
		}
	}
	for _, number := range had {
		w := &d.workloads[number]
		w.nodes = slices.DeleteFunc(w.nodes, func(of *node) bool { return of == n && n.count(d.state, number) == 0 })
	}
}
