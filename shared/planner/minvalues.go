package planner

import (
	"cmp"
	"slices"
)

// A pool's minValues demand that a node's claim keeps several types. The claim counts against the pool's limits with the greatest of them, so a node in a pool that has
// both takes more of the limits than its own type: as much as the smallest list of types does that meets minValues.

// strict reports whether nodes of the pool have to meet minValues.
func (p *problem) strict(pool *pool) bool { return len(pool.minValues) > 0 && !p.bestEffort() }

// needed are the columns of a list that meets the pool's minValues for the node, the smallest in terms of the pool's limits that is easily found, and what the
// greatest of them takes of the limits. It is nil if there is none.
func (p *problem) needed(n *node) ([]int, []int64) {
	pool := p.configOf(n.column).pool
	set, reservation := p.standInSet(n).clone(), p.columns[n.column].reservation
	values := map[string]map[string]bool{}
	for key := range pool.minValues {
		values[key] = map[string]bool{}
	}
	var list []int
	order := p.byShare(pool)
	for at := -1; at < len(order); at++ {
		j := n.column // the node's own comes first
		if at >= 0 {
			if j = order[at]; j == n.column {
				continue
			}
		}
		if !set.has(j) || p.columns[j].reservation != reservation {
			continue
		}
		brings, met := false, true
		for key, least := range pool.minValues {
			wanted := len(values[key]) < least
			for _, value := range p.valuesOf(pool, j, key) {
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
		if kept := p.closed(n, list); p.meetsMinValues(pool, slices.Values(kept)) {
			most := slices.Clone(p.configOf(n.column).use)
			for _, j := range kept {
				for i, use := range p.configOf(j).use {
					most[i] = max(most[i], use)
				}
			}
			return kept, most
		}
	}
	return nil, nil
}

// byShare are the pool's columns by the greatest part of a limit that one takes.
func (p *problem) byShare(pool *pool) []int {
	if pool.byShare != nil {
		return pool.byShare
	}
	columns := slices.Collect(pool.columns.all())
	if len(pool.limits) > 0 {
		shares := make(map[int]float64, len(columns))
		for _, j := range columns {
			for i, use := range p.configOf(j).use {
				shares[j] = max(shares[j], float64(use)/float64(max(pool.limits[i].most, 1)))
			}
		}
		slices.SortFunc(columns, func(a, b int) int { return cmp.Or(cmp.Compare(shares[a], shares[b]), cmp.Compare(a, b)) })
	}
	pool.byShare = columns
	return columns
}

// acceptable reports whether enough instance types could stand in for the node to meet the pool's minValues, within its limits.
func (p *problem) acceptable(n *node) bool {
	pool := p.configOf(n.column).pool
	if !p.strict(pool) {
		return true
	}
	columns, most := p.needed(n)
	return columns != nil && withinLeft(most, pool.left())
}

// acceptableAmong reports whether the node is acceptable beside the others, in the place of one of them if instead is not nil.
func (p *problem) acceptableAmong(others []*node, n, instead *node) bool {
	pool := p.configOf(n.column).pool
	if !p.acceptable(n) || !p.strict(pool) || len(pool.limits) == 0 {
		return p.acceptable(n)
	}
	left := pool.left()
	for _, other := range append([]*node{n}, others...) {
		if other == instead || p.configOf(other.column).pool != pool {
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

// trim drops the nodes planned since first for which the limits do not leave enough for a list of types that meets minValues.
func (k *packer) trim(first int) {
	p := k.p
	left := map[*pool][]int64{}
	kept := k.nodes[:0]
	for at, n := range k.nodes {
		pool := p.configOf(n.column).pool
		if !p.strict(pool) || len(pool.limits) == 0 {
			kept = append(kept, n)
			continue
		}
		if left[pool] == nil {
			left[pool] = pool.left()
		}
		_, most := p.needed(n)
		if at >= first && (most == nil || !withinLeft(most, left[pool])) {
			k.unfill(n)
			k.take(n.column, -1)
			continue
		}
		for i := range most {
			left[pool][i] -= most[i]
		}
		kept = append(kept, n)
	}
	k.nodes = kept
}

// reserve is what the node needs of the limits beyond its own use, for its claim to meet minValues; nil if nothing.
func (p *problem) reserve(n *node) []int64 {
	own := p.configOf(n.column)
	if !p.strict(own.pool) || len(own.pool.limits) == 0 {
		return nil
	}
	_, most := p.needed(n)
	for i := range most {
		most[i] -= own.use[i]
	}
	return most
}
