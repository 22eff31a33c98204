package placement

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/offering"
)

// A pool's minValues demand that a node's claim keeps several types. The claim counts against the
// pool's limits with the greatest of them, so a node in a pool that has both takes more of the
// limits than its own type: as much as the smallest list of types does that meets minValues.

// NeededForMinValues are the offerings of a list that meets the pool's minValues for the node, the
// smallest in terms of the pool's limits that is easily found, and what the greatest of them takes
// of the limits. It is nil if there is none.
func (p *State) NeededForMinValues(n *PlannedNode) ([]int, []int64) {
	pool := p.Offers.PoolTypeOf(n.Offering).Pool
	set, reservation := p.AlternativesFor(n).Clone(), p.Offers.Offerings[n.Offering].Reservation
	values := map[string]map[string]bool{}
	for key := range pool.MinValues {
		values[key] = map[string]bool{}
	}
	var list []int
	order := p.Offers.ByLimitShare(pool)
	for at := -1; at < len(order); at++ {
		j := n.Offering // the node's own comes first
		if at >= 0 {
			if j = order[at]; j == n.Offering {
				continue
			}
		}
		if !set.Has(j) || p.Offers.Offerings[j].Reservation != reservation {
			continue
		}
		brings, met := p.collectValues(pool, j, values)
		if !brings && len(list) > 0 {
			continue
		}
		if list = append(list, j); !met {
			continue
		}
		slices.Sort(list)
		if kept := p.expressible(n, list); p.Offers.MeetsMinValues(pool, slices.Values(kept)) {
			return kept, p.mostLimitUse(n.Offering, kept)
		}
	}
	return nil, nil
}

// collectValues adds the offering's values of the labels with minValues. It reports whether any was
// new, and whether the labels that lacked values have enough now.
func (p *State) collectValues(pool *offering.Pool, j int, values map[string]map[string]bool) (brings, met bool) {
	met = true
	for key, least := range pool.MinValues {
		wanted := len(values[key]) < least
		for _, value := range p.Offers.ValuesOf(pool, j, key) {
			if !values[key][value] {
				values[key][value] = true
				brings = true
			}
		}
		met = met && (!wanted || len(values[key]) >= least)
	}
	return brings, met
}

// mostLimitUse is the most that any of the offerings takes of each limit.
func (p *State) mostLimitUse(own int, offerings []int) []int64 {
	most := slices.Clone(p.Offers.PoolTypeOf(own).LimitUse)
	for _, j := range offerings {
		for i, use := range p.Offers.PoolTypeOf(j).LimitUse {
			most[i] = max(most[i], use)
		}
	}
	return most
}

// CanMeetMinValues reports whether enough instance types could replace the node to meet the pool's
// minValues, within its limits.
func (p *State) CanMeetMinValues(n *PlannedNode) bool {
	pool := p.Offers.PoolTypeOf(n.Offering).Pool
	if !p.Offers.StrictMinValues(pool) {
		return true
	}
	columns, most := p.NeededForMinValues(n)
	return columns != nil && WithinLimits(most, pool.LimitsLeft())
}

// CanMeetMinValuesAmong reports whether the node is acceptable beside the others, in the place of one of
// them if instead is not nil.
func (p *State) CanMeetMinValuesAmong(others []*PlannedNode, n, instead *PlannedNode) bool {
	pool := p.Offers.PoolTypeOf(n.Offering).Pool
	if !p.CanMeetMinValues(n) || !p.Offers.StrictMinValues(pool) || len(pool.Limits) == 0 {
		return p.CanMeetMinValues(n)
	}
	left := pool.LimitsLeft()
	for _, other := range append([]*PlannedNode{n}, others...) {
		if other == instead || p.Offers.PoolTypeOf(other.Offering).Pool != pool {
			continue
		}
		if _, most := p.NeededForMinValues(other); most != nil {
			for i := range left {
				left[i] -= most[i]
			}
		}
	}
	return WithinLimits(nil, left)
}

// WithinLimits reports whether no more is used of any limit than is left, and none is exceeded.
func WithinLimits(use, left []int64) bool {
	for i := range left {
		if left[i] < 0 || use != nil && use[i] > left[i] {
			return false
		}
	}
	return true
}

// MinValuesReserve is what the node needs of the limits beyond its own use, for its claim to meet
// minValues; nil if nothing.
func (p *State) MinValuesReserve(n *PlannedNode) []int64 {
	own := p.Offers.PoolTypeOf(n.Offering)
	if !p.Offers.StrictMinValues(own.Pool) || len(own.Pool.Limits) == 0 {
		return nil
	}
	_, most := p.NeededForMinValues(n)
	for i := range most {
		most[i] -= own.LimitUse[i]
	}
	return most
}
