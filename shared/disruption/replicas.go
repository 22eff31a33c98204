package disruption

import (
	"cmp"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// Scaling is what gives a NodePool with a fixed number of nodes that number.
type Scaling struct {
	// Create is how many claims are missing.
	Create int
	// Delete are the nodes that are too many.
	Delete []*Node
}

// Replicas compares the nodes of a pool that has spec.replicas with them; those of
// other pools among the nodes are passed over. Nothing is done for a pool without
// replicas, or one that is being deleted.
//
// Missing ones are made within spec.limits.nodes, which leaving nodes count against:
// they are paid until they are gone. Of those that are too many go first the ones that
// have not been launched, then empty ones, then the ones that cost least to evict from,
// and last those that a person protects. What disruption has chosen already, and is
// about to replace, counts as there and not as too many.
//
// See https://karpenter.sh/docs/concepts/nodepools/#specreplicas.
func Replicas(pool *api.NodePool, nodes []Node, now time.Time) Scaling {
	if pool.Spec.Replicas == nil || pool.DeletionTimestamp != nil {
		return Scaling{}
	}
	var all, chosen int64
	var standing []*Node
	for i := range nodes {
		node := &nodes[i]
		if node.pool() != pool.Name {
			continue
		}
		all++
		switch {
		case node.leaving() || api.ConditionTrue(node.Claim.Status.Conditions, api.ConditionTypeInstanceTerminating):
		case node.chosen():
			chosen++
		default:
			standing = append(standing, node)
		}
	}
	wanted := max(0, *pool.Spec.Replicas)
	if surplus := int64(len(standing)) - wanted; surplus > 0 {
		slices.SortFunc(standing, func(a, b *Node) int {
			return cmp.Or(cmp.Compare(a.surplusRank(now), b.surplusRank(now)), cmp.Compare(a.cost(now), b.cost(now)), cmp.Compare(a.Claim.Name, b.Claim.Name))
		})
		return Scaling{Delete: standing[:surplus]}
	}
	missing := wanted - int64(len(standing)) - chosen
	if limit, limited := pool.Spec.Limits[api.ResourceNodes]; limited {
		missing = min(missing, limit.MilliValue()/1000-all) // half a node is none
	}
	return Scaling{Create: int(max(0, missing))}
}

// surplusRank is which nodes go first when there are too many.
func (n *Node) surplusRank(now time.Time) int {
	switch {
	case n.Claim.Status.ProviderID == "":
		return 0
	case n.protected(now):
		return 3
	case n.empty():
		return 1
	}
	return 2
}

// protected tells whether a person keeps the node, or a pod on it, from being disrupted.
func (n *Node) protected(now time.Time) bool {
	if n.Node != nil && NodeProtected(n.Node, now) {
		return true
	}
	for _, pod := range n.Pods {
		if protectedBy(pod, now) != "" {
			return true
		}
	}
	return false
}
