package placement

import (
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// AlternativesFor are the offerings of the node's pool that can hold its fills. Exotic types
// replace only exotic ones. It ignores limits and stocks. The next call overwrites the
// result.
func (s *State) AlternativesFor(n *PlannedNode) dense.Set {
	pool := s.Offers.PoolTypeOf(n.Offering).Pool
	set := s.memory.alternatives
	copy(set, pool.Offerings)
	if n.Within != nil {
		set.And(n.Within)
	}
	var last *offering.Feasibility
	for _, f := range n.Fills {
		if feasible := s.Demands[f.Demand].Feasibility; feasible != last {
			set.And(feasible.Offerings)
			last = feasible
		}
	}
	if !s.Offers.IsExotic(n.Offering) {
		set.Without(s.Offers.Exotic)
	}
	free := s.Offers.PoolTypeOf(n.Offering).Free
	for r := range free {
		if used := free[r] - n.Free[r]; used > 0 {
			s.Offers.Sizes[r].KeepAtLeast(set, used)
		}
	}
	// All offerings must have the value of a custom label that the node gets, unless minValues wants
	// several values.
	if keys := s.Offers.Feasibilities.CustomKeys(pool); len(keys) > 0 {
		labels := s.LabelsOf(n)
		for _, key := range keys {
			if r, ok := labels[key]; ok && !pool.KeepsSeveral(key) {
				if value, ok := s.Offers.ValueOn(n.Offering, r); ok {
					set.And(s.Offers.Feasibilities.Allowing(scheduling.In(key, value)))
				}
			}
		}
	}
	return set
}

// LabelsOf are the node's label requirements, as far as its pool and its fills decide them.
func (s *State) LabelsOf(n *PlannedNode) scheduling.Requirements {
	requirements := s.Offers.PoolTypeOf(n.Offering).Pool.Requirements.Clone()
	for key, r := range n.Resolved.Labels() {
		addUnlessAbsent(requirements, key, r)
	}
	for _, f := range n.Fills {
		// A demand with several alternatives restricts instance types and zones, which the offerings of
		// the node express already.
		if alternatives := s.Demands[f.Demand].Alternatives.List(); len(alternatives) == 1 {
			for key, r := range alternatives[0] {
				addUnlessAbsent(requirements, key, r)
			}
		}
	}
	return requirements
}

// addUnlessAbsent adds a requirement, except that a label may be absent which nothing sets anyway.
func addUnlessAbsent(requirements scheduling.Requirements, key string, r scheduling.Requirement) {
	if _, known := requirements[key]; known || !r.AllowsAbsent() {
		requirements.Add(r)
	}
}

// expressible is ExpressibleWithin the alternatives of the node.
func (s *State) expressible(n *PlannedNode, offerings []int) []int {
	return s.ExpressibleWithin(n, offerings, s.AlternativesFor(n).Clone())
}

// ExpressibleWithin are those of the offerings that a claim can allow together without allowing an
// offering that does not fit. A claim lists instance types, zones and capacity types. If it allows
// one type in one zone and a second type in another zone, it allows each type in both zones.
func (s *State) ExpressibleWithin(n *PlannedNode, offerings []int, fits dense.Set) []int {
	pool := s.Offers.PoolTypeOf(n.Offering).Pool
	product := offering.NewProduct(s.Offers, pool)
	for _, j := range offerings {
		product.Add(j)
	}
	if product.Within(fits) {
		return offerings
	}
	// The claim has other requirements too. They rule out some offerings that do not fit, such as a
	// type of the same name with another operating system.
	labels := s.LabelsOf(n)
	if allowed, _ := s.Offers.Feasibilities.Meeting(pool, labels); allowed != nil {
		fits = fits.Clone()
		for w := range fits {
			fits[w] |= ^allowed[w]
		}
	}
	product = offering.NewProduct(s.Offers, pool)
	product.Require(labels)
	kept := offerings[:0:0]
	for _, j := range offerings {
		with := product.Clone()
		if with.Add(j); with.Within(fits) {
			product = with
			kept = append(kept, j)
		}
	}
	if len(kept) == 0 {
		return offerings[:1]
	}
	return kept
}
