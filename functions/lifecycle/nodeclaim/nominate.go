package nodeclaim

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// AwaitsPods reports whether the node of the view is about to take the pods that its claim was
// planned for.
func (v *View) AwaitsPods() bool {
	return len(v.Nodes) == 1 && v.proves(v.Nodes[0]) &&
		v.Nodes[0].DeletionTimestamp == nil && v.Claim.DeletionTimestamp == nil &&
		v.Claim.Annotations[api.NominatedPodsAnnotationKey] != "" &&
		!api.ConditionTrue(v.Claim.Status.Conditions, api.ConditionTypeInitialized)
}

// ExpectedPods returns, by the name of the claim, the unbound pods that claims were planned for. The order is
// that of the given pods. A pod that several claims list was planned again: it belongs to the newest. Claims
// that are being deleted expect no pods.
func ExpectedPods(claims []api.NodeClaim, unbound []corev1.Pod) map[string][]*corev1.Pod {
	newest := map[string]*api.NodeClaim{} // by the UID of a pod that waits
	for i := range unbound {
		if scheduling.IsProvisionable(&unbound[i]) || scheduling.IsUnseen(&unbound[i]) {
			newest[string(unbound[i].UID)] = nil
		}
	}
	for i := range claims {
		claim := &claims[i]
		if claim.DeletionTimestamp != nil {
			continue
		}
		for uid := range strings.SplitSeq(claim.Annotations[api.NominatedPodsAnnotationKey], ",") {
			if other, waits := newest[uid]; waits && (other == nil || isNewer(claim, other)) {
				newest[uid] = claim
			}
		}
	}
	expected := map[string][]*corev1.Pod{}
	for i := range unbound {
		if claim := newest[string(unbound[i].UID)]; claim != nil {
			expected[claim.Name] = append(expected[claim.Name], &unbound[i])
		}
	}
	return expected
}

// isNewer compares by creation, which is in whole seconds. The name decides between equal times, so
// that all passes agree.
func isNewer(claim, other *api.NodeClaim) bool {
	order := claim.CreationTimestamp.Compare(other.CreationTimestamp.Time)
	return order > 0 || order == 0 && claim.Name > other.Name
}

// mayBeNominated reports whether a nomination helps the pod.
//
// The scheduler counts the nominated pods of a node as running while it looks at that node. Several
// pods of one spread constraint would then seem to exceed its maxSkew, and none of them would fit.
func mayBeNominated(pod *corev1.Pod) bool {
	return !slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		return c.WhenUnsatisfiable == corev1.DoNotSchedule
	})
}

// nominate tells the scheduler of the node's pods, before the node takes any. It leaves out those that are
// bound in this pass. A node that will be reserved has no nominations yet.
func (p *pass) nominate() {
	if len(p.view.Expected) == 0 || !p.view.AwaitsPods() || p.reserves() {
		return
	}
	var pods []*corev1.Pod
	for _, pod := range p.view.Expected {
		if mayBeNominated(pod) && !slices.Contains(p.bound, pod) {
			pods = append(pods, pod)
		}
	}
	if len(pods) > 0 {
		p.do(Nominate{Node: p.view.Nodes[0].Name, Pods: pods})
	}
}
