package disruption

import (
	"fmt"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// RebalancePolicyAnnotationKey sets, on a NodePool, the reaction to EC2's rebalance recommendations
// for its spot nodes: RebalanceReplace, which is the default, or RebalanceIgnore.
//
// Replace is the default because nothing is deleted before its replacement is ready. It evicts no
// pod that could not be evicted otherwise. The pool's budgets bound the cost. The gain is the time
// of a boot, beside the two minutes of an interruption. If the pods of a pool lose hours of work by
// a move, choose Ignore, or karpenter.sh/do-not-disrupt on the pods.
const RebalancePolicyAnnotationKey = api.RebalancePolicyAnnotationKey

// Values of RebalancePolicyAnnotationKey.
const (
	RebalanceReplace = api.RebalanceReplace
	RebalanceIgnore  = api.RebalanceIgnore
)

// ReasonRebalance is the reason for nodes that EC2 recommends to replace. A budget cannot name it.
const ReasonRebalance = api.DisruptionReasonRebalance

const (
	// recommendedFor is how long a recommendation counts. EC2 repeats it as long as it holds.
	recommendedFor = time.Hour
	// rebalanceAge is how long a node stays after it was initialized. Its offering may be no better
	// than that of the node before it, so that nodes would be replaced again and again.
	rebalanceAge = 10 * time.Minute
)

// rebalance replaces spot nodes that EC2 recommends to replace.
func rebalance() policy {
	return policy{reason: ReasonRebalance, announced: true, wants: recommended}
}

func recommended(_ *Cluster, node *Node, pool *api.NodePool, now time.Time) (time.Time, bool, error) {
	at, stands := recommendedAt(node.Claim, now)
	isSpot := node.Claim.Labels[api.CapacityTypeLabelKey] == api.CapacityTypeSpot
	if !stands || !isSpot || now.Sub(node.initializedAt()) < rebalanceAge {
		return at, false, nil
	}
	replaces, err := replacesRecommended(pool)
	return at, replaces, err
}

// recommendedAt is when EC2 recommended to replace the node, if that still counts.
func recommendedAt(claim *api.NodeClaim, now time.Time) (at time.Time, stands bool) {
	at, err := time.Parse(time.RFC3339, claim.Annotations[RebalanceRecommendedAnnotationKey])
	return at, err == nil && now.Sub(at) < recommendedFor
}

// replacesRecommended tells whether the pool replaces nodes that EC2 recommends to replace. An
// unknown value ignores recommendations, because it may have been written to stop something. The
// error says how to mend it.
func replacesRecommended(pool *api.NodePool) (bool, error) {
	switch policy := pool.Annotations[RebalancePolicyAnnotationKey]; policy {
	case "", RebalanceReplace:
		return true, nil
	case RebalanceIgnore:
		return false, nil
	default:
		return false, fmt.Errorf("nodepool %q: annotation %s is %q: write %s or %s",
			pool.Name, RebalancePolicyAnnotationKey, policy, RebalanceReplace, RebalanceIgnore)
	}
}
