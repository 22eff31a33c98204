package packing

import (
	"math"

	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// order is how fill chooses between the items of bands.
type order int

const (
	// orderBalanced takes what leaves least of the node in the sense of the squared rest, so that cpu
	// and memory run out together.
	orderBalanced order = iota
	// orderLargest takes what is worth most.
	orderLargest
	// orderAligned takes what asks for most in the ratio of what is free.
	orderAligned
	orderCount
)

// fill puts on the node what fits of the queue, one unit after the other, and takes it off what is
// left. With exotic set it goes through what may share an exotic node; else through what the node
// may be bought for. It ends early, and reports false, once what is on the node weighs more than it
// is worth by over allowed: then the node cannot come to be worth enough.
func (k *packer) fill(
	pl *queue,
	n *placement.PlannedNode,
	c *candidate,
	how order,
	sharing bool,
	allowed float64,
) bool {
	perCPU, perMemory := k.geometry(n, c)
	active := pl.active[:0]
	for i := range pl.bands {
		l := &pl.bands[i]
		eligible := l.class.Buyable
		if sharing {
			eligible = l.class.Offerings
		}
		if !eligible.Has(n.Offering) {
			continue
		}
		if k.random != nil && k.random.Float64() < k.noise*0.4 {
			continue
		}
		l.scored = 0
		if l.at = l.head; k.advance(l, n.Free) {
			active = append(active, int32(i))
		}
	}
	for len(active) > 0 {
		cpu := float64(float64(max(n.Free[resource.CPU], 0)) * perCPU)
		memory := float64(float64(max(n.Free[resource.Memory], 0)) * perMemory)
		best, bestScore := -1, -1.0
		kept := active[:0]
		for _, at := range active {
			l := &pl.bands[at]
			item := &l.items[l.at]
			if k.left[item.demand] == 0 || !k.fits(l, item, n.Free) {
				if !k.advance(l, n.Free) {
					continue
				}
				item = &l.items[l.at]
			}
			k.work++
			kept = append(kept, at)
			if l.scored != item.demand+1 {
				k.score(l, item, c, perCPU, perMemory)
			}
			score := 0.0
			switch how {
			case orderBalanced:
				score = float64((2*cpu-l.cpu)*l.cpu) + float64((2*memory-l.memory)*l.memory)
			case orderLargest:
				score = float64((cpu + memory) * (l.cpu + l.memory))
			case orderAligned:
				score = float64(cpu*l.cpu) + float64(memory*l.memory)
			}
			score *= l.fit
			score += float64(2*(cpu+memory)) * l.slot
			if score > bestScore {
				best, bestScore = len(kept)-1, score
			}
		}
		active = kept
		if best < 0 {
			break
		}
		l := &pl.bands[active[best]]
		item := &l.items[l.at]
		d := k.p.Demands[item.demand]
		if l.constrained && k.p.Room(n, d, 1) == 0 {
			// What keeps one of the band from the node keeps all of it, but units of several pods may be
			// fewer in another demand.
			if l.at++; d.PodsPerUnit() == 1 || !k.advance(l, n.Free) {
				active = append(active[:best], active[best+1:]...)
			}
			continue
		}
		if l.constrained || l.further || item.several {
			k.p.Place(n, d, 1)
		} else {
			n.Free[resource.CPU] -= item.cpu
			n.Free[resource.Memory] -= item.memory
			n.Free[resource.Pods] -= item.pods
			n.Fills = append(n.Fills, placement.Fill{Demand: d.Index, Count: 1})
		}
		k.left[item.demand]--
		if allowed -= l.excess; allowed < 0 {
			return false
		}
	}
	pl.active = active[:0]
	return true
}

// score fills in what scoring the band's item takes, other than what is free.
func (k *packer) score(l *band, item *bandItem, c *candidate, perCPU, perMemory float64) {
	l.scored, l.fit, l.excess = item.demand+1, 1, 0
	l.cpu, l.memory, l.slot = float64(
		float64(item.cpu)*perCPU,
	), float64(
		float64(item.memory)*perMemory,
	), k.slot[item.demand]
	if c == nil {
		return
	}
	worth, weight := k.value[item.demand]-l.slot, c.weigh(k.p.Demands[item.demand].Need)
	if l.excess = weight - worth; l.excess > 0 {
		l.fit = worth / weight
	}
}

// anything is more than any node's units weigh beyond what they are worth.
const anything = math.MaxFloat64

// geometry is what a unit of cpu and of memory counts for in a node's balance: mostly what they
// weigh on the offering, and partly the same for all of the one as for all of the other, since the
// weights of one may be nothing.
func (k *packer) geometry(n *placement.PlannedNode, c *candidate) (perCPU, perMemory float64) {
	free := k.p.Offers.PoolTypeOf(n.Offering).Free
	half := k.p.Offers.Cost(n.Offering) / 2
	perCPU, perMemory = half/float64(max(free[resource.CPU], 1)), half/float64(max(free[resource.Memory], 1))
	if c != nil {
		perCPU, perMemory = float64(
			0.3*perCPU,
		)+float64(
			0.7*c.weights[resource.CPU],
		), float64(
			0.3*perMemory,
		)+float64(
			0.7*c.weights[resource.Memory],
		)
	}
	return perCPU, perMemory
}

// unfill gives back what is on the node.
func (k *packer) unfill(n *placement.PlannedNode) {
	for _, f := range n.Fills {
		k.left[f.Demand] += f.Count
	}
}
