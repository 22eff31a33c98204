package disruption

import (
	"fmt"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/drift"
)

// drifted replaces nodes whose claim differs from its NodePool or EC2NodeClass. Lifecycle marks the
// claim with the condition Drifted: see package drift.
func drifted() policy {
	return policy{reason: api.DisruptionReasonDrifted, wants: driftedSince}
}

// driftedSince is when the claim was marked. The mark proposes the replacement. It must have stood
// for ValidateAfter, and must still hold for the pool and the class. No claim is wanted that has drifted in
// the same way as a replacement of such a claim: the next replacement would drift too, without end.
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
	if !api.ConditionTrue(conditions, api.ConditionTypeDrifted) {
		return since, false, nil
	}
	if vain := s.replacedInVain(node); vain != "" {
		return since, false, fmt.Errorf("nodes with the drift %s stay, because nodeclaim %q was made to replace such a node "+
			"and has drifted in the same way: %s", condition.Reason, vain, condition.Message)
	}
	return since, true, nil
}

// driftsAtOnce is the age at which a claim can have drifted in vain. Later it has drifted for a change of the
// world.
const driftsAtOnce = time.Hour

// replacedInVain returns a claim of the node's pool that has drifted like the node, and was made to end that
// drift, or "".
func (s *Cluster) replacedInVain(node *Node) string {
	sign := drift.Sign(node.Claim)
	if sign == "" {
		return ""
	}
	for i := range s.Nodes {
		other := &s.Nodes[i]
		if other.pool() != node.pool() || drift.Sign(other.Claim) != sign ||
			!slices.Contains(other.Claim.Names(api.ReplacesDriftAnnotationKey), sign) {
			continue
		}
		since := api.GetCondition(other.Claim.Status.Conditions, api.ConditionTypeDrifted).LastTransitionTime
		if since.Sub(other.Claim.CreationTimestamp.Time) < driftsAtOnce {
			return other.Claim.Name
		}
	}
	return ""
}
