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

const (
	// nearCandidates is how many candidates are sorted anew for each seed.
	nearCandidates = 24
	// priceScales is how many scales of prices there are. Each is half a power of two.
	priceScales = 48
)

// candidate is an offering as packing tries it.
type candidate struct {
	// position is the candidate's among all, offering its number in the index.
	position, offering int
	// weights are by resource, in US dollars an hour; steps are those of the dual that have a weight.
	weights []float64
	steps   []candidateStep
	// price is what packing counts for a node, in US dollars an hour; scale is its logarithm in steps.
	price float64
	scale int
	// free is what an empty node has; cpu and memory are the first two of it.
	free        resource.Vector
	cpu, memory int64
	// scarce says that a limit or a stock may forbid a node.
	scarce, exotic bool
	// plain says that the pool has neither minValues nor types with labels of their own.
	plain bool
}

// candidateStep is a step of the dual, with its weight on the candidate.
type candidateStep struct {
	bound.Step
	weight float64
	// each is the part of an empty node that one of the step's resource is.
	each float64
}

// weigh is the weight of a unit's need on the offering, without its slots.
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

// weighResources is the weight of an amount of resources on the offering, without steps.
func (c *candidate) weighResources(amount resource.Vector) float64 {
	weight := 0.0
	for r, w := range c.weights {
		weight += float64(w * float64(max(amount[r], 0)))
	}
	return weight
}

// candidates are the offerings that the dual prices leave worth trying.
type candidates struct {
	dual *bound.Dual
	all  []candidate
	// byDemand is nil for a demand without a candidate.
	byDemand []*candidateList
	// near are the first candidates of the present seed.
	near []nearCandidate
	// ranked and next are memory for sorting, feasibilities for cheapestHolding.
	ranked, next  []dense.Ranked
	feasibilities []*offering.Feasibility
}

// nearCandidate is a candidate with the weight that a unit of the seed has on it.
type nearCandidate struct {
	*candidate
	weight float64
}

// candidateList has the candidates of demands that share a feasibility and a bucket of the dual.
type candidateList struct {
	feasibility *offering.Feasibility
	// need is the bucket's, scaled as the dual scales it.
	need []float64
	// sorted is nil until a seed needs it. It is by the weight of the bucket's need.
	sorted []*candidate
	// types counts, by position, the types that could replace a full node; 0 is not counted yet.
	types []int
}

// readCandidates fills in the candidates of each waiting demand.
func (p *packer) readCandidates(dual *bound.Dual, waiting []int32) {
	p.candidates.dual = dual
	p.readAllCandidates(dual)
	type listKey struct {
		feasibility *offering.Feasibility
		bucket      int
	}
	lists := map[listKey]*candidateList{}
	if p.candidates.byDemand == nil {
		p.candidates.byDemand = make([]*candidateList, len(p.state.Demands))
	}
	for n, i := range waiting {
		key := listKey{p.state.Demands[i].Feasibility, dual.BucketOf[n]}
		if key.bucket < 0 {
			continue
		}
		list, ok := lists[key]
		if !ok {
			list = &candidateList{feasibility: key.feasibility, need: dual.Buckets[key.bucket].Need}
			lists[key] = list
		}
		p.candidates.byDemand[i] = list
	}
}

// readAllCandidates makes a candidate of each offering of the dual.
func (p *packer) readAllCandidates(dual *bound.Dual) {
	resources, steps := len(p.state.Work.Axes.Names), 0
	for i := range dual.Offerings {
		steps += len(dual.Offerings[i].Steps)
	}
	weights := make([]float64, len(dual.Offerings)*resources)
	allSteps := make([]candidateStep, 0, steps)
	p.candidates.all = make([]candidate, len(dual.Offerings))
	for i := range dual.Offerings {
		o := &dual.Offerings[i]
		c := &p.candidates.all[i]
		*c = p.newCandidate(o.Offering)
		c.position = i
		c.weights, weights = weights[:resources:resources], weights[resources:]
		surcharge := dual.Surcharge(o.Offering)
		for a, r := range dual.Axes {
			c.weights[r] = o.Weights[a] / dual.Scale[a] * surcharge
		}
		first := len(allSteps)
		for n, step := range o.Steps {
			if w := o.Weights[dual.Width()+n]; w > 0 {
				r := dual.Axes[step.Axis]
				allSteps = append(allSteps, candidateStep{
					Step: bound.Step{Axis: r, Parts: step.Parts}, weight: w * surcharge, each: 1 / float64(c.free[r]),
				})
			}
		}
		c.steps = allSteps[first:len(allSteps):len(allSteps)]
	}
}

// newCandidate is a candidate without its weights.
func (p *packer) newCandidate(number int) candidate {
	offers := p.state.Offers
	poolType := offers.PoolTypeOf(number)
	scale := int(math.Log2(offers.Cost(number)+1e-3)*2) + 30
	return candidate{
		offering: number,
		price:    p.price(number),
		scale:    min(max(scale, 0), priceScales-1),
		free:     poolType.Free, cpu: poolType.Free[resource.CPU], memory: poolType.Free[resource.Memory],
		scarce: offers.Limited.Has(number) || offers.Stocked.Has(number),
		exotic: offers.Exotic.Has(number),
		plain:  len(poolType.Pool.MinValues) == 0 && len(offers.Feasibilities.CustomKeys(poolType.Pool)) == 0,
	}
}

// candidate returns the seed's candidate of a rank from 0 and the weight of one unit on it; nil
// beyond the last. A caller asks for rank 0 first. The first ranks are sorted by the weight of the
// seed's own unit, the others by that of its bucket.
func (p *packer) candidate(seed, rank int) (*candidate, float64) {
	list := p.candidates.byDemand[seed]
	if list == nil {
		return nil, 0
	}
	need := p.state.Demands[seed].Need
	if list.sorted == nil {
		p.sortCandidates(list)
	}
	if rank == 0 {
		p.readNear(list, p.state.Demands[seed])
	}
	switch near := p.candidates.near; {
	case rank < len(near):
		return near[rank].candidate, near[rank].weight
	case rank < len(list.sorted):
		return list.sorted[rank], list.sorted[rank].weigh(need)
	}
	return nil, 0
}

// readNear sorts the first candidates of the list by the weight of a unit of the demand.
func (p *packer) readNear(list *candidateList, d *placement.Demand) {
	// The order of the list stays for few demands, and for slots, which weigh does not count.
	stays := !p.effort.many || len(d.Slots) > 0
	near := p.candidates.near[:0]
	for _, c := range list.sorted[:min(len(list.sorted), nearCandidates)] {
		weight := c.weigh(d.Need)
		near = append(near, nearCandidate{})
		to := len(near) - 1
		for ; to > 0 && !stays && near[to-1].weight > weight; to-- {
			near[to] = near[to-1]
		}
		near[to] = nearCandidate{c, weight}
	}
	p.candidates.near = near
}

// sortCandidates sorts the candidates by the weight of the bucket's need. Reserved offerings come
// first, because somebody pays for them already.
func (p *packer) sortCandidates(list *candidateList) {
	c := &p.candidates
	c.ranked = c.ranked[:0]
	for i := range c.all {
		number := c.all[i].offering
		if !list.feasibility.Buyable.Has(number) {
			continue
		}
		by := c.dual.Offerings[i].Weigh(list.need, math.Inf(1)) * c.dual.Surcharge(number)
		if p.state.Offers.Offerings[number].Source.CapacityType == api.CapacityTypeReserved {
			by = -1
		}
		c.ranked = append(c.ranked, dense.Ranked{By: by, Item: int32(i)})
	}
	c.next = dense.SortRanked(c.ranked, c.next)
	list.sorted = make([]*candidate, len(c.ranked))
	for n, r := range c.ranked {
		list.sorted[n] = &c.all[r.Item]
	}
}
