package planner

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// limit is one entry of a pool's spec.limits.
type limit struct {
	name corev1.ResourceName
	// most is the limit, used what the pool's nodes have of it, both in a vector's unit.
	most, used int64
}

// readLimits fills in the limits of all pools, and what their nodes use: the capacity of each, leaving ones too, since they are paid until they are gone.
func (p *offerings) readLimits() {
	byName := map[string]*pool{}
	for _, pool := range p.pools {
		byName[pool.name()] = pool
		for name, quantity := range pool.api.Spec.Limits {
			pool.limits = append(pool.limits, limit{name: name, most: amountDown(name, &quantity)})
		}
		slices.SortFunc(pool.limits, func(a, b limit) int {
			if a.name < b.name {
				return -1
			}
			return 1
		})
	}
	for i := range p.work.snapshot.Nodes {
		node := &p.work.snapshot.Nodes[i]
		pool := byName[node.Label(api.NodePoolLabelKey)]
		if pool == nil || len(pool.limits) == 0 {
			continue
		}
		for j, amount := range pool.use(p.capacityOf(node)) {
			pool.limits[j].used += amount
		}
	}
}

// use is what a node of this capacity takes of the pool's limits, in their order.
func (p *pool) use(capacity corev1.ResourceList) []int64 {
	if len(p.limits) == 0 {
		return nil
	}
	use := make([]int64, len(p.limits))
	for i, l := range p.limits {
		if l.name == api.ResourceNodes {
			use[i] = 1
		} else if quantity, ok := capacity[l.name]; ok {
			use[i] = amountUp(l.name, &quantity)
		}
	}
	return use
}

// left is what the pool may still have of each limit; negative where it has too much already.
func (p *pool) left() []int64 {
	left := make([]int64, len(p.limits))
	for i, l := range p.limits {
		left[i] = l.most - l.used
	}
	return left
}
