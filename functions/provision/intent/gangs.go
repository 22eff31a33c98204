package intent

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// MarkGangs writes on the plan's claims which gang they are for, where the gang has no pod to
// spare: fewer of its claims than planned are of no use. It marks no claim that has other pods as
// well.
func MarkGangs(snapshot *plan.Snapshot, decided *plan.Plan) {
	spare := map[plan.GangRef]int{}
	for i := range snapshot.Gangs {
		spare[snapshot.Gangs[i].GangRef] = -snapshot.Gangs[i].MinMember
	}
	if len(spare) == 0 {
		return
	}
	gangs := map[plan.PodRef]plan.GangRef{}
	count := func(pod *corev1.Pod) {
		if ref := plan.GangOf(pod); ref.Name != "" && !scheduling.IsTerminal(pod) {
			gangs[plan.RefOf(pod)] = ref
			spare[ref]++
		}
	}
	for i := range snapshot.Pods {
		count(&snapshot.Pods[i])
	}
	for i := range snapshot.Nodes {
		for j := range snapshot.Nodes[i].Pods {
			count(&snapshot.Nodes[i].Pods[j])
		}
	}
	for i := range decided.NodeClaims {
		planned := &decided.NodeClaims[i]
		if len(planned.Pods) == 0 {
			continue
		}
		first := gangs[planned.Pods[0]]
		left, known := spare[first]
		if !known || first.Name == "" || left > 0 ||
			slices.ContainsFunc(planned.Pods, func(pod plan.PodRef) bool { return gangs[pod] != first }) {
			continue
		}
		if planned.NodeClaim.Annotations == nil {
			planned.NodeClaim.Annotations = map[string]string{}
		}
		planned.NodeClaim.Annotations[api.GangAnnotationKey] = first.Namespace + "/" + first.Name
	}
}

// Returns are the claims to give back because they were launched for a part of a gang whose other
// part has no place now: EC2 ran short between two fleets, or a node was lost. The gang's pods
// cannot use them. The same holds for a gang that has its place elsewhere because it needs all of
// its nodes in one zone. A claim stays if the plan has any pod on it, if a pod runs on its node, or
// if it was launched for other pods as well.
func Returns(snapshot *plan.Snapshot, decided *plan.Plan) []*api.NodeClaim {
	out := leftOut(snapshot, decided)
	if len(out) == 0 {
		return nil
	}
	var returned []*api.NodeClaim
	for i := range snapshot.Nodes {
		node := &snapshot.Nodes[i]
		if claim := node.NodeClaim; claim != nil && claim.DeletionTimestamp == nil && !isUsed(node, decided) &&
			isOnlyFor(claim, out) {
			returned = append(returned, claim)
		}
	}
	return returned
}

// WithoutPlace are those of the claims whose pods the plan places nowhere else.
func WithoutPlace(claims []*api.NodeClaim, decided *plan.Plan) []*api.NodeClaim {
	unplaced := map[string]bool{}
	for i := range decided.Unplaced {
		unplaced[decided.Unplaced[i].Pod.UID] = true
	}
	return slices.DeleteFunc(slices.Clone(claims), func(claim *api.NodeClaim) bool { return !isOnlyFor(claim, unplaced) })
}

// leftOut are the UIDs of the waiting pods of gangs of which the plan places no pod, or all of them
// in one topology domain.
func leftOut(snapshot *plan.Snapshot, decided *plan.Plan) map[string]bool {
	gangs := map[plan.GangRef]bool{} // false once a pod has a place
	for i := range snapshot.Gangs {
		gangs[snapshot.Gangs[i].GangRef] = true
	}
	if len(gangs) == 0 {
		return nil
	}
	unplaced := map[plan.PodRef]bool{}
	for i := range decided.Unplaced {
		unplaced[decided.Unplaced[i].Pod] = true
	}
	for i := range snapshot.Pods {
		if pod := &snapshot.Pods[i]; !unplaced[plan.RefOf(pod)] && api.RequiredTopology(pod.Annotations) == "" {
			gangs[plan.GangOf(pod)] = false
		}
	}
	out := map[string]bool{}
	for i := range snapshot.Pods {
		if pod := &snapshot.Pods[i]; gangs[plan.GangOf(pod)] {
			out[string(pod.UID)] = true
		}
	}
	return out
}

// isUsed reports whether pods run on the node or shall.
func isUsed(node *plan.Node, decided *plan.Plan) bool {
	for i := range node.Pods {
		if occupies(&node.Pods[i]) {
			return true
		}
	}
	return slices.ContainsFunc(decided.Nominations, func(n plan.Nomination) bool {
		return n.NodeClaimName == node.NodeClaim.Name
	})
}

// occupies reports whether the pod on a node would be lost with it.
func occupies(pod *corev1.Pod) bool {
	return !scheduling.IsOwnedByDaemonSet(pod) && !scheduling.IsStatic(pod) && !scheduling.IsTerminal(pod)
}

// isOnlyFor reports whether the claim was planned for these pods alone.
func isOnlyFor(claim *api.NodeClaim, pods map[string]bool) bool {
	list := claim.Annotations[api.NominatedPodsAnnotationKey]
	for uid := range strings.SplitSeq(list, ",") {
		if !pods[uid] {
			return false
		}
	}
	return list != ""
}

// StillReturned are the claims of Returns, as they are in what was read since: no pod runs on their
// node, and each pod that they were launched for still waits. The pods of ProvisioningRequests wait
// beside those of the cluster.
func StillReturned(returned []*api.NodeClaim, now *disruption.Cluster, requested []corev1.Pod) []*api.NodeClaim {
	names, waiting := map[string]bool{}, map[string]bool{}
	for _, claim := range returned {
		names[claim.Name] = true
	}
	for _, pod := range now.Waiting {
		waiting[string(pod.UID)] = true
	}
	for i := range requested {
		waiting[string(requested[i].UID)] = true
	}
	var still []*api.NodeClaim
	for i := range now.Nodes {
		node := &now.Nodes[i]
		if names[node.Claim.Name] && node.Claim.DeletionTimestamp == nil && isOnlyFor(node.Claim, waiting) &&
			!slices.ContainsFunc(node.Pods, occupies) {
			still = append(still, node.Claim)
		}
	}
	return still
}
