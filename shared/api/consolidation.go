package api

import "time"

// RefusesConsolidation returns why consolidation leaves nodes of the pool alone, as the end of a
// sentence about the pool. It is empty where consolidation may take them. Whether the nodes are
// empty decides with the policy WhenEmpty. Every part of Whittle asks here, and none reads the fields.
//
// See https://karpenter.sh/docs/concepts/nodepools/#specdisruption.
func (p *NodePool) RefusesConsolidation(empty bool) string {
	switch {
	case p.Spec.Replicas != nil:
		return "has a fixed number of nodes (spec.replicas)"
	case p.Spec.Disruption.ConsolidateAfter.IsNever():
		return "says consolidateAfter: Never"
	case !empty && p.Spec.Disruption.ConsolidationPolicy == ConsolidationPolicyWhenEmpty:
		return "says consolidationPolicy: WhenEmpty, and it is not empty"
	}
	return ""
}

// ConsolidatesEmpty reports whether the pool wants its empty nodes removed.
func (p *NodePool) ConsolidatesEmpty() bool { return p.RefusesConsolidation(true) == "" }

// ConsolidatesUnderutilized reports whether the pool wants more than its empty nodes removed.
func (p *NodePool) ConsolidatesUnderutilized() bool { return p.RefusesConsolidation(false) == "" }

// QuietTime returns the time without a pod added or removed after which a node of the pool may be
// consolidated. It is 0 where consolidateAfter is unset or Never.
func (p *NodePool) QuietTime() time.Duration {
	if after := p.Spec.Disruption.ConsolidateAfter.Duration; after != nil {
		return *after
	}
	return 0
}

// WeighsDisturbance reports whether savings must outweigh the disturbance of pods, as the policy
// Balanced asks.
func (p *NodePool) WeighsDisturbance() bool {
	return p.Spec.Disruption.ConsolidationPolicy == ConsolidationPolicyBalanced
}
