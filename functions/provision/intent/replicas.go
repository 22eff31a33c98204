package intent

import (
	"fmt"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/plan"
)

// StaticPools are the pools with spec.replicas, with their defaults.
func StaticPools(pools []api.NodePool) []api.NodePool {
	var static []api.NodePool
	for _, pool := range pools {
		if pool.Spec.Replicas != nil {
			pool.Default()
			static = append(static, pool)
		}
	}
	return static
}

// KeepsReplicas returns whether Whittle keeps the pool's number of nodes.
func KeepsReplicas(pool *api.NodePool) bool {
	return pool.Spec.Replicas != nil && pool.DeletionTimestamp == nil &&
		pool.Spec.Template.Spec.NodeClassRef.IsEC2NodeClass()
}

// ReplicasOff returns whether one of the pools has more or fewer claims than spec.replicas, or a
// claim that is not launched.
func ReplicasOff(pools []api.NodePool, claims []api.NodeClaim, now time.Time) bool {
	for i := range pools {
		pool := &pools[i]
		if !KeepsReplicas(pool) {
			continue
		}
		var nodes []disruption.Node
		for j := range claims {
			claim := &claims[j]
			if claim.Labels[api.NodePoolLabelKey] != pool.Name {
				continue
			}
			if claim.Status.ProviderID == "" && claim.DeletionTimestamp == nil {
				return true
			}
			nodes = append(nodes, disruption.Node{Claim: claim})
		}
		if scaling := disruption.Replicas(pool, nodes, false, now); scaling.Create > 0 || len(scaling.Delete) > 0 {
			return true
		}
	}
	return false
}

// HasSurplus returns whether one of the pools has claims beyond spec.replicas.
func HasSurplus(pools []api.NodePool, snapshot *plan.Snapshot, now time.Time) bool {
	for i := range pools {
		if len(Surplus(&pools[i], nodesOf(snapshot, pools[i].Name), snapshot.ManagedDeletionCosts, now)) > 0 {
			return true
		}
	}
	return false
}

// Surplus are the claims that the pool has beyond spec.replicas, in the order of their deletion. The
// nodes may be those of all pools. managedCosts is as for disruption.Replicas.
func Surplus(pool *api.NodePool, nodes []disruption.Node, managedCosts bool, now time.Time) []*api.NodeClaim {
	var claims []*api.NodeClaim
	for _, node := range disruption.Replicas(pool, nodes, managedCosts, now).Delete {
		claims = append(claims, node.Claim)
	}
	return claims
}

// Missing returns claims for the nodes that the pool lacks. Their number is count. The error says
// why there are none: none of the pool's offerings is available, so that every claim would be
// given up again. A pool whose class is not ready has no types, and gets neither claims nor an
// error, because an event on the pool says why.
func Missing(
	pool *api.NodePool, snapshot *plan.Snapshot, now time.Time,
) (claims []api.NodeClaim, count int, err error) {
	// The snapshot's pool may have a lower limit, while its nodes do not join.
	for i := range snapshot.NodePools {
		if snapshot.NodePools[i].Name == pool.Name {
			pool = &snapshot.NodePools[i]
		}
	}
	count = disruption.Replicas(pool, nodesOf(snapshot, pool.Name), snapshot.ManagedDeletionCosts, now).Create
	types, usable := snapshot.InstanceTypes[pool.Name]
	if count == 0 || !usable {
		return nil, count, nil
	}
	claim, requirements, err := disruption.Replica(pool)
	if err != nil {
		return nil, count, err
	}
	if _, _, found := catalog.Cheapest(types, launch.OfType(requirements)); !found {
		return nil, count, fmt.Errorf("no offering is available for %d missing nodes: %s", count, requirements)
	}
	claims = make([]api.NodeClaim, count)
	for i := range claims {
		claims[i] = *claim.DeepCopy()
	}
	return claims, count, nil
}

// nodesOf are the pool's claims with their nodes and pods.
func nodesOf(snapshot *plan.Snapshot, pool string) []disruption.Node {
	var nodes []disruption.Node
	for i := range snapshot.Nodes {
		joined := &snapshot.Nodes[i]
		if joined.NodeClaim == nil || joined.NodeClaim.Labels[api.NodePoolLabelKey] != pool {
			continue
		}
		node := disruption.Node{Claim: joined.NodeClaim, Node: joined.Node}
		for j := range joined.Pods {
			node.Pods = append(node.Pods, &joined.Pods[j])
		}
		nodes = append(nodes, node)
	}
	return nodes
}
