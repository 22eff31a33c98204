package disruption

import (
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/disruption/repair"
)

// unhealthy replaces nodes with an unhealthy condition: see package repair. It works within the
// budgets for the reason Unhealthy, and launches the replacement first. The drain is bounded, so
// that pods and PodDisruptionBudgets delay it and do not prevent it.
func unhealthy(due map[string]repair.UnhealthyCondition) policy {
	return policy{
		reason: api.DisruptionReasonUnhealthy, bounded: true,
		wants: func(_ *Cluster, node *Node, _ *api.NodePool, _ time.Time) (time.Time, bool, error) {
			condition, isDue := due[node.Claim.Name]
			return condition.Since, isDue && !node.doNotRepair(), nil
		},
	}
}

// repairs are the initialized nodes whose repair is due, by the names of their claims.
func (s *Cluster) repairs(now time.Time) map[string]repair.UnhealthyCondition {
	var nodes []repair.NodeHealth
	for i := range s.Nodes {
		if node := &s.Nodes[i]; node.Node != nil {
			nodes = append(nodes, repair.NodeHealth{Claim: node.Claim, Node: node.Node})
		}
	}
	due, _ := repair.Due(nodes, now)
	return due
}

// keptFromRepair says of each node whose repair is due that a person keeps it.
func (s *Cluster) keptFromRepair(due map[string]repair.UnhealthyCondition) []Notice {
	var notices []Notice
	for i := range s.Nodes {
		node := &s.Nodes[i]
		if _, isDue := due[node.Claim.Name]; isDue && node.doNotRepair() {
			notices = append(notices, Notice{
				Node: node, Message: "The node is unhealthy, and has the annotation " + api.DoNotRepairAnnotationKey,
			})
		}
	}
	return notices
}

// mayBeRepaired tells whether the node may be replaced as an unhealthy one, as far as its pool's
// budgets allow. What keeps a healthy node from disruption does not count.
func (n *Node) mayBeRepaired(now time.Time) bool {
	if n.leaving() || n.replaced() || n.chosen() || n.rebooting() || !n.initialized() || n.doNotRepair() {
		return false
	}
	return n.replaceable(now)
}

// doNotRepair tells whether a person keeps the node although it is unhealthy, or a zonal shift does.
func (n *Node) doNotRepair() bool {
	if n.Node == nil {
		return false
	}
	return protection.Unsafe(n.Node) != "" || n.Node.Annotations[api.DoNotRepairAnnotationKey] == "true"
}

// RepairDeadline is the patch that bounds the drain of an unhealthy node. It is nil if the drain ends
// by then in any case, and for a node that is replaced for another reason.
func RepairDeadline(node *Node, now time.Time) map[string]any {
	reason := api.GetCondition(node.Claim.Status.Conditions, api.ConditionTypeDisruptionReason)
	if reason == nil || reason.Reason != string(api.DisruptionReasonUnhealthy) || node.Node == nil {
		return nil
	}
	return EndBy(node.Claim, now.Add(repair.DrainBound(node.Node)), now)
}

// recovered is why an unhealthy node that is being replaced stays after all, or "".
func (n *Node) recovered() string {
	switch {
	case n.doNotRepair():
		return "the node got the annotation " + api.DoNotRepairAnnotationKey
	case repair.IsHealthy(n.Node):
		return "the node is healthy again"
	}
	return ""
}
