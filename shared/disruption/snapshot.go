package disruption

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Snapshot is the cluster at one moment, as far as disruption looks at it.
type Snapshot struct {
	Pools   []api.NodePool
	Nodes   []Node
	Waiting []*corev1.Pod // those that no node has been found for
	Running []*corev1.Pod // those on nodes, others than these Nodes too
	Budgets []policyv1.PodDisruptionBudget
	// Origins are what claims would be made from now, by pool.
	Origins map[string]*Origin
}

func (s *Snapshot) poolsByName() map[string]*api.NodePool {
	pools := map[string]*api.NodePool{}
	for i := range s.Pools {
		pools[s.Pools[i].Name] = &s.Pools[i]
	}
	return pools
}

// Node is a NodeClaim with the node that it stands for and the pods on it.
type Node struct {
	Claim *api.NodeClaim
	Node  *corev1.Node // nil before the node has joined and after it has left
	Pods  []*corev1.Pod
}

func (n *Node) pool() string { return n.Claim.Labels[api.NodePoolLabelKey] }

// initialized tells whether the node has been ready for pods.
func (n *Node) initialized() bool {
	return n.Node != nil && api.ConditionTrue(n.Claim.Status.Conditions, api.ConditionTypeInitialized) &&
		n.Node.Labels[api.NodeInitializedLabelKey] == "true"
}

// leaving tells whether the node's end has been ordered.
func (n *Node) leaving() bool {
	return scheduling.IsDeletionRequested(n.Claim, n.Node)
}

// chosen tells that a run has marked the node for its removal.
func (n *Node) chosen() bool {
	return n.Node != nil && IsTainted(n.Node) || api.ConditionTrue(n.Claim.Status.Conditions, api.ConditionTypeDisruptionReason)
}

// joining tells whether pods may be planned for a node that is not there yet. A
// claim that has not come up in joinWithin holds nothing up any longer.
func (n *Node) joining(now time.Time) bool {
	return !n.leaving() && !n.initialized() && now.Sub(n.Claim.CreationTimestamp.Time) < joinWithin
}

// empty tells whether nothing runs on the node that would be missed.
func (n *Node) empty() bool {
	for _, pod := range n.Pods {
		if Counts(*pod) {
			return false
		}
	}
	return true
}

// moving are the UIDs of the pods on nodes that leave.
func (s *Snapshot) moving() map[string]bool {
	moving := map[string]bool{}
	for i := range s.Nodes {
		if !s.Nodes[i].leaving() {
			continue
		}
		for _, pod := range s.Nodes[i].Pods {
			if scheduling.IsReschedulable(pod) {
				moving[string(pod.UID)] = true
			}
		}
	}
	return moving
}

// awaits tells whether a pod that the node was launched for is yet to move to it.
func (n *Node) awaits(moving map[string]bool) bool {
	for uid := range strings.SplitSeq(n.Claim.Annotations[api.NominatedPodsAnnotationKey], ",") {
		if moving[uid] {
			return true
		}
	}
	return false
}

// Counts tells whether a node with the pod is not empty: pods of daemon sets and
// static pods go with their node, and pods that have ended take nothing. A pod
// that is ending still runs.
func Counts(pod corev1.Pod) bool {
	return !scheduling.IsTerminal(&pod) && !scheduling.IsOwnedByDaemonSet(&pod) && !scheduling.IsStatic(&pod)
}

// counts are the pools' nodes as budgets count them, by the pool's name.
func (s *Snapshot) counts() map[string]PoolCount {
	counts := map[string]PoolCount{}
	for i := range s.Nodes {
		node := &s.Nodes[i]
		if !node.initialized() || api.ConditionTrue(node.Claim.Status.Conditions, api.ConditionTypeInstanceTerminating) {
			continue
		}
		count := counts[node.pool()]
		count.Nodes++
		if node.leaving() || node.chosen() || node.replaced() || !IsReady(node.Node) {
			count.Disrupting++
		}
		counts[node.pool()] = count
	}
	return counts
}
