package snapshot

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Assemble puts the objects together as the planner sees them.
//
//   - Pods are those that wait (scheduling.IsProvisionable), those that the scheduler has
//     not come to yet, and those of leaving nodes that will need a place elsewhere:
//     their new node is there before they are.
//   - Nodes are joined with their claims by providerID. A claim without a providerID is
//     no capacity yet and left out (Unlaunched has those); one without a node is a node
//     on its way.
//   - InstanceTypes are what types gives for each NodePool, before NodeOverlays, with the
//     overlays applied. Every NodePool is in the snapshot: which of them open no node, and
//     why, the planner says.
//
// The objects are not changed, and the snapshot shares memory with them. Policies and
// further well-known labels are left for the caller to set.
func Assemble(o *Objects, types func(*api.NodePool) []catalog.InstanceType, now time.Time) *plan.Snapshot {
	s := &plan.Snapshot{
		NodePools: o.NodePools, NodeClasses: o.NodeClasses, DaemonSets: o.DaemonSets, Namespaces: o.Namespaces,
		PersistentVolumeClaims: o.PersistentVolumeClaims, PersistentVolumes: o.PersistentVolumes,
		StorageClasses: o.StorageClasses, CSINodes: o.CSINodes,
	}
	s.InstanceTypes, _ = catalog.Overlays(o.NodePools, types, o.NodeOverlays)
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
			if pod := &s.Nodes[i].Pods[j]; moves(pod, o, now) {
				s.Pods = append(s.Pods, scheduling.Successor(pod))
			}
		}
	}
	return s
}

// unseenUntil is the age of a pod at which its scheduler is taken to have stopped: a node would
// stay empty.
const unseenUntil = 5 * time.Minute

// unseen tells whether the scheduler has still to look at the pod, which takes it milliseconds as a
// rule, and half a minute when hundreds of pods come at once. The plan finds room for it where
// there is some, as the scheduler would. Where a node was taken, it is what became of a pod there:
// if it were left out until the scheduler gets to it, the room that is on its way for it would be
// given to others.
func unseen(pod *corev1.Pod, now time.Time) bool {
	return scheduling.IsUnseen(pod) && now.Sub(pod.CreationTimestamp.Time) < unseenUntil
}

// nodes joins nodes, claims and the pods bound to them.
func nodes(o *Objects) []plan.Node {
	claims := map[string]*api.NodeClaim{}
	for i := range o.NodeClaims {
		claim := &o.NodeClaims[i]
		id := claim.Status.ProviderID
		// Of two claims for one instance, which only a person can have written, the first by name
		// has it.
		if other := claims[id]; id != "" && (other == nil || strings.Compare(claim.Name, other.Name) < 0) {
			claims[id] = claim
		}
	}
	bound := bound(o)
	made := make([]plan.Node, 0, len(o.Nodes))
	joined := map[string]bool{}
	for i := range o.Nodes {
		node := plan.Node{Node: &o.Nodes[i], Pods: bound[o.Nodes[i].Name]}
		if id := o.Nodes[i].Spec.ProviderID; id != "" {
			node.NodeClaim = claims[id]
			joined[id] = true
		}
		made = append(made, node)
	}
	for i := range o.NodeClaims {
		if id := o.NodeClaims[i].Status.ProviderID; claims[id] == &o.NodeClaims[i] && !joined[id] {
			made = append(made, plan.Node{NodeClaim: &o.NodeClaims[i]})
		}
	}
	return made
}

// bound are the pods that take something of a node, by the node's name. They lie in
// one array of the right size: of a hundred thousand, growing lists would take the
// memory several times over.
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

// moves tells whether a pod of a leaving node is going to need a place elsewhere. One
// that nothing evicts would leave a node made for it empty, to be removed and made
// again without end. What is terminating already is past being held.
func moves(pod *corev1.Pod, o *Objects, now time.Time) bool {
	if !scheduling.IsReschedulable(pod) {
		return false
	}
	return pod.DeletionTimestamp != nil || !protection.Immovable(pod, o.PodDisruptionBudgets, now)
}
