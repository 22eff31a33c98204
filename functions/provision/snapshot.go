package main

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// assemble puts pods, nodes and claims together as the planner sees them: what
// waits, what runs where, what is on its way. Pods on a node that is leaving
// wait too, so that their new node is there before they are, but for those that stay:
// a node for them would stand empty.
func assemble(snapshot *plan.Snapshot, pods []corev1.Pod, nodes []corev1.Node, claims []api.NodeClaim, stays func(*corev1.Pod) bool) {
	byNode := map[string][]corev1.Pod{}
	for i := range pods {
		pod := &pods[i]
		switch {
		case scheduling.IsProvisionable(pod):
			snapshot.Pods = append(snapshot.Pods, *pod)
		case pod.Spec.NodeName != "" && !scheduling.IsTerminal(pod):
			byNode[pod.Spec.NodeName] = append(byNode[pod.Spec.NodeName], *pod)
		}
	}
	byProvider := map[string]*api.NodeClaim{}
	claims = ours(claims)
	for i := range claims {
		if id := claims[i].Status.ProviderID; id != "" {
			byProvider[id] = &claims[i]
		}
	}
	joined := map[string]bool{}
	for i := range nodes {
		node := plan.Node{Node: &nodes[i], Pods: byNode[nodes[i].Name]}
		if claim := byProvider[nodes[i].Spec.ProviderID]; claim != nil && nodes[i].Spec.ProviderID != "" {
			node.NodeClaim = claim
			joined[claim.Name] = true
		}
		if leaving(node) {
			for i := range node.Pods {
				if pod := &node.Pods[i]; scheduling.IsReschedulable(pod) && !stays(pod) {
					snapshot.Pods = append(snapshot.Pods, waiting(*pod))
				}
			}
		}
		snapshot.Nodes = append(snapshot.Nodes, node)
	}
	for i := range claims {
		if !joined[claims[i].Name] {
			snapshot.Nodes = append(snapshot.Nodes, plan.Node{NodeClaim: &claims[i]})
		}
	}
}

// ours are the claims that Whittle stands for. The nodes of others are nodes like
// any that no claim stands for: pods may run there, and nobody here ends them.
func ours(claims []api.NodeClaim) []api.NodeClaim {
	return slices.DeleteFunc(claims, func(claim api.NodeClaim) bool { return !claim.Spec.NodeClassRef.IsEC2NodeClass() })
}

// leaving tells whether the node is on its way out.
func leaving(node plan.Node) bool {
	return node.Node.DeletionTimestamp != nil || node.NodeClaim != nil && node.NodeClaim.DeletionTimestamp != nil
}

// waiting is the pod that its controller will make anew once this one is evicted.
func waiting(pod corev1.Pod) corev1.Pod {
	pod.Spec.NodeName = ""
	return pod
}

// unlaunched are the claims that no instance has been asked for, or whose
// instance an invocation did not live to write down.
func unlaunched(snapshot *plan.Snapshot) []api.NodeClaim {
	var claims []api.NodeClaim
	for _, node := range snapshot.Nodes {
		if claim := node.NodeClaim; claim != nil && claim.Status.ProviderID == "" && claim.DeletionTimestamp == nil {
			claims = append(claims, *claim)
		}
	}
	return claims
}

// classOf is the EC2NodeClass that the reference names, or nil.
func classOf(ref *api.NodeClassReference, classes []api.EC2NodeClass) *api.EC2NodeClass {
	for i := range classes {
		if ref.IsEC2NodeClass() && classes[i].Name == ref.Name {
			return &classes[i]
		}
	}
	return nil
}

// notReady says what keeps the class from being ready.
func notReady(class *api.EC2NodeClass) string {
	var causes []string
	for _, condition := range class.Status.Conditions {
		if condition.Status == metav1.ConditionFalse && condition.Type != api.ConditionReady {
			causes = append(causes, fmt.Sprintf("%s: %s", condition.Type, condition.Message))
		}
	}
	if len(causes) == 0 {
		return "it has not been resolved yet"
	}
	return strings.Join(causes, "; ")
}
