package evaluation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/consolidation/state"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Provision launches a node where a preference or a spread of a pod asks for one: a host or a zone
// to come counts as empty. Without pools, or with cheap types only, the planner would find no such
// node and do without it. The next pass would then undo what provision has paid for. Karpenter
// keeps preferences for this reason:
// https://karpenter.sh/docs/concepts/disruption/#consolidation

// WantsNodes reports whether a new node could be planned for a pod of these nodes, though others
// have room.
func (e *Evaluator) WantsNodes(leaving []*state.Node) bool {
	return slices.ContainsFunc(leaving, func(n *state.Node) bool {
		return slices.ContainsFunc(n.Pods, func(pod *state.Pod) bool {
			return spreads(&pod.Object.Spec, corev1.DoNotSchedule) || e.respects && (e.avoided || prefers(&pod.Object.Spec))
		})
	})
}

// prefers reports whether the pod has a preference about its node or other pods.
func prefers(spec *corev1.PodSpec) bool {
	if spreads(spec, corev1.ScheduleAnyway) {
		return true
	}
	a := spec.Affinity
	return a != nil && (a.NodeAffinity != nil && len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 ||
		a.PodAffinity != nil && len(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 ||
		a.PodAntiAffinity != nil && len(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0)
}

// spreads reports whether the pod has a spread of this kind.
func spreads(spec *corev1.PodSpec, kind corev1.UnsatisfiableConstraintAction) bool {
	return slices.ContainsFunc(spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		return c.WhenUnsatisfiable == kind
	})
}

// hasAvoided reports whether a node has a taint that pods avoid if they can.
func hasAvoided(f *state.Fleet) bool {
	return slices.ContainsFunc(f.Nodes, func(n *state.Node) bool {
		return slices.ContainsFunc(n.Source.Taints(), func(taint corev1.Taint) bool {
			return taint.Effect == corev1.TaintEffectPreferNoSchedule
		})
	})
}

// respects reports whether the planner treats preferences as required where a node can fulfil them.
func respects(f *state.Fleet) bool { return f.Planner().PreferencePolicy != plan.PreferencesIgnored }
