package snapshot

import (
	"strings"

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
	nominated := o.nominatedPods()
	if len(nominated) == 0 {
		return
	}
	stays := map[int]bool{}
	for _, node := range nodes(&Objects{Nodes: o.Nodes, NodeClaims: o.NodeClaims}) {
		if node.Node == nil || len(nominated[node.Node.Name]) == 0 || scheduling.IsLeaving(node.NodeClaim, node.Node) {
			continue
		}
		listed := plannedPods(node.NodeClaim)
		for _, i := range nominated[node.Node.Name] {
			stays[i] = o.Pods[i].UID == "" || !listed[string(o.Pods[i].UID)]
		}
	}
	for _, pods := range nominated {
		for _, i := range pods {
			if !stays[i] {
				o.Pods[i].Status.NominatedNodeName = ""
			}
		}
	}
}

// nominatedPods returns the places in Pods of those without a node, by the nominated node.
func (o *Objects) nominatedPods() map[string][]int {
	nominated := map[string][]int{}
	for i := range o.Pods {
		if pod := &o.Pods[i]; pod.Spec.NodeName == "" && pod.Status.NominatedNodeName != "" {
			nominated[pod.Status.NominatedNodeName] = append(nominated[pod.Status.NominatedNodeName], i)
		}
	}
	return nominated
}

// plannedPods returns the UIDs of the pods that the claim was planned for. The claim may be nil.
func plannedPods(claim *api.NodeClaim) map[string]bool {
	listed := map[string]bool{}
	if claim != nil {
		for uid := range strings.SplitSeq(claim.Annotations[api.NominatedPodsAnnotationKey], ",") {
			listed[uid] = true
		}
	}
	return listed
}
