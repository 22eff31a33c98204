package packing

import (
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/bound"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
)

// packer plans nodes for the waiting demands.
type packer struct {
	state *placement.State
	*placement.Ledger
	// left counts the units without a place, by demand.
	left  []int
	nodes []*placement.PlannedNode
	// tier has the offerings of the pools of one weight.
	tier       dense.Set
	prices     unitPrices
	groups     demandGroups
	candidates candidates
	effort     effort
	variation  variation
	memory     nodeMemory
	// reserved is what the ledger keeps of each limit for minValues: see reserveMinValues.
	reserved  []int64
	repacking repacking
	// learn, if not nil, receives each set of nodes that packing has tried.
	learn func([]*placement.PlannedNode)
}

// Pack plans places on new nodes for the waiting units. The nodes planned so far keep their fills
// and may get more. Pools of a greater weight come first. Pack returns all planned nodes, those
// that it was given first, and the dual prices of the last tier. It lowers the Waiting of demands.
func Pack(state *placement.State, planned []*placement.PlannedNode) ([]*placement.PlannedNode, *bound.Dual) {
	state.PrepareDemands()
	p := &packer{
		state:  state,
		Ledger: state.NewLedger(planned),
		nodes:  slices.Clone(planned),
		left:   make([]int, len(state.Demands)),
		memory: nodeMemory{scratch: &placement.PlannedNode{}, best: &placement.PlannedNode{}},
	}
	for _, n := range planned {
		state.RefreshHostCounts(n)
	}
	p.reserveMinValues()
	for i, d := range state.Demands {
		p.left[i] = d.Waiting
	}
	for _, tier := range state.Offers.Tiers {
		p.packTier(tier)
	}
	for i, d := range state.Demands {
		d.Waiting = p.left[i]
	}
	state.Planned = p.nodes
	state.PlannedChanged()
	return p.nodes, p.candidates.dual
}

// packTier plans nodes from the pools of one weight. Lighter pools get what these cannot take.
func (p *packer) packTier(tier dense.Set) {
	waiting := p.waiting(tier)
	if len(waiting) == 0 || len(waiting) > fewDemands && !p.canBuy(tier, waiting) {
		return
	}
	p.tier = tier
	p.effort.scaleTo(len(waiting))
	dual := p.solveDual(waiting)
	p.readPrices(dual, waiting)
	p.readGroups(waiting)
	p.readCandidates(dual, waiting)
	q := p.newQueue(waiting)
	p.fillPlanned(q)
	p.reserveMinValues()
	first := len(p.nodes)
	p.planNodes(q)
	p.dropBelowMinValues(first)
	p.reserveMinValues()
}

// canBuy reports whether limits and stocks leave any offering of the tier for one of the
// demands. Otherwise the units can only go to nodes that are planned already. Package correction puts
// them there, which is quicker for many demands.
func (p *packer) canBuy(tier dense.Set, waiting []int32) bool {
	offers := p.state.Offers
	if !tier.Intersects(offers.Limited) {
		return true
	}
	allowed := tier.Clone()
	p.KeepAllowed(allowed)
	most := offers.MostFree(allowed)
	return slices.ContainsFunc(waiting, func(i int32) bool {
		d := p.state.Demands[i]
		return most.Fits(d.Need) && d.Feasibility.Buyable.Intersects(allowed)
	})
}

// waiting returns the demands that wait and that can buy one of the offerings.
func (p *packer) waiting(tier dense.Set) []int32 {
	var waiting []int32
	canBuy := map[*offering.Feasibility]bool{}
	for i, d := range p.state.Demands {
		if p.left[i] == 0 {
			continue
		}
		can, known := canBuy[d.Feasibility]
		if !known {
			can = d.Feasibility.Buyable.Intersects(tier)
			canBuy[d.Feasibility] = can
		}
		if can {
			waiting = append(waiting, int32(i))
		}
	}
	return waiting
}

// planNodes packs the queue and improves the nodes that it has planned.
func (p *packer) planNodes(q *queue) {
	first := len(p.nodes)
	began := p.effort.work
	least := improveLeast
	small, searched := p.packWhole(q.seeds)
	switch {
	case small:
		least = improveFew
	case len(q.seeds) > fewDemands:
		p.pack(q, orderBalanced)
	case p.packPatterns(q.seeds):
	default:
		p.packBest(q.seeds)
		least = improveFew
	}
	if !searched && !p.state.Work.Snapshot.SkipImprovement {
		p.improve(first, p.improveBudget(first, max((p.effort.work-began)/4, least)))
	}
	if p.tier.Intersects(p.state.Offers.Limited) {
		budget := growBudget
		for p.grow(first, &budget) {
		}
	}
}

// packBest packs the demands in each order. It keeps the nodes that leave the fewest units, measured
// by price, and among those the cheapest ones.
func (p *packer) packBest(demands []int32) {
	before, kept := slices.Clone(p.left), p.nodes
	demands = slices.Clone(demands)
	slices.Sort(demands)
	var best []*placement.PlannedNode
	bestLeft, bestCost := math.Inf(1), math.Inf(1)
	for how := range orderCount {
		p.nodes = nil
		p.pack(p.newQueue(demands), how)
		if p.learn != nil {
			p.learn(p.nodes)
		}
		left, cost := 0.0, p.costOf(p.nodes)
		for _, i := range demands {
			left += float64(float64(p.left[i]) * p.prices.unit[i])
		}
		for _, n := range p.nodes {
			p.Take(n.Offering, -1)
		}
		copy(p.left, before)
		if left < bestLeft*(1-1e-9) || left <= bestLeft*(1+1e-9) && cost < bestCost-minimumGain {
			best, bestLeft, bestCost = p.nodes, left, cost
		}
	}
	p.nodes = kept
	for _, n := range best {
		p.add(n)
	}
}

// pack plans nodes until no offering can hold any of the waiting units.
func (p *packer) pack(q *queue, how order) {
	var impossible []placement.Fill
	planned, swept := 0, len(q.seeds)
	for {
		i := p.seed(q)
		if i < 0 {
			break
		}
		n := p.choose(q, i, how)
		if n == nil {
			impossible = append(impossible, placement.Fill{Demand: i, Count: p.left[i]})
			p.left[i] = 0
			continue
		}
		p.planCopies(n)
		if planned += len(n.Fills); planned > swept/2 {
			p.sweep(q)
			planned, swept = 0, max(swept/2, 64)
		} else {
			p.prune(q)
		}
	}
	for _, f := range impossible {
		p.left[f.Demand] = f.Count
	}
}

// planCopies plans the node as many times as the waiting units, limits and stocks allow.
func (p *packer) planCopies(n *placement.PlannedNode) {
	times := math.MaxInt
	for _, f := range n.Fills {
		times = min(times, p.left[f.Demand]/f.Count)
	}
	for ; times > 0 && p.Allows(n.Offering); times-- {
		p.add(p.memory.copyOf(n))
	}
}

// add takes a node into the plan.
func (p *packer) add(n *placement.PlannedNode) {
	p.nodes = append(p.nodes, n)
	p.Take(n.Offering, 1)
	p.takeUnits(n)
}

// takeUnits removes the node's units from those left.
func (p *packer) takeUnits(n *placement.PlannedNode) {
	for _, f := range n.Fills {
		p.left[f.Demand] -= f.Count
	}
}

// returnUnits adds the node's units to those left.
func (p *packer) returnUnits(n *placement.PlannedNode) {
	for _, f := range n.Fills {
		p.left[f.Demand] += f.Count
	}
}

// valueOf is the sum of the prices of the units on the node. The conversion keeps a machine from
// fusing the product with the sum, which would round differently.
func (p *packer) valueOf(n *placement.PlannedNode) float64 {
	value := 0.0
	for _, f := range n.Fills {
		value += float64(float64(f.Count) * p.prices.unit[f.Demand])
	}
	return value
}

// costOf is the price of the nodes in US dollars an hour.
func (p *packer) costOf(nodes []*placement.PlannedNode) float64 {
	cost := 0.0
	for _, n := range nodes {
		cost += p.state.Offers.Cost(n.Offering)
	}
	return cost
}

// fillPlanned puts waiting units on the nodes planned so far.
func (p *packer) fillPlanned(q *queue) {
	for at, n := range p.nodes {
		changed := n.Clone()
		p.fill(q, filling{node: changed, how: orderBalanced, sharing: true, allowed: unbounded})
		if p.state.CanMeetMinValuesAmong(p.nodes, changed, n) {
			*p.nodes[at] = *changed
		} else {
			p.returnUnits(changed)
			p.takeUnits(n)
		}
		p.prune(q)
	}
}
