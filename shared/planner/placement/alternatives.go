package placement

import (
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// AlternativesFor are the offerings of the node's pool that can hold all that is on the node.
// Exotic types replace exotic ones alone, and offerings of reservations are left out where none is
// left. It is memory that the next call uses again.
func (p *State) AlternativesFor(n *PlannedNode) dense.Set {
	pool := p.Offers.PoolTypeOf(n.Offering).Pool
	set := p.alternatives
	copy(set, pool.Offerings)
	var last *offering.Feasibility
	for _, f := range n.Fills {
		if c := p.Demands[f.Demand].Feasibility; c != last {
			set.And(c.Offerings)
			last = c
		}
	}
	if !p.Offers.IsExotic(n.Offering) {
		set.Without(p.Offers.Exotic)
	}
	free := p.Offers.PoolTypeOf(n.Offering).Free
	for r := range free {
		if used := free[r] - n.Free[r]; used > 0 {
			p.Offers.Sizes[r].KeepAtLeast(set, used)
		}
	}
	if keys := p.Offers.Feasibilities.CustomKeys(pool); len(keys) > 0 {
		asked := p.LabelsOf(n)
		for _, key := range keys {
			if r, ok := asked[key]; ok {
				if value, ok := p.Offers.ValueOn(n.Offering, r); ok {
					set.And(p.Offers.Feasibilities.Allowing(scheduling.In(key, value)))
				}
			}
		}
	}
	return set
}

// LabelsOf are what the node's labels will be as far as the plan decides them.
func (p *State) LabelsOf(n *PlannedNode) scheduling.Requirements {
	pool := p.Offers.PoolTypes[p.Offers.Offerings[n.Offering].PoolType].Pool
	requirements := pool.Requirements.Clone()
	for key, r := range n.Resolved.Labels() {
		// Absence needs no word where nothing sets the label.
		if _, known := requirements[key]; known || !r.AllowsAbsent() {
			requirements.Add(r)
		}
	}
	for _, f := range n.Fills {
		// What a demand with several alternatives asks for is in the list of types and zones.
		if alternatives := p.Demands[f.Demand].Alternatives.List(); len(alternatives) == 1 {
			for key, r := range alternatives[0] {
				if _, known := requirements[key]; known || !r.AllowsAbsent() {
					requirements.Add(r)
				}
			}
		}
	}
	return requirements
}

// expressible drops those of the offerings that would let in, by the lists of types, zones and capacity
// types that a claim's requirements are, another offering which cannot hold what is on the node: a
// type is allowed in one zone and another type in another, and each in the other's.
func (p *State) expressible(n *PlannedNode, columns []int) []int {
	return p.ExpressibleWithin(n, columns, p.AlternativesFor(n).Clone())
}

// ExpressibleWithin is closed for the offerings that can hold what is on the node.
func (p *State) ExpressibleWithin(n *PlannedNode, columns []int, fits dense.Set) []int {
	pool := p.Offers.PoolTypeOf(n.Offering).Pool
	union := offering.NewProduct(p.Offers, pool)
	for _, j := range columns {
		union.Add(j)
	}
	if union.Within(fits) {
		return columns
	}
	// What the claim's other requirements leave out is not let in: a type of the same name with
	// another operating system, say.
	if allowed, _ := p.Offers.Feasibilities.Meeting(pool, p.LabelsOf(n)); allowed != nil {
		fits = fits.Clone()
		for w := range fits {
			fits[w] |= ^allowed[w]
		}
	}
	union = offering.NewProduct(p.Offers, pool)
	kept := columns[:0:0]
	for _, j := range columns {
		with := union.Clone()
		if with.Add(j); with.Within(fits) {
			union = with
			kept = append(kept, j)
		}
	}
	if len(kept) == 0 {
		return columns[:1]
	}
	return kept
}
