package disruption

import (
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// ReasonScheduledChange is the reason for nodes whose end AWS has announced. A budget cannot name
// it. Budgets without reasons apply to it, and budgets with reasons do not.
const ReasonScheduledChange = api.DisruptionReasonScheduledChange

// scheduledChange replaces nodes ahead of a departure that AWS has announced: see departure.go.
func scheduledChange() policy {
	return policy{reason: ReasonScheduledChange, announced: true, wants: departsSoon}
}

func departsSoon(_ *Cluster, node *Node, _ *api.NodePool, now time.Time) (time.Time, bool, error) {
	departure, known := DepartureOf(node.Claim)
	return departure.At, known && departure.replaceable(now), nil
}
