package disruption

import (
	"fmt"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// RebalancePolicyAnnotationKey is, on a NodePool, what EC2's rebalance recommendations
// do to its spot nodes: RebalanceReplace, which is also what its absence means, or
// RebalanceIgnore.
//
// Replace is the default because nothing is taken away before its replacement is ready
// elsewhere, and no pod goes that could not be evicted otherwise: what it costs is bounded
// by the pool's budgets, and what it gains is the difference between two minutes and as
// long as a boot takes. A pool whose pods lose hours of work when they move wants Ignore,
// or karpenter.sh/do-not-disrupt on them.
const RebalancePolicyAnnotationKey = api.OwnGroup + "/rebalance-policy"

// Values of RebalancePolicyAnnotationKey.
const (
	RebalanceReplace = "Replace"
	RebalanceIgnore  = "Ignore"
)

// Reasons of DisruptionReason beside Karpenter's. A budget cannot name them: one that
// names reasons is not about them, one that names none is.
const (
	ReasonRebalance       api.DisruptionReason = "Rebalance"
	ReasonScheduledChange api.DisruptionReason = "ScheduledChange"
)

const (
	// recommendedFor is how long a recommendation counts. EC2 repeats it as long as it
	// holds; what it said an hour ago says little about the offering now.
	recommendedFor = time.Hour
	// rebalanceAge is how long a node is left alone once it is initialized: a node that
	// came for another may be in no better an offering, and so would go round and round.
	rebalanceAge = 10 * time.Minute
)

// recommendedAt is when EC2 recommended to replace the node, if that still counts.
func recommendedAt(claim *api.NodeClaim, now time.Time) (at time.Time, standing bool) {
	at, err := time.Parse(time.RFC3339, claim.Annotations[RebalanceRecommendedAnnotationKey])
	return at, err == nil && now.Sub(at) < recommendedFor
}

// rebalanceOf is the same for a spot node that is old enough to follow.
func rebalanceOf(node *Node, now time.Time) (at time.Time, standing bool) {
	at, standing = recommendedAt(node.Claim, now)
	initialized := api.GetCondition(node.Claim.Status.Conditions, api.ConditionTypeInitialized)
	return at, standing && node.Claim.Labels[api.CapacityTypeLabelKey] == api.CapacityTypeSpot && now.Sub(initialized.LastTransitionTime.Time) >= rebalanceAge
}

// rebalances tells whether the pool replaces nodes that EC2 recommends to replace. A value
// that is none ignores: it may have been written to stop something. The error says how to
// mend it.
func rebalances(pool *api.NodePool) (bool, error) {
	switch policy := pool.Annotations[RebalancePolicyAnnotationKey]; policy {
	case "", RebalanceReplace:
		return true, nil
	case RebalanceIgnore:
		return false, nil
	default:
		return false, fmt.Errorf("nodepool %q: annotation %s is %q: write %s or %s", pool.Name, RebalancePolicyAnnotationKey, policy, RebalanceReplace, RebalanceIgnore)
	}
}
