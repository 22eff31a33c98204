package disruption

import (
	"fmt"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// ExpireWithinBudgetsAnnotationKey says, on a NodePool, that expired nodes are replaced like
// drifted ones: within the pool's budgets, and as pods and PodDisruptionBudgets allow. "true" or
// "false". Without it expired nodes end at once, as in Karpenter.
const ExpireWithinBudgetsAnnotationKey = api.ExpireWithinBudgetsAnnotationKey

// ReasonExpired is why an expired node is replaced. A budget cannot name it.
const ReasonExpired api.DisruptionReason = "Expired"

// expired replaces expired nodes of pools that ask for it. Lifecycle ends those of other pools.
func expired() policy {
	return policy{reason: ReasonExpired, wants: expiredSince}
}

// expiredSince is the time at which the node expired, if it did.
func expiredSince(_ *Cluster, node *Node, pool *api.NodePool, now time.Time) (time.Time, bool, error) {
	life := node.Claim.Spec.ExpireAfter.Duration
	if life == nil {
		return time.Time{}, false, nil
	}
	since := node.Claim.CreationTimestamp.Add(*life)
	if now.Before(since) {
		return since, false, nil
	}
	within, err := expiresWithinBudgets(pool)
	return since, within, err
}

// ExpiresWithinBudgets tells whether the pool's expired nodes are replaced before they end.
func ExpiresWithinBudgets(pool *api.NodePool) bool {
	within, _ := expiresWithinBudgets(pool)
	return within
}

// expiresWithinBudgets reads an unknown value as "true": it was written to keep nodes from ending
// at once. The error says how to mend it.
func expiresWithinBudgets(pool *api.NodePool) (bool, error) {
	switch value := pool.Annotations[ExpireWithinBudgetsAnnotationKey]; value {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return true, fmt.Errorf("nodepool %q: annotation %s is %q: write \"true\" or \"false\"",
			pool.Name, ExpireWithinBudgetsAnnotationKey, value)
	}
}
