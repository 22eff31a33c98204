package snapshot

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// ForgetOwnNominations removes from the pods the nominations (status.nominatedNodeName) that only say
// where a plan has them. A nominated pod counts as placed, because the scheduler nominates a pod for
// which it ends others. A pod that waits for the node that Whittle launched for it is still pending:
// the plan keeps its place there, and finds another one if the node does not come.
//
// A nomination is Whittle's if the claim of the node lists the pod. One for a node that has gone, or
// is leaving, says nothing any more.
func (o *Objects) ForgetOwnNominations() {
	nominated := map[string][]*corev1.Pod{} // by the nominated node
	for i := range o.Pods {
		if pod := &o.Pods[i]; pod.Spec.NodeName == "" && pod.Status.NominatedNodeName != "" {
			nominated[pod.Status.NominatedNodeName] = append(nominated[pod.Status.NominatedNodeName], pod)
		}
	}
	if len(nominated) == 0 {
		return
	}
	for _, node := range nodes(&Objects{Nodes: o.Nodes, NodeClaims: o.NodeClaims}) {
		if node.Node != nil && !scheduling.IsLeaving(node.NodeClaim, node.Node) {
			nominated[node.Node.Name] = listed(nominated[node.Node.Name], node.NodeClaim)
		}
	}
	for _, pods := range nominated {
		for _, pod := range pods {
			pod.Status.NominatedNodeName = ""
		}
	}
}

// listed returns those of the pods that the claim was planned for.
func listed(pods []*corev1.Pod, claim *api.NodeClaim) []*corev1.Pod {
	if len(pods) == 0 || claim == nil {
		return nil
	}
	uids := map[string]bool{}
	for uid := range strings.SplitSeq(claim.Annotations[api.NominatedPodsAnnotationKey], ",") {
		uids[uid] = uid != ""
	}
	return slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return !uids[string(pod.UID)] })
}
