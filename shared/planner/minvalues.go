package planner

import (
	"slices"
)

// A pool's minValues demand that a node's claim keeps several types. The claim counts against the pool's limits with the greatest of them, so a node in a pool that has
// both takes more of the limits than its own type: as much as the smallest list of types does that meets minValues.

// needed are the columns of a list that meets the pool's minValues for the node, the smallest in terms of the pool's limits that is easily found, and what the
// greatest of them takes of the limits. It is nil if there is none.
func (p *placements) needed(n *node) ([]int, []int64) {
	pool := p.offers.configOf(n.column).pool
	set, reservation := p.standInSet(n).clone(), p.offers.columns[n.column].reservation
	values := map[string]map[string]bool{}
	for key := range pool.minValues {
		values[key] = map[string]bool{}
	}
	var list []int
	order := p.offers.byShare(pool)
	for at := -1; at < len(order); at++ {
		j := n.column // the node's own comes first
		if at >= 0 {
			if j = order[at]; j == n.column {
				continue
			}
		}
		if !set.has(j) || p.offers.columns[j].reservation != reservation {
			continue
		}
		brings, met := false, true
		for key, least := range pool.minValues {
			wanted := len(values[key]) < least
			for _, value := range p.offers.valuesOf(pool, j, key) {
				if !values[key][value] {
					values[key][value] = true
					brings = true
				}
			}
			met = met && (!wanted || len(values[key]) >= least)
		}
		if !brings && len(list) > 0 {
			continue
		}
		if list = append(list, j); !met {
			continue
		}
		slices.Sort(list)
		if kept := p.closed(n, list); p.offers.meetsMinValues(pool, slices.Values(kept)) {
			most := slices.Clone(p.offers.configOf(n.column).use)
			for _, j := range kept {
				for i, use := range p.offers.configOf(j).use {
					most[i] = max(most[i], use)
				}
			}
			return kept, most
		}
	}
	return nil, nil
}

// acceptable reports whether enough instance types could stand in for the node to meet the pool's minValues, within its limits.
func (p *placements) acceptable(n *node) bool {
	pool := p.offers.configOf(n.column).pool
	if !p.offers.strict(pool) {
		return true
	}
	columns, most := p.needed(n)
	return columns != nil && withinLeft(most, pool.left())
}

// acceptableAmong reports whether the node is acceptable beside the others, in the place of one of them if instead is not nil.
func (p *placements) acceptableAmong(others []*node, n, instead *node) bool {
	pool := p.offers.configOf(n.column).pool
	if !p.acceptable(n) || !p.offers.strict(pool) || len(pool.limits) == 0 {
		return p.acceptable(n)
	}
	left := pool.left()
	for _, other := range append([]*node{n}, others...) {
		if other == instead || p.offers.configOf(other.column).pool != pool {
			continue
		}
		if _, most := p.needed(other); most != nil {
			for i := range left {
				left[i] -= most[i]
			}
		}
	}
	return withinLeft(nil, left)
}

// withinLeft reports whether no more is used of any limit than is left, and none is exceeded.
func withinLeft(use, left []int64) bool {
	for i := range left {
		if left[i] < 0 || use != nil && use[i] > left[i] {
			return false
		}
	}
	return true
}

// reserve is what the node needs of the limits beyond its own use, for its claim to meet minValues; nil if nothing.
func (p *placements) reserve(n *node) []int64 {
	own := p.offers.configOf(n.column)
	if !p.offers.strict(own.pool) || len(own.pool.limits) == 0 {
		return nil
	}
	_, most := p.needed(n)
	for i := range most {
		most[i] -= own.use[i]
	}
	return most
}
