package disruption

import (
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// policy is a reason to replace nodes. Each has a file of its own.
type policy struct {
	reason api.DisruptionReason
	// announced says that AWS ends the instance, or recommends to replace it. Such nodes go in the
	// order in which AWS named them. Nodes of other policies go empty ones first, and pods do not
	// keep them where the claim has a grace period: their end comes in any case.
	announced bool
	// wants tells whether the initialized node is to be replaced, and since when. The error names a
	// setting of the NodePool that cannot be read. It counts whether or not the node is wanted.
	wants func(s *Snapshot, node *Node, pool *api.NodePool, now time.Time) (since time.Time, wanted bool, err error)
}

// policies are all reasons to replace nodes, the most urgent first. A node has the first that wants
// it.
func policies() []policy {
	return []policy{scheduledChange(), rebalance(), drifted(), expired()}
}
