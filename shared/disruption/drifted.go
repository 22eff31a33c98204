package disruption

import (
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// drifted replaces nodes whose claim differs from its NodePool or EC2NodeClass. Lifecycle marks the
// claim with the condition Drifted: see package drift.
func drifted() policy {
	return policy{reason: api.DisruptionReasonDrifted, wants: driftedSince}
}

// driftedSince is when the claim was marked. The mark proposes the replacement. It must have stood
// for ValidateAfter, and must still hold for the pool and the class.
func driftedSince(s *Cluster, node *Node, _ *api.NodePool, now time.Time) (time.Time, bool, error) {
	conditions := slices.Clone(node.Claim.Status.Conditions)
	condition := api.GetCondition(conditions, api.ConditionTypeDrifted)
	if condition == nil || condition.Status != "True" {
		return time.Time{}, false, nil
	}
	since := condition.LastTransitionTime.Time
	if now.Sub(since) < ValidateAfter {
		return since, false, nil
	}
	if origin := s.Origins[node.pool()]; origin != nil {
		origin.SetDrifted(node.Claim, &conditions, nil, now)
	}
	return since, api.ConditionTrue(conditions, api.ConditionTypeDrifted), nil
}
