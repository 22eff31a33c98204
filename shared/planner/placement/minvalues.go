package placement

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
)

// A NodePool with minValues demands that a node's claim allows several values, such as several
// instance types. The claim counts against the pool's limits with the largest of them. So in a pool
// with limits, a node takes as much as the largest type of the smallest list that meets minValues.

// NeededForMinValues is a list of offerings that meets the pool's minValues for the node, with the
// node's own offering. It also returns the most that one of them takes of each limit. The search is
// greedy, smallest offerings first. Both results are nil if it finds no list.
func (s *State) NeededForMinValues(n *PlannedNode) ([]int, []offering.Use) {
	pool := s.Offers.PoolTypeOf(n.Offering).Pool
	set, stock := s.AlternativesFor(n).Clone(), s.Offers.Offerings[n.Offering].Stock
	values := map[string]map[string]bool{}
	for key := range pool.MinValues {
		values[key] = map[string]bool{}
	}
	var list []int
	order := s.Offers.ByLimitShare(pool)
	for at := -1; at < len(order); at++ {
		j := n.Offering // The node's own comes first.
		if at >= 0 {
			if j = order[at]; j == n.Offering {
				continue
			}
		}
		if !set.Has(j) || s.Offers.Offerings[j].Stock != stock {
			continue
		}
		brings, met := s.collectValues(pool, j, values)
		if !brings && len(list) > 0 {
			continue
		}
		if list = append(list, j); !met {
			continue
		}
		slices.Sort(list)
		if kept := s.expressible(n, list); s.Offers.MeetsMinValues(pool, slices.Values(kept)) {
			return kept, append([]offering.Use{}, s.MostUse(n, kept, set)...)
		}
	}
	return nil, nil
}

// collectValues adds the values of offering j of the keys with minValues. It reports whether a
// value is new, and whether all keys have enough values once it is added.
func (s *State) collectValues(pool *offering.Pool, j int, values map[string]map[string]bool) (brings, met bool) {
	met = true
	for key, least := range pool.MinValues {
		wanted := len(values[key]) < least
		for _, value := range s.Offers.ValuesOf(pool, j, key) {
			if !values[key][value] {
				values[key][value] = true
				brings = true
			}
		}
		met = met && (!wanted || len(values[key]) >= least)
	}
	return brings, met
}

// MostUse is the most that the node's claim takes of each limit if it lists these offerings. Within
// those that fit, it also allows one type in the zone of another, which may cost more.
func (s *State) MostUse(n *PlannedNode, offerings []int, fits dense.Set) []offering.Use {
	if !s.Offers.UsesDiffer {
		return s.Offers.MostUse(n.Offering, slices.Values(offerings))
	}
	product := offering.NewProduct(s.Offers, s.Offers.PoolTypeOf(n.Offering).Pool)
	for _, j := range offerings {
		product.Add(j)
	}
	allowed := fits.Clone()
	product.KeepAllowed(allowed)
	return s.Offers.MostUse(n.Offering, allowed.All())
}

// CanMeetMinValues reports whether enough offerings could replace the node's own to meet the pool's
// minValues, within what existing nodes leave of its limits. It is true for pools that need not
// meet any.
func (s *State) CanMeetMinValues(n *PlannedNode) bool {
	pool := s.Offers.PoolTypeOf(n.Offering).Pool
	if !s.Offers.StrictMinValues(pool) {
		return true
	}
	offerings, most := s.NeededForMinValues(n)
	return offerings != nil && WithinLimits(most, s.Offers.LimitsLeft())
}

// CanMeetMinValuesAmong is CanMeetMinValues within what the other nodes leave of the limits, too.
// The node takes the place of one of the others, unless instead is nil. A node without minValues
// must leave what those of the others need.
func (s *State) CanMeetMinValuesAmong(others []*PlannedNode, n, instead *PlannedNode) bool {
	if !s.CanMeetMinValues(n) || !s.Offers.SharesLimitsWithMinValues(s.Offers.PoolTypeOf(n.Offering).Pool) {
		return s.CanMeetMinValues(n)
	}
	left := s.Offers.LimitsLeft()
	for _, other := range others {
		if other != instead {
			Spend(left, s.ClaimUse(other))
		}
	}
	return WithinLimits(s.ClaimUse(n), left)
}

// ClaimUse is the least that the node's claim takes of limits: the node itself, and what minValues
// need.
func (s *State) ClaimUse(n *PlannedNode) []offering.Use {
	if s.Offers.StrictMinValues(s.Offers.PoolTypeOf(n.Offering).Pool) {
		_, most := s.NeededForMinValues(n)
		return most
	}
	return s.Offers.LimitUse(n.Offering)
}

// Spend takes the uses from what is left.
func Spend(left []int64, uses []offering.Use) {
	for _, use := range uses {
		left[use.Limit] -= use.Amount
	}
}

// WithinLimits reports whether the uses take no more than is left.
func WithinLimits(uses []offering.Use, left []int64) bool {
	return !slices.ContainsFunc(uses, func(use offering.Use) bool { return use.Amount > left[use.Limit] })
}

// MinValuesReserve is what the node's claim takes of each limit beyond the node itself, to meet
// minValues. It is nil for pools without minValues or limits.
func (s *State) MinValuesReserve(n *PlannedNode) []offering.Use {
	pool := s.Offers.PoolTypeOf(n.Offering).Pool
	if !s.Offers.StrictMinValues(pool) || len(s.Offers.LimitsOf(pool)) == 0 {
		return nil
	}
	_, most := s.NeededForMinValues(n)
	own := s.Offers.LimitUse(n.Offering)
	for i := range most {
		most[i].Amount -= offering.UseOf(own, most[i].Limit)
	}
	return most
}
