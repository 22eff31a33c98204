package placement

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/offering"
)

// A NodePool with minValues demands that a node's claim allows several values, such as several
// instance types. The claim counts against the pool's limits with the largest of them. So in a pool
// with limits, a node takes as much as the largest type of the smallest list that meets minValues.

// NeededForMinValues is a list of offerings that meets the pool's minValues for the node, with the
// node's own offering. It also returns the most that one of them takes of each limit. The search is
// greedy, smallest offerings first. Both results are nil if it finds no list.
func (s *State) NeededForMinValues(n *PlannedNode) ([]int, []int64) {
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
			return kept, s.mostLimitUse(n.Offering, kept)
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

// mostLimitUse is the most that offering own or one of the offerings takes of each limit.
func (s *State) mostLimitUse(own int, offerings []int) []int64 {
	most := slices.Clone(s.Offers.PoolTypeOf(own).LimitUse)
	for _, j := range offerings {
		for i, use := range s.Offers.PoolTypeOf(j).LimitUse {
			most[i] = max(most[i], use)
		}
	}
	return most
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
	return offerings != nil && WithinLimits(most, pool.LimitsLeft())
}

// CanMeetMinValuesAmong is CanMeetMinValues within what the other nodes leave of the limits, too.
// The node takes the place of one of the others, unless instead is nil.
func (s *State) CanMeetMinValuesAmong(others []*PlannedNode, n, instead *PlannedNode) bool {
	pool := s.Offers.PoolTypeOf(n.Offering).Pool
	if !s.CanMeetMinValues(n) || !s.Offers.StrictMinValues(pool) || len(pool.Limits) == 0 {
		return s.CanMeetMinValues(n)
	}
	left := pool.LimitsLeft()
	for _, other := range append([]*PlannedNode{n}, others...) {
		if other == instead || s.Offers.PoolTypeOf(other.Offering).Pool.NodePool != pool.NodePool {
			continue
		}
		if _, most := s.NeededForMinValues(other); most != nil {
			for i := range left {
				left[i] -= most[i]
			}
		}
	}
	return WithinLimits(nil, left)
}

// WithinLimits reports whether nothing left is negative, and use takes no more than is left. A nil
// use takes nothing.
func WithinLimits(use, left []int64) bool {
	for i := range left {
		if left[i] < 0 || use != nil && use[i] > left[i] {
			return false
		}
	}
	return true
}

// MinValuesReserve is what the node's claim takes of each limit beyond the node itself, to meet
// minValues. It is nil for pools without minValues or limits.
func (s *State) MinValuesReserve(n *PlannedNode) []int64 {
	own := s.Offers.PoolTypeOf(n.Offering)
	if !s.Offers.StrictMinValues(own.Pool) || len(own.Pool.Limits) == 0 {
		return nil
	}
	_, most := s.NeededForMinValues(n)
	for i := range most {
		most[i] -= own.LimitUse[i]
	}
	return most
}
