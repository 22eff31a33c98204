package disruption

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/budget"
	"github.com/whittle-dev/whittle/shared/disruption/drift"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/disruption/reboot"
	"github.com/whittle-dev/whittle/shared/release"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// recentlyPending is the time for which a pod that waits keeps an empty node with room for it,
	// because the scheduler may be about to bind it there. A pod that has waited for longer fits
	// none. A new node waits as long for the pods that it was launched for.
	recentlyPending = 30 * time.Second
	// heldAtMost is how much longer than its time an empty node stays for such pods, one after the
	// other. Without a bound a stream of pods that never come would keep it for ever.
	heldAtMost = 90 * time.Second
)

// Cluster is what disruption knows of the cluster at one moment.
type Cluster struct {
	Pools []api.NodePool
	Nodes []Node
	// Waiting are the pending pods, Running those on nodes, including other nodes than Nodes.
	Waiting []*corev1.Pod
	Running []*corev1.Pod
	Budgets []policyv1.PodDisruptionBudget
	// Needed has a pod that began to wait a moment ago, by the name of the claim whose node has room
	// for it.
	Needed map[string]*corev1.Pod
	// Origins are what claims would be made from now, by the name of the pool.
	Origins map[string]*drift.Origin
	// Releases are the verdicts about the pools' releases, by the pool's name. The drift of a pool without
	// one has no stages.
	Releases map[string]*release.State
}

func (s *Cluster) poolsByName() map[string]*api.NodePool {
	pools := map[string]*api.NodePool{}
	for i := range s.Pools {
		pools[s.Pools[i].Name] = &s.Pools[i]
	}
	return pools
}

// Recent returns the pods that began to wait a moment ago. The scheduler may be about to bind them.
func (s *Cluster) Recent(now time.Time) []*corev1.Pod {
	var recent []*corev1.Pod
	for _, pod := range s.Waiting {
		if scheduling.IsProvisionable(pod) && now.Sub(pod.CreationTimestamp.Time) < recentlyPending {
			recent = append(recent, pod)
		}
	}
	return recent
}

// waiting are the UIDs of the pods that wait for a node.
func (s *Cluster) waiting() map[string]bool {
	waiting := map[string]bool{}
	for _, pod := range s.Waiting {
		if scheduling.IsProvisionable(pod) {
			waiting[string(pod.UID)] = true
		}
	}
	return waiting
}

// moving are the UIDs of the pods on nodes whose end was ordered.
func (s *Cluster) moving() map[string]bool {
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

// counts are the pools' nodes as budgets count them, by the pool's name.
func (s *Cluster) counts() map[string]budget.PoolCount {
	counts := map[string]budget.PoolCount{}
	for i := range s.Nodes {
		node := &s.Nodes[i]
		if !node.initialized() && !node.rebooting() ||
			api.ConditionTrue(node.Claim.Status.Conditions, api.ConditionTypeInstanceTerminating) {
			continue
		}
		count := counts[node.pool()]
		count.Nodes++
		switch {
		case node.leaving() || node.chosen() || node.replaced() || node.rebooting():
			count.Disrupting++
		case !IsReady(node.Node):
			count.NotReady++
		}
		counts[node.pool()] = count
	}
	return counts
}

// Node is a NodeClaim with its node and the pods on it.
type Node struct {
	Claim *api.NodeClaim
	// Node is nil before the node has joined and after it has left.
	Node *corev1.Node
	Pods []*corev1.Pod
}

func (n *Node) pool() string { return n.Claim.Labels[api.NodePoolLabelKey] }

// initialized tells whether the node was ready for pods.
func (n *Node) initialized() bool {
	return n.Node != nil && api.ConditionTrue(n.Claim.Status.Conditions, api.ConditionTypeInitialized) &&
		n.Node.Labels[api.NodeInitializedLabelKey] == "true"
}

// initializedAt is when the node became ready for pods. The node must be initialized.
func (n *Node) initializedAt() time.Time {
	return api.GetCondition(n.Claim.Status.Conditions, api.ConditionTypeInitialized).LastTransitionTime.Time
}

// leaving tells whether the node's end was ordered.
func (n *Node) leaving() bool {
	return scheduling.IsDeletionRequested(n.Claim, n.Node)
}

// chosen tells whether a pass has marked the node for its removal.
func (n *Node) chosen() bool {
	return n.Node != nil && IsTainted(n.Node) ||
		api.ConditionTrue(n.Claim.Status.Conditions, api.ConditionTypeDisruptionReason)
}

// rebooting tells whether the node is being rebooted, which a repair has ordered.
func (n *Node) rebooting() bool { return reboot.InProgress(n.Claim) }

// empty tells whether no pod counts on the node.
func (n *Node) empty() bool {
	return !slices.ContainsFunc(n.Pods, func(pod *corev1.Pod) bool { return Counts(*pod) })
}

// awaits tells whether one of the pods, which are not on nodes that stay, is one that the node was
// launched for.
func (n *Node) awaits(pods map[string]bool) bool {
	for uid := range strings.SplitSeq(n.Claim.Annotations[api.NominatedPodsAnnotationKey], ",") {
		if pods[uid] {
			return true
		}
	}
	return false
}

// protected tells whether a person keeps the node, or a pod on it, from being disrupted.
func (n *Node) protected(now time.Time) bool {
	return n.protectedItself(now) || slices.ContainsFunc(n.Pods, func(pod *corev1.Pod) bool {
		return protection.ByAnnotation(pod, now) != ""
	})
}

// protectedItself tells whether a person keeps the node from being disrupted.
func (n *Node) protectedItself(now time.Time) bool {
	return n.Node != nil && protection.OfNode(n.Node, now) != ""
}

// Counts tells whether the pod makes its node non-empty. Pods of DaemonSets and static pods go with
// their node, and pods that have ended use nothing. A pod that is ending still runs.
func Counts(pod corev1.Pod) bool {
	return !scheduling.IsTerminal(&pod) && !scheduling.IsOwnedByDaemonSet(&pod) && !scheduling.IsStatic(&pod)
}

// Notice is a reason why a node stays, for people to read.
type Notice struct {
	Node    *Node         // nil if the reason is the pool's
	Pool    *api.NodePool // nil if the reason is the node's
	Message string
	// Passing says that the reason goes by itself, as a budget does that leaving nodes use up. No
	// event is written of it.
	Passing bool
	// Mend says that a person has to change the pool.
	Mend bool
}
