package workload

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Relax returns a pod group of the given pods of g, with one preference less than g. It returns nil
// if g has no preference left. Taints of effect PreferNoSchedule come last, as in Karpenter.
func (w *Workload) Relax(g *Group, pods []*corev1.Pod) *Group {
	if !g.Preferences {
		return nil
	}
	next := *g
	next.Pods, next.Problem = pods, ""
	if spec := RelaxSpec(g.Spec); spec != nil {
		next.Spec = spec
	} else if g.AvoidsTaints {
		next.AvoidsTaints = false
	} else {
		return nil
	}
	w.readConstraints(&next)
	return &next
}

// RelaxSpec returns a copy of the spec without its next preference, or nil if it has none. The
// order is Karpenter's: preferred pod affinity, preferred pod anti-affinity, preferred node
// affinity, each with the greatest weight first, and then ScheduleAnyway spreads.
func RelaxSpec(spec *corev1.PodSpec) *corev1.PodSpec {
	if a := spec.Affinity; a != nil {
		if a.PodAffinity != nil && len(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
			relaxed := *a.PodAffinity
			relaxed.PreferredDuringSchedulingIgnoredDuringExecution = withoutHeaviestTerm(
				relaxed.PreferredDuringSchedulingIgnoredDuringExecution,
				weightOfPodTerm,
			)
			next := copyWithAffinity(spec)
			next.Affinity.PodAffinity = &relaxed
			return next
		}
		if a.PodAntiAffinity != nil && len(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
			relaxed := *a.PodAntiAffinity
			relaxed.PreferredDuringSchedulingIgnoredDuringExecution = withoutHeaviestTerm(
				relaxed.PreferredDuringSchedulingIgnoredDuringExecution,
				weightOfPodTerm,
			)
			next := copyWithAffinity(spec)
			next.Affinity.PodAntiAffinity = &relaxed
			return next
		}
		if a.NodeAffinity != nil && len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
			relaxed := *a.NodeAffinity
			relaxed.PreferredDuringSchedulingIgnoredDuringExecution = withoutHeaviestTerm(
				relaxed.PreferredDuringSchedulingIgnoredDuringExecution,
				weightOfNodeTerm,
			)
			next := copyWithAffinity(spec)
			next.Affinity.NodeAffinity = &relaxed
			return next
		}
	}
	for i := range spec.TopologySpreadConstraints {
		if spec.TopologySpreadConstraints[i].WhenUnsatisfiable == corev1.ScheduleAnyway {
			next := copyWithAffinity(spec)
			next.TopologySpreadConstraints = slices.Delete(slices.Clone(spec.TopologySpreadConstraints), i, i+1)
			return next
		}
	}
	return nil
}

// copyWithAffinity copies a spec and its Affinity. All else is shared.
func copyWithAffinity(spec *corev1.PodSpec) *corev1.PodSpec {
	next := *spec
	if spec.Affinity != nil {
		affinity := *spec.Affinity
		next.Affinity = &affinity
	}
	return &next
}

func weightOfPodTerm(t corev1.WeightedPodAffinityTerm) int32 { return t.Weight }

func weightOfNodeTerm(t corev1.PreferredSchedulingTerm) int32 { return t.Weight }

// heaviestTerm is the position of the term of the greatest weight, and the first of equal ones.
func heaviestTerm[T any](terms []T, weight func(T) int32) int {
	best := 0
	for i := range terms {
		if weight(terms[i]) > weight(terms[best]) {
			best = i
		}
	}
	return best
}

// withoutHeaviestTerm returns a copy of the list without its heaviest term.
func withoutHeaviestTerm[T any](terms []T, weight func(T) int32) []T {
	i := heaviestTerm(terms, weight)
	return slices.Delete(slices.Clone(terms), i, i+1)
}
