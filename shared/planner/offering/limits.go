package offering

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/resource"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// Limit is one entry of a pool's spec.limits.
type Limit struct {
	Name corev1.ResourceName
	// Most is the limit, used what the pool's nodes have of it, both in a vector's unit.
	Most, Used int64
}

// readLimits fills in the limits of all pools, and what their nodes use: the capacity of each,
// leaving ones too, since they are paid until they are gone.
func (ix *Index) readLimits() {
	byName := map[string]*Pool{}
	for _, pool := range ix.Pools {
		byName[pool.Name()] = pool
		for name, quantity := range pool.NodePool.Spec.Limits {
			pool.Limits = append(pool.Limits, Limit{Name: name, Most: resource.AmountDown(name, &quantity)})
		}
		slices.SortFunc(pool.Limits, func(a, b Limit) int {
			if a.Name < b.Name {
				return -1
			}
			return 1
		})
	}
	for i := range ix.Work.Snapshot.Nodes {
		node := &ix.Work.Snapshot.Nodes[i]
		pool := byName[node.Label(api.NodePoolLabelKey)]
		if pool == nil || len(pool.Limits) == 0 {
			continue
		}
		for j, amount := range pool.limitUse(ix.capacityOf(node)) {
			pool.Limits[j].Used += amount
		}
	}
}

// limitUse is what a node of this capacity takes of the pool's limits, in their order.
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

// LimitsLeft is what the pool may still have of each limit; negative where it has too much already.
func (p *Pool) LimitsLeft() []int64 {
	left := make([]int64, len(p.Limits))
	for i, l := range p.Limits {
		left[i] = l.Most - l.Used
	}
	return left
}
