package packing

import (
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

const (
	// triesPerScale is how many candidates of one price scale are tried for a seed.
	triesPerScale = 3
	// closeRatio is the ratio of value to price that ends the search for a seed's node.
	closeRatio = 0.965
	// fullRatio is the ratio at which a node counts as full. A full node has no cheaper alternative.
	fullRatio = 0.94
	// plentifulTypes is how many types for one launch are so many that more make no difference.
	plentifulTypes = 3 * plan.MinimumSpotTypes
	// fewTypesSurcharge is the part of its price that packing adds to a spot node of a single type.
	fewTypesSurcharge = 0.02
)

// choice is the search for the best node for a seed. The node itself is nodeMemory.best.
type choice struct {
	queue *queue
	seed  int
	how   order
	// best is nil until a node is found; ratio is the node's value for its price.
	best  *candidate
	ratio float64
	tried int
	// ofScale counts the candidates tried, by price scale.
	ofScale [priceScales]int
}

// choose returns the node that holds a unit of the seed and has the best ratio of value to price;
// nil if there is none. The node is memory that the next call uses again.
func (p *packer) choose(q *queue, seed int, how order) *placement.PlannedNode {
	d := p.state.Demands[seed]
	search := choice{queue: q, seed: seed, how: how, ratio: -1}
	tries := p.effort.tries
	if d.HostConstraintsID == 0 {
		tries = p.effort.freeTries
	}
	for rank := 0; search.tried < tries && search.ratio <= closeRatio; rank++ {
		c, weight := p.candidate(seed, rank)
		if c == nil {
			break
		}
		enough := search.best != nil && search.ofScale[c.scale] >= triesPerScale
		if enough || !c.free.Fits(d.Need) || c.scarce && !p.Allows(c.offering) {
			continue
		}
		search.ofScale[c.scale]++
		search.tried++
		p.effort.work += tryWork
		p.try(&search, c, weight)
	}
	if search.best == nil {
		return nil
	}
	p.moveToCheapest(p.memory.best, search.best, d.Feasibility)
	return p.memory.best
}

// try fills the candidate, and keeps the node if it is better than the best so far. The weight is
// that of one unit of the seed.
func (p *packer) try(search *choice, c *candidate, weight float64) {
	allowed := unbounded
	if p.effort.many {
		// A node whose units weigh more beyond their value cannot become better than the best.
		allowed = c.price*(1-search.ratio) - (weight - p.prices.unit[search.seed] + p.prices.slot[search.seed])
	}
	if allowed < 0 || !p.fillCandidate(search, c, allowed) {
		return
	}
	n := p.memory.scratch
	value, price := p.valueOf(n), c.price
	if value < fullRatio*price {
		price = p.cheaperPrice(n, c)
	}
	deviation := p.variation.deviation()
	if value/price*deviation <= search.ratio {
		return
	}
	if ratio := value / p.withSurcharge(price, n, c, search.seed) * deviation; ratio > search.ratio {
		search.ratio, search.best = ratio, c
		p.memory.scratch, p.memory.best = p.memory.best, p.memory.scratch
	}
}

// fillCandidate fills the scratch node with a unit of the seed and what fits beside it. It reports
// false if the node cannot hold the seed or cannot come to be good enough. The units stay left.
func (p *packer) fillCandidate(search *choice, c *candidate, allowed float64) bool {
	n, d := p.memory.scratch, p.state.Demands[search.seed]
	p.state.Reset(n, c.offering)
	if p.state.Room(n, d, 1) == 0 {
		return false
	}
	p.state.Place(n, d, 1)
	p.left[search.seed]--
	good := p.fill(search.queue, filling{node: n, on: c, how: search.how, allowed: allowed})
	if good {
		if c.exotic {
			p.fill(search.queue, filling{node: n, on: c, how: search.how, sharing: true, allowed: unbounded})
		}
		p.meetMinValues(n)
	}
	p.returnUnits(n)
	return good && len(n.Fills) > 0
}

// cheaperPrice is the price of the cheapest offering that can hold the node's units. It may move
// the node there.
func (p *packer) cheaperPrice(n *placement.PlannedNode, c *candidate) float64 {
	if p.effort.many && !c.scarce {
		return p.cheapestHolding(n, c).price
	}
	if j := p.cheapestAlternative(n); j != n.Offering {
		p.state.ChangeOffering(n, j)
		return p.price(j)
	}
	return c.price
}

// moveToCheapest moves the chosen node to the cheapest offering that it may have. The feasibility
// is that of its seed.
func (p *packer) moveToCheapest(n *placement.PlannedNode, c *candidate, feasibility *offering.Feasibility) {
	cheapest := p.cheapestHolding(n, c)
	reliable := p.effort.many && !c.scarce
	if reliable && cheapest == c {
		return
	}
	offers, j := p.state.Offers, cheapest.offering
	samePool := offers.PoolTypeOf(j).Pool == offers.PoolTypeOf(c.offering).Pool
	if !reliable || !samePool || !p.onlyRoomDecides(n, c, feasibility) {
		j = p.cheapestAlternative(n)
	}
	if j != n.Offering {
		p.state.ChangeOffering(n, j)
	}
}

// cheapestHolding returns the cheapest candidate with room for the node's units, or the node's own.
// No offering that the node may have is cheaper.
func (p *packer) cheapestHolding(n *placement.PlannedNode, own *candidate) *candidate {
	list := p.candidates.feasibilities[:0]
	for _, f := range n.Fills {
		if at := p.state.Demands[f.Demand].Feasibility; len(list) == 0 || at != list[len(list)-1] {
			list = append(list, at)
		}
	}
	p.candidates.feasibilities = list
	cpu, memory := own.free[resource.CPU]-n.Free[resource.CPU], own.free[resource.Memory]-n.Free[resource.Memory]
	for i := range p.candidates.all {
		c := &p.candidates.all[i]
		// Candidates that are not scarce come in the order of their prices.
		if c.scarce {
			continue
		}
		if c.price >= own.price {
			break
		}
		if c.cpu >= cpu && c.memory >= memory && c.holds(n, own, list) {
			return c
		}
	}
	return own
}

// holds reports whether the candidate has room for the units of a node of the candidate own, and is
// feasible for all of them.
func (c *candidate) holds(n *placement.PlannedNode, own *candidate, feasibilities []*offering.Feasibility) bool {
	for r, free := range c.free {
		if free < own.free[r]-n.Free[r] {
			return false
		}
	}
	for _, f := range feasibilities {
		if !f.Buyable.Has(c.offering) {
			return false
		}
	}
	return true
}

// cheapestAlternative is the cheapest offering that the node may have.
func (p *packer) cheapestAlternative(n *placement.PlannedNode) int {
	offers := p.state.Offers
	// A claim keeps to one stock, so the types of others do not count for minValues.
	strict := offers.StrictMinValues(offers.PoolTypeOf(n.Offering).Pool)
	stock := offers.Offerings[n.Offering].Stock
	for j := range p.state.AlternativesFor(n).All() {
		if strict && offers.Offerings[j].Stock != stock {
			continue
		}
		if j == n.Offering || p.Allows(j) {
			return j
		}
	}
	return n.Offering
}

// onlyRoomDecides reports whether room alone decides which offerings of its pool the node may have,
// among those of the feasibility.
func (p *packer) onlyRoomDecides(n *placement.PlannedNode, c *candidate, feasibility *offering.Feasibility) bool {
	if !c.plain {
		return false
	}
	for _, f := range n.Fills {
		if p.state.Demands[f.Demand].Feasibility != feasibility {
			return false
		}
	}
	return true
}

// withSurcharge adds a little to the price of a spot node that only few types could replace, since
// the risk of an interruption is greater.
func (p *packer) withSurcharge(price float64, n *placement.PlannedNode, c *candidate, seed int) float64 {
	if p.state.Offers.Offerings[n.Offering].Source.CapacityType != api.CapacityTypeSpot {
		return price
	}
	feasibility := p.state.Demands[seed].Feasibility
	if p.onlyRoomDecides(n, c, feasibility) && p.hasManyTypes(c, p.candidates.byDemand[seed]) {
		return price
	}
	if types := p.countTypes(p.state.AlternativesFor(n)); types < plentifulTypes {
		return price * (1 + fewTypesSurcharge*float64(plentifulTypes-types)/plentifulTypes)
	}
	return price
}

// hasManyTypes reports whether many types can hold whatever a full node of the candidate holds.
func (p *packer) hasManyTypes(c *candidate, list *candidateList) bool {
	if list.types == nil {
		list.types = make([]int, len(p.candidates.all))
	}
	types := &list.types[c.position]
	if *types == 0 {
		offers := p.state.Offers
		set := offers.Feasibilities.ScratchSet
		copy(set, list.feasibility.Offerings)
		set.And(offers.PoolTypeOf(c.offering).Pool.Offerings)
		set.Without(offers.Exotic)
		offers.KeepRoom(set, c.free)
		// One more than counted, because 0 means not counted.
		*types = 1 + p.countTypes(set)
	}
	return *types > plentifulTypes
}

// countTypes counts the types of the offerings, up to plentifulTypes.
func (p *packer) countTypes(set dense.Set) int {
	types, last := 0, -1
	for j := range set.All() {
		if poolType := int(p.state.Offers.Offerings[j].PoolType); poolType != last {
			types, last = types+1, poolType
		}
		if types >= plentifulTypes {
			break
		}
	}
	return types
}
