package packing

import (
	"math"

	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// order is the rule by which filling a node chooses its next unit.
type order int

const (
	// orderBalanced prefers the unit that leaves least of the node, by the square of what is free, so
	// that cpu and memory run out together.
	orderBalanced order = iota
	// orderLargest prefers the largest unit.
	orderLargest
	// orderAligned prefers the unit whose need is large in the ratio of what is free.
	orderAligned
	orderCount
)

// unbounded is an allowance that no node exhausts.
const unbounded = math.MaxFloat64

// filling describes how to fill a node.
type filling struct {
	node *placement.PlannedNode
	// on is the node's candidate; nil for a node of an earlier call of Pack.
	on  *candidate
	how order
	// sharing takes all units that the node's offering can hold, and not only those that may buy it.
	sharing bool
	// allowed is by how much the units may weigh more than their value before filling gives up, in US
	// dollars an hour.
	allowed float64
	// cpuScore and memoryScore are what one of the resource counts for in a score.
	cpuScore, memoryScore float64
}

// fill moves units of the queue to the node, one at a time, until none fits. It reports false and
// stops early if the units exceed the allowance. Then the node cannot become good enough.
func (p *packer) fill(q *queue, f filling) bool {
	n := f.node
	f.cpuScore, f.memoryScore = p.scoring(n, f.on)
	active := p.activeBands(q, &f)
	for len(active) > 0 {
		var best int
		active, best = p.bestBand(q, &f, active)
		if best < 0 {
			break
		}
		b := &q.bands[active[best]]
		item := &b.items[b.at]
		d := p.state.Demands[item.demand]
		if b.constrained && p.state.Room(n, d, 1) == 0 {
			// Constraints keep the whole band from the node. But units with several pods may have a
			// smaller number of pods in another demand.
			if b.at++; d.PodsPerUnit() == 1 || !p.advance(b, n.Free) {
				active = append(active[:best], active[best+1:]...)
			}
			continue
		}
		if b.constrained || b.otherAxes || item.several {
			p.state.Place(n, d, 1)
		} else {
			n.Free[resource.CPU] -= item.cpu
			n.Free[resource.Memory] -= item.memory
			n.Free[resource.Pods] -= item.pods
			n.Fills = append(n.Fills, placement.Fill{Demand: d.Index, Count: 1})
		}
		p.left[item.demand]--
		if f.allowed -= b.excess; f.allowed < 0 {
			return false
		}
	}
	q.active = active[:0]
	return true
}

// activeBands returns the bands with a unit that fits on the node. Variation leaves some out.
func (p *packer) activeBands(q *queue, f *filling) []int32 {
	active := q.active[:0]
	for i := range q.bands {
		b := &q.bands[i]
		eligible := b.feasibility.Buyable
		if f.sharing {
			eligible = b.feasibility.Offerings
		}
		if !eligible.Has(f.node.Offering) || p.variation.skips() {
			continue
		}
		b.scored = noItem
		if b.at = b.head; p.advance(b, f.node.Free) {
			active = append(active, int32(i))
		}
	}
	return active
}

// bestBand returns the active bands that still have a unit that fits, and the position of the one
// with the best score; -1 without any.
func (p *packer) bestBand(q *queue, f *filling, active []int32) (kept []int32, best int) {
	free := f.node.Free
	cpu := float64(float64(max(free[resource.CPU], 0)) * f.cpuScore)
	memory := float64(float64(max(free[resource.Memory], 0)) * f.memoryScore)
	best, bestScore := -1, -1.0
	kept = active[:0]
	for _, at := range active {
		b := &q.bands[at]
		item := &b.items[b.at]
		if p.left[item.demand] == 0 || !p.fits(b, item, free) {
			if !p.advance(b, free) {
				continue
			}
			item = &b.items[b.at]
		}
		p.effort.work++
		kept = append(kept, at)
		if b.scored != item.demand {
			p.readScore(b, item, f)
		}
		score := 0.0
		switch f.how {
		case orderBalanced:
			score = float64((2*cpu-b.cpu)*b.cpu) + float64((2*memory-b.memory)*b.memory)
		case orderLargest:
			score = float64((cpu + memory) * (b.cpu + b.memory))
		case orderAligned:
			score = float64(cpu*b.cpu) + float64(memory*b.memory)
		}
		score *= b.discount
		score += float64(2*(cpu+memory)) * b.slot
		if score > bestScore {
			best, bestScore = len(kept)-1, score
		}
	}
	return kept, best
}

// readScore fills in the parts of the item's score that do not depend on what is free.
func (p *packer) readScore(b *band, item *bandItem, f *filling) {
	b.scored, b.discount, b.excess = item.demand, 1, 0
	b.cpu, b.memory = float64(item.cpu)*f.cpuScore, float64(item.memory)*f.memoryScore
	b.slot = p.prices.slot[item.demand]
	if f.on == nil {
		return
	}
	// A slot may be all of a unit's price. The difference is then rounded, perhaps to less than nothing, and the
	// weight is zero: without the bound the unit would never be chosen.
	value, weight := max(p.prices.unit[item.demand]-b.slot, 0), f.on.weigh(p.state.Demands[item.demand].Need)
	if b.excess = weight - value; b.excess > 0 {
		b.discount = value / weight
	}
}

// scoring returns what one of cpu and of memory count for in the scores on a node. Mostly that is
// their weight on the offering. A weight may be zero, so part of it is an equal share of the price.
func (p *packer) scoring(n *placement.PlannedNode, c *candidate) (cpu, memory float64) {
	free := p.state.Offers.PoolTypeOf(n.Offering).Free
	half := p.state.Offers.Cost(n.Offering) / 2
	cpu, memory = half/float64(max(free[resource.CPU], 1)), half/float64(max(free[resource.Memory], 1))
	if c != nil {
		cpu = float64(0.3*cpu) + float64(0.7*c.weights[resource.CPU])
		memory = float64(0.3*memory) + float64(0.7*c.weights[resource.Memory])
	}
	return cpu, memory
}
