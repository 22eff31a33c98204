package workload

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// RelaxSpec gives up the next preference of a pod's spec, in Karpenter's order: the heaviest
// preferred pod affinity, then the heaviest preferred pod anti-affinity, the heaviest preferred
// node affinity, a ScheduleAnyway spread, and last, if some taint of effect PreferNoSchedule is
// about, that those keep it away. It returns the spec with one preference less, or nil if there is
// none. The spec itself is not changed.
func RelaxSpec(spec *corev1.PodSpec) *corev1.PodSpec {
	if a := spec.Affinity; a != nil {
		if a.PodAffinity != nil && len(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
			relaxed := *a.PodAffinity
			relaxed.PreferredDuringSchedulingIgnoredDuringExecution = withoutHeaviest(
				relaxed.PreferredDuringSchedulingIgnoredDuringExecution,
				weightOfPodTerm,
			)
			next := relaxedSpec(spec)
			next.Affinity.PodAffinity = &relaxed
			return next
		}
		if a.PodAntiAffinity != nil && len(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
			relaxed := *a.PodAntiAffinity
			relaxed.PreferredDuringSchedulingIgnoredDuringExecution = withoutHeaviest(
				relaxed.PreferredDuringSchedulingIgnoredDuringExecution,
				weightOfPodTerm,
			)
			next := relaxedSpec(spec)
			next.Affinity.PodAntiAffinity = &relaxed
			return next
		}
		if a.NodeAffinity != nil && len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
			relaxed := *a.NodeAffinity
			relaxed.PreferredDuringSchedulingIgnoredDuringExecution = withoutHeaviest(
				relaxed.PreferredDuringSchedulingIgnoredDuringExecution,
				weightOfNodeTerm,
			)
			next := relaxedSpec(spec)
			next.Affinity.NodeAffinity = &relaxed
			return next
		}
	}
	for i := range spec.TopologySpreadConstraints {
		if spec.TopologySpreadConstraints[i].WhenUnsatisfiable == corev1.ScheduleAnyway {
			next := relaxedSpec(spec)
			next.TopologySpreadConstraints = slices.Delete(slices.Clone(spec.TopologySpreadConstraints), i, i+1)
			return next
		}
	}
	return nil
}

func relaxedSpec(spec *corev1.PodSpec) *corev1.PodSpec {
	next := *spec
	if spec.Affinity != nil {
		affinity := *spec.Affinity
		next.Affinity = &affinity
	}
	return &next
}

func weightOfPodTerm(t corev1.WeightedPodAffinityTerm) int32 { return t.Weight }

func weightOfNodeTerm(t corev1.PreferredSchedulingTerm) int32 { return t.Weight }

// heaviest is the position of the term of greatest weight, the first of equal ones.
func heaviest[T any](terms []T, weight func(T) int32) int {
	best := 0
	for i := range terms {
		if cmp.Compare(weight(terms[i]), weight(terms[best])) > 0 {
			best = i
		}
	}
	return best
}

func withoutHeaviest[T any](terms []T, weight func(T) int32) []T {
	i := heaviest(terms, weight)
	return slices.Delete(slices.Clone(terms), i, i+1)
}
