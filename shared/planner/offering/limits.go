package offering

import (
	"cmp"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/resource"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Limit is one entry of a NodePool's spec.limits.
type Limit struct {
	Name corev1.ResourceName
	// Most is the limit, and Used is what the pool's nodes have of it. Both are in the unit of a
	// resource.Vector.
	Most, Used int64
}

// readLimits fills in the limits of all pools, and what their nodes use of them. A node that leaves
// for certain does not count, so that a pool at its limit can replace it. Limits are therefore exceeded by
// what is leaving at most.
func (ix *Index) readLimits() {
	byName := map[string]*Pool{}
	for _, pool := range ix.Pools {
		byName[pool.Name()] = pool
		for name, quantity := range pool.NodePool.Spec.Limits {
			pool.Limits = append(pool.Limits, Limit{Name: name, Most: resource.AmountDown(name, &quantity)})
		}
		slices.SortFunc(pool.Limits, func(a, b Limit) int { return cmp.Compare(a.Name, b.Name) })
	}
	for i := range ix.Work.Snapshot.Nodes {
		node := &ix.Work.Snapshot.Nodes[i]
		pool := byName[node.Pool()]
		if pool == nil || len(pool.Limits) == 0 || !scheduling.CountsAgainstLimits(node.NodeClaim, node.Node) {
			continue
		}
		for j, amount := range pool.limitUse(ix.capacityOf(node)) {
			pool.Limits[j].Used += amount
		}
	}
}

// limitUse is what a node of this capacity takes of the pool's limits, in the order of Pool.Limits.
func (p *Pool) limitUse(capacity corev1.ResourceList) []int64 {
	if len(p.Limits) == 0 {
		return nil
	}
	use := make([]int64, len(p.Limits))
	for i, l := range p.Limits {
		if l.Name == api.ResourceNodes {
			use[i] = 1
		} else if quantity, ok := capacity[l.Name]; ok {
			use[i] = resource.AmountUp(l.Name, &quantity)
		}
	}
	return use
}

// LimitsLeft is what the pool may still use of each limit, in the order of Pool.Limits. An amount
// is negative if the pool's nodes exceed the limit already.
func (p *Pool) LimitsLeft() []int64 {
	left := make([]int64, len(p.Limits))
	for i, l := range p.Limits {
		left[i] = l.Most - l.Used
	}
	return left
}

// limitSizes orders the pool's offerings by what a node takes of each limit.
func (ix *Index) limitSizes(pool *Pool) []sizes {
	if pool.limitSizes == nil {
		pool.limitSizes = make([]sizes, len(pool.Limits))
		for i := range pool.Limits {
			types := ix.PoolTypes[pool.FirstType:pool.EndType]
			pool.limitSizes[i] = ix.sizesOf(types, func(t *PoolType) int64 { return t.LimitUse[i] })
		}
	}
	return pool.limitSizes
}

// LeastLimitUse is the least that a node of one of the pool's offerings takes of its limit i.
func (ix *Index) LeastLimitUse(pool *Pool, i int, offerings dense.Set) int64 {
	return ix.limitSizes(pool)[i].least(offerings)
}

// KeepWithin removes the pool's offerings from the set of which a node takes more of a limit than is
// left. The amounts left are in the order of Pool.Limits.
func (ix *Index) KeepWithin(set dense.Set, pool *Pool, left []int64) {
	exceeding := ix.Feasibilities.ScratchSet
	for i, amount := range left {
		copy(exceeding, pool.Offerings)
		ix.limitSizes(pool)[i].KeepAtLeast(exceeding, amount+1)
		set.Without(exceeding)
	}
}

// ByLimitShare are the pool's offerings, ordered by the greatest part of any limit that one takes.
// Offerings that take equal parts are in order of price.
func (ix *Index) ByLimitShare(pool *Pool) []int {
	if pool.byLimitShare != nil {
		return pool.byLimitShare
	}
	offerings := slices.Collect(pool.Offerings.All())
	if len(pool.Limits) > 0 {
		shares := make(map[int]float64, len(offerings))
		for _, j := range offerings {
			for i, use := range ix.PoolTypeOf(j).LimitUse {
				shares[j] = max(shares[j], float64(use)/float64(max(pool.Limits[i].Most, 1)))
			}
		}
		slices.SortFunc(offerings, func(a, b int) int {
			return cmp.Or(cmp.Compare(shares[a], shares[b]), cmp.Compare(a, b))
		})
	}
	pool.byLimitShare = offerings
	return offerings
}
