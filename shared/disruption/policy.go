package disruption

import (
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/repair"
)

// policy is a reason to replace nodes. Each has a file of its own.
type policy struct {
	reason api.DisruptionReason
	// announced says that AWS ends the instance, or recommends to replace it. Such nodes go in the
	// order in which AWS named them. Of the nodes of other policies, empty ones go first. Pods do
	// not protect those whose claim has a grace period, because their end comes in any case.
	announced bool
	// bounded says that the drain of the node has an end whatever protects its pods, so that pods do
	// not protect the node.
	bounded bool
	// wants tells whether the initialized node is to be replaced, and since when. The error names a
	// setting of the NodePool that cannot be read. It counts whether or not the node is wanted.
	wants func(s *Cluster, node *Node, pool *api.NodePool, now time.Time) (since time.Time, wanted bool, err error)
}

// policies are all reasons to replace nodes, the most urgent first. The first policy that wants a
// node decides. Due are the nodes whose repair is due, and resting the pools that sleep.
func policies(due map[string]repair.UnhealthyCondition, resting map[string]bool) []policy {
	return []policy{unhealthy(due), asleep(resting), scheduledChange(), rebalance(), drifted(), expired()}
}
