package snapshot

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/limit"
	"github.com/whittle-dev/whittle/shared/membership"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Assemble builds the planner's snapshot from the objects.
//
// Pods are pending pods (scheduling.IsProvisionable), pods that the scheduler has not tried yet,
// and pods of leaving nodes that will need a place elsewhere, so that their new node is ready
// first.
//
// Nodes are joined with their claims by package membership. A claim without a providerID has no capacity
// yet and is left out; Unlaunched returns those. A claim without a node is a node in flight.
//
// InstanceTypes are the result of types for each NodePool, with the NodeOverlays applied and the
// pool's extras (nodecost) in the prices. Every NodePool is in the snapshot, and the planner explains
// which of them get no node. Without the function extras, nodes cost what their instances cost.
//
// The objects are not changed, and the snapshot shares memory with them. The caller sets policies
// and further well-known labels.
func Assemble(
	o *Objects, types func(*api.NodePool) []catalog.InstanceType, extras func(*api.NodePool) float64, now time.Time,
) *plan.Snapshot {
	s := &plan.Snapshot{
		NodePools: o.NodePools, NodeClasses: o.NodeClasses, Namespaces: o.Namespaces,
		PersistentVolumeClaims: o.PersistentVolumeClaims, PersistentVolumes: o.PersistentVolumes,
		StorageClasses: o.StorageClasses, CSINodes: o.CSINodes, Limits: limit.OfQuotas(o.CapacityQuotas),
	}
	s.InstanceTypes, _ = catalog.Overlays(o.NodePools, types, o.NodeOverlays)
	s.DaemonSets = counted(o, s.InstanceTypes, now)
	if extras != nil {
		addExtras(o.NodePools, s.InstanceTypes, extras)
	}
	for i := range o.Pods {
		if scheduling.IsProvisionable(&o.Pods[i]) || unseen(&o.Pods[i], now) {
			s.Pods = append(s.Pods, o.Pods[i])
		}
	}
	s.Nodes = nodes(o)
	for i := range s.Nodes {
		if !scheduling.IsLeaving(s.Nodes[i].NodeClaim, s.Nodes[i].Node) {
			continue
		}
		for j := range s.Nodes[i].Pods {
			if pod := &s.Nodes[i].Pods[j]; moves(pod, s.Nodes[i].NodeClaim, o, now) {
				s.Pods = append(s.Pods, scheduling.Successor(pod))
			}
		}
	}
	return s
}

// unseenUntil is the age of a pod at which its scheduler counts as stopped. A node for such a pod
// would stay empty.
const unseenUntil = 5 * time.Minute

// unseen reports whether the scheduler has not tried the pod yet. That takes milliseconds as a
// rule, and half a minute when hundreds of pods arrive at once. The plan places such a pod on
// existing capacity, as the scheduler would. Otherwise the capacity in flight for a pod of a lost
// node would go to other pods.
func unseen(pod *corev1.Pod, now time.Time) bool {
	return scheduling.IsUnseen(pod) && now.Sub(pod.CreationTimestamp.Time) < unseenUntil
}

// Nodes is the planner's snapshot of the nodes alone: no pod waits, and no node can be bought.
func Nodes(o *Objects, now time.Time) *plan.Snapshot {
	return &plan.Snapshot{Nodes: nodes(o), DaemonSets: counted(o, nil, now), Namespaces: o.Namespaces}
}

// nodes joins nodes, claims and the pods bound to them.
func nodes(o *Objects) []plan.Node {
	members := membership.Join(o.NodeClaims, o.Nodes)
	bound := bound(o)
	made := make([]plan.Node, 0, len(o.Nodes))
	for i := range o.Nodes {
		node := &o.Nodes[i]
		made = append(made, plan.Node{Node: node, NodeClaim: members.Claim(node), Pods: bound[node.Name]})
	}
	for i := range o.NodeClaims {
		if claim := &o.NodeClaims[i]; members.InFlight(claim) {
			made = append(made, plan.Node{NodeClaim: claim})
		}
	}
	return made
}

// bound returns the pods that take resources of a node, by the node's name. They share one array of
// the exact size, because growing lists would need several times the memory for a hundred thousand
// pods.
func bound(o *Objects) map[string][]corev1.Pod {
	counts, total := map[string]int{}, 0
	for i := range o.Pods {
		if takesOfNode(&o.Pods[i]) {
			counts[o.Pods[i].Spec.NodeName]++
			total++
		}
	}
	all := make([]corev1.Pod, total)
	lists := make(map[string][]corev1.Pod, len(counts))
	for i := range o.Pods {
		pod := &o.Pods[i]
		if !takesOfNode(pod) {
			continue
		}
		list, begun := lists[pod.Spec.NodeName]
		if !begun {
			count := counts[pod.Spec.NodeName]
			list, all = all[:0:count], all[count:]
		}
		lists[pod.Spec.NodeName] = append(list, *pod)
	}
	return lists
}

func takesOfNode(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" && !scheduling.IsTerminal(pod) }

// moves reports whether a pod of a leaving node will need a place elsewhere. A pod that nothing
// evicts does not count: a node made for it would stay empty, and be removed and made again without
// end. Protection does not matter for a pod that is terminating already, and not on a node whose
// drain ends soon.
func moves(pod *corev1.Pod, claim *api.NodeClaim, o *Objects, now time.Time) bool {
	if !scheduling.IsReschedulable(pod) {
		return false
	}
	return pod.DeletionTimestamp != nil || drainEndsSoon(claim, now) ||
		!protection.Immovable(pod, o.PodDisruptionBudgets, now)
}

// drainEndsWithin is the longest drain of an unhealthy node.
const drainEndsWithin = 10 * time.Minute

// drainEndsSoon reports whether the pods of the claim's node are deleted soon, whatever protects
// them.
func drainEndsSoon(claim *api.NodeClaim, now time.Time) bool {
	if claim == nil {
		return false
	}
	end, err := time.Parse(time.RFC3339, claim.Annotations[api.NodeClaimTerminationTimestampAnnotationKey])
	return err == nil && end.Sub(now) <= drainEndsWithin
}
