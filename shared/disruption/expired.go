package disruption

import (
	"fmt"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// ExpireWithinBudgetsAnnotationKey says, on a NodePool, that its nodes do not end when they
// expire but are replaced first, as drifted ones are: within the pool's budgets, and as pods
// and disruption budgets allow. "true" or "false"; its absence is "false", which is
// Karpenter's way.
const ExpireWithinBudgetsAnnotationKey = api.OwnGroup + "/expire-within-budgets"

// ReasonExpired is why a node is replaced that has expired. A budget cannot name it.
const ReasonExpired api.DisruptionReason = "Expired"

// ExpiresWithinBudgets tells whether the pool's expired nodes are replaced first.
func ExpiresWithinBudgets(pool *api.NodePool) bool {
	within, _ := expiresWithinBudgets(pool)
	return within
}

// expiresWithinBudgets takes a value that is neither for "true": it was written to keep
// nodes from ending at once. The error says how to mend it.
func expiresWithinBudgets(pool *api.NodePool) (bool, error) {
	switch value := pool.Annotations[ExpireWithinBudgetsAnnotationKey]; value {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return true, fmt.Errorf("nodepool %q: annotation %s is %q: write \"true\" or \"false\"", pool.Name, ExpireWithinBudgetsAnnotationKey, value)
	}
}

// expiredSince is when the node's time was over, if it is.
func (n *Node) expiredSince(now time.Time) (since time.Time, expired bool) {
	life := n.Claim.Spec.ExpireAfter.Duration
	if life == nil {
		return time.Time{}, false
	}
	since = n.Claim.CreationTimestamp.Add(*life)
	return since, !now.Before(since)
}
