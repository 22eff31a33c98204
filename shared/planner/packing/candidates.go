package packing

import (
	"math"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/planner/bound"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// candidate is an offering as choosing one sees it.
type candidate struct {
	// position is the candidate's among packer.offerings.
	position, column int
	// weights are those of the resources on it: see bound.go.
	weights []float64
	// steps are those of the dual that have weight.
	steps []candidateStep
	// scale is the offering's price on a logarithmic scale, price what packing counts for it.
	scale int
	price float64
	// free is what an empty node of it has.
	free        resource.Vector
	cpu, memory int64
	// scarce says that limits or reservations may keep further nodes of it from being planned.
	scarce, exotic bool
	// plain says that its pool has neither minValues nor types with labels of their own.
	plain bool
}

type candidateStep struct {
	bound.Step
	// each is the part of the offering's that a unit of the axis is.
	weight, each float64
}

// weigh is what a unit of this need weighs on the offering, slots aside.
func (c *candidate) weigh(need resource.Vector) float64 {
	weight := 0.0
	for r, w := range c.weights {
		weight += float64(float64(need[r]) * w)
	}
	for i := range c.steps {
		s := &c.steps[i]
		weight += float64(s.weight * s.Of(float64(need[s.Axis])*s.each))
	}
	return weight
}

// nearCandidate is a candidate with what a unit of the demand in question weighs on it.
type nearCandidate struct {
	*candidate
	weight float64
}

// candidates are the offerings worth a look for the units of a bucket and a class, sorted once they
// are asked for: by what units like it weigh on them.
type candidates struct {
	class  *offering.Feasibility
	need   []float64
	sorted []*candidate
	// types are, by position, how many types could replace a full node of the class; zero where that
	// is not known yet.
	types []int
}

// readCandidates fills in which offerings each demand should look at first: those on which units
// like it weigh least, since these are meant for it. Units of a bucket and a class look at the same
// ones.
func (k *packer) readCandidates(dual *bound.Dual, waiting []int32) {
	p := k.p
	k.dual = dual
	k.columns = make([]candidate, len(dual.Offerings))
	weights, steps := make([]float64, len(dual.Offerings)*len(p.Work.Axes.Names)), 0
	for i := range dual.Offerings {
		steps += len(dual.Offerings[i].Steps)
	}
	allSteps := make([]candidateStep, 0, steps)
	for i := range dual.Offerings {
		c := &dual.Offerings[i]
		free := p.Offers.PoolTypeOf(c.Offering).Free
		more := dual.Surcharge(c.Offering)
		first := len(allSteps)
		for n, step := range c.Steps {
			if w := c.Weights[dual.Width()+n]; w > 0 {
				r := dual.Axes[step.Axis]
				allSteps = append(
					allSteps,
					candidateStep{Step: bound.Step{Axis: r, Parts: step.Parts}, weight: w * more, each: 1 / float64(free[r])},
				)
			}
		}
		k.columns[i] = candidate{
			position: i, column: c.Offering, weights: weights[:len(p.Work.Axes.Names):len(p.Work.Axes.Names)],
			steps: allSteps[first:len(allSteps):len(allSteps)],
			scale: min(
				max(int(math.Log2(p.Offers.Cost(c.Offering)+1e-3)*2)+30, 0),
				candidateScales-1,
			), price: k.price(c.Offering), free: free, cpu: free[resource.CPU], memory: free[resource.Memory],
			scarce: p.Offers.Limited.Has(c.Offering) ||
				p.Offers.Reserved.Has(c.Offering), exotic: p.Offers.Exotic.Has(c.Offering),
		}
		pool := p.Offers.PoolTypeOf(c.Offering).Pool
		k.columns[i].plain = len(pool.MinValues) == 0 && len(p.Offers.Feasibilities.CustomKeys(pool)) == 0
		weights = weights[len(p.Work.Axes.Names):]
		for a, r := range dual.Axes {
			k.columns[i].weights[r] = c.Weights[a] / dual.Scale[a] * more
		}
	}
	type kind struct {
		class  *offering.Feasibility
		bucket int
	}
	lists := map[kind]*candidates{}
	if k.candidates == nil {
		k.candidates = make([]*candidates, len(p.Demands))
	}
	for n, i := range waiting {
		of := kind{p.Demands[i].Feasibility, dual.BucketOf[n]}
		if of.bucket < 0 {
			continue
		}
		list, ok := lists[of]
		if !ok {
			list = &candidates{class: of.class, need: dual.Buckets[of.bucket].Need}
			lists[of] = list
		}
		k.candidates[i] = list
	}
}

// candidate is the offering that choosing a node for the demand looks at so many others later, and
// what a unit weighs on it; nil if there is none. The first few are sorted by what the demand's own
// units weigh, the others by what those of its bucket do on average.
func (k *packer) candidate(demand, at int) (*candidate, float64) {
	list := k.candidates[demand]
	if list == nil {
		return nil, 0
	}
	need := k.p.Demands[demand].Need
	if list.sorted == nil {
		k.sortCandidates(list)
	}
	if at == 0 {
		k.near = k.near[:0]
		// What slots weigh is in the bucket's order alone.
		slotted := len(k.p.Demands[demand].Slots) > 0
		for _, c := range list.sorted[:min(len(list.sorted), nearCandidates)] {
			weight := c.weigh(need)
			k.near = append(k.near, nearCandidate{})
			to := len(k.near) - 1
			for ; to > 0 && !slotted && k.many && k.near[to-1].weight > weight; to-- {
				k.near[to] = k.near[to-1]
			}
			k.near[to] = nearCandidate{c, weight}
		}
	}
	switch {
	case at < len(k.near):
		return k.near[at].candidate, k.near[at].weight
	case at < len(list.sorted):
		return list.sorted[at], list.sorted[at].weigh(need)
	}
	return nil, 0
}

func (k *packer) sortCandidates(list *candidates) {
	k.ranked = k.ranked[:0]
	for j := range k.columns {
		column := k.columns[j].column
		if !list.class.Buyable.Has(column) {
			continue
		}
		by := k.dual.Offerings[j].Weigh(list.need, math.Inf(1)) * k.dual.Surcharge(column)
		if k.p.Offers.Offerings[column].Reservation >= 0 {
			by = -1 // what is paid for already comes first, as long as there is any
		}
		k.ranked = append(k.ranked, dense.Ranked{By: by, Item: int32(j)})
	}
	k.next = dense.SortRanked(k.ranked, k.next)
	list.sorted = make([]*candidate, len(k.ranked))
	for n, r := range k.ranked {
		list.sorted[n] = &k.columns[r.Item]
	}
}

// plainly reports whether nothing but room decides which of the offerings of its pool that the
// class may have the node for the candidate may have.
func (k *packer) plainly(n *placement.PlannedNode, c *candidate, class *offering.Feasibility) bool {
	if !c.plain {
		return false
	}
	for _, f := range n.Fills {
		if k.p.Demands[f.Demand].Feasibility != class {
			return false
		}
	}
	return true
}

// smallest is the cheapest candidate that may hold all that is on the node, the node's own at most.
// No offering that the node may have is cheaper.
func (k *packer) smallest(n *placement.PlannedNode, own *candidate) *candidate {
	k.classes = k.classes[:0]
	for _, f := range n.Fills {
		if class := k.p.Demands[f.Demand].Feasibility; len(k.classes) == 0 || class != k.classes[len(k.classes)-1] {
			k.classes = append(k.classes, class)
		}
	}
	cpu, memory := own.free[resource.CPU]-n.Free[resource.CPU], own.free[resource.Memory]-n.Free[resource.Memory]
next:
	for i := range k.columns {
		c := &k.columns[i]
		// Others are sorted by price.
		if c.scarce {
			continue
		}
		if c.price >= own.price {
			break
		}
		if c.cpu < cpu || c.memory < memory {
			continue
		}
		for r, free := range c.free {
			if free < own.free[r]-n.Free[r] {
				continue next
			}
		}
		for _, class := range k.classes {
			if !class.Buyable.Has(c.column) {
				continue next
			}
		}
		return c
	}
	return own
}

// launchable is what packing counts for a node filled for the candidate: its price, and a little
// more for a spot node that few types could be launched for.
func (k *packer) launchable(n *placement.PlannedNode, c *candidate, leader int, price float64) float64 {
	if k.p.Offers.Offerings[n.Offering].Source.CapacityType != api.CapacityTypeSpot {
		return price
	}
	if class := k.p.Demands[leader].Feasibility; k.plainly(n, c, class) && k.plentiful(c, k.candidates[leader]) {
		return price
	}
	if types := k.typesIn(k.alternatives(n)); types < plentifulTypes {
		return price * (1 + 0.02*float64(plentifulTypes-types)/plentifulTypes)
	}
	return price
}

// plentiful reports whether there are many types that can hold all that a node of the candidate's
// can hold of the class.
func (k *packer) plentiful(c *candidate, list *candidates) bool {
	if list.types == nil {
		list.types = make([]int, len(k.columns))
	}
	types := &list.types[c.position]
	if *types == 0 {
		p := k.p
		set := p.Offers.Feasibilities.ScratchSet
		copy(set, list.class.Offerings)
		set.And(p.Offers.PoolTypeOf(c.column).Pool.Offerings)
		set.Without(p.Offers.Exotic)
		p.Offers.KeepRoom(set, c.free)
		// One more, so that none is not unknown.
		*types = 1 + k.typesIn(set)
	}
	return *types > plentifulTypes
}

// typesIn is how many types the offerings have, counted as far as it matters.
func (k *packer) typesIn(set dense.Set) int {
	types, last := 0, -1
	for j := range set.All() {
		if config := int(k.p.Offers.Offerings[j].PoolType); config != last {
			types, last = types+1, config
		}
		if types >= plentifulTypes {
			break
		}
	}
	return types
}
