package virtual

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Outcome says where a plan has room for virtual pods.
type Outcome struct {
	// Fits are those for which a node there is, or a node in flight, has room.
	Fits map[plan.PodRef]plan.Nomination
	// Unplaced are those without a place, with the first two reasons.
	Unplaced map[plan.PodRef]string
	// Known are all that the plan answered for.
	Known map[plan.PodRef]bool
}

// Take takes the virtual pods out of a plan: they get no nomination and no event. New nodes for
// them stay in it.
func Take(decided *plan.Plan) Outcome {
	o := Outcome{
		Fits: map[plan.PodRef]plan.Nomination{}, Unplaced: map[plan.PodRef]string{}, Known: map[plan.PodRef]bool{},
	}
	is := func(pod plan.PodRef) bool {
		virtual := scheduling.IsVirtualUID(pod.UID)
		if virtual {
			o.Known[pod] = true
		}
		return virtual
	}
	decided.Nominations = slices.DeleteFunc(decided.Nominations, func(n plan.Nomination) bool {
		if !is(n.Pod) {
			return false
		}
		o.Fits[n.Pod] = n
		return true
	})
	decided.Unplaced = slices.DeleteFunc(decided.Unplaced, func(u plan.Unplaced) bool {
		if !is(u.Pod) {
			return false
		}
		var why []string
		for _, reason := range u.Reasons[:min(len(u.Reasons), 2)] {
			why = append(why, reason.String())
		}
		o.Unplaced[u.Pod] = strings.Join(why, "; ")
		return true
	})
	for i := range decided.NodeClaims {
		decided.NodeClaims[i].Pods = slices.DeleteFunc(decided.NodeClaims[i].Pods, is)
	}
	return o
}

// Adopt takes over what another plan has found for the pods.
func (o *Outcome) Adopt(other Outcome, pods []corev1.Pod) {
	if o.Known == nil {
		*o = Outcome{
			Fits: map[plan.PodRef]plan.Nomination{}, Unplaced: map[plan.PodRef]string{}, Known: map[plan.PodRef]bool{},
		}
	}
	for i := range pods {
		ref := plan.RefOf(&pods[i])
		if nomination, fits := other.Fits[ref]; fits {
			o.Fits[ref] = nomination
		}
		if why, unplaced := other.Unplaced[ref]; unplaced {
			o.Unplaced[ref] = why
		}
		o.Known[ref] = other.Known[ref]
	}
}

// Bind returns the virtual pods that the plan has on nodes, each with its node. It is a plan for nodes
// without NodePools. Pods that only nodes in flight have room for are left out, as those without a
// place.
func Bind(made *plan.Plan, pods []corev1.Pod) []corev1.Pod {
	nodes := map[plan.PodRef]string{}
	for _, nomination := range made.Nominations {
		nodes[nomination.Pod] = nomination.NodeName
	}
	var bound []corev1.Pod
	for i := range pods {
		if name := nodes[plan.RefOf(&pods[i])]; name != "" {
			pod := pods[i]
			pod.Spec.NodeName = name
			pod.Status = corev1.PodStatus{Phase: corev1.PodRunning}
			bound = append(bound, pod)
		}
	}
	return bound
}
