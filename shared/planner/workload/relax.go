package workload

import (
	"cmp"
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

// RelaxFully is Relax for all preferences at once.
func (w *Workload) RelaxFully(g *Group, pods []*corev1.Pod) *Group {
	next := *g
	for spec := RelaxSpec(g.Spec); spec != nil; spec = RelaxSpec(spec) {
		next.Spec = spec
	}
	if !g.Preferences || next.Spec == g.Spec && !g.AvoidsTaints {
		return nil
	}
	next.Pods, next.Problem, next.AvoidsTaints = pods, "", false
	w.readConstraints(&next)
	return &next
}

// maximumPreferences is how many preferences of one kind a pod may have. Each one may cost a round
// of placing, so the lightest ones beyond do not count.
const maximumPreferences = 16

// withFewPreferences returns the spec, or a copy without the preferences beyond maximumPreferences.
func withFewPreferences(spec *corev1.PodSpec) *corev1.PodSpec {
	if !hasManyPreferences(spec) {
		return spec
	}
	next := spec
	if a := spec.Affinity; a != nil {
		next = copyWithAffinity(spec)
		if a.PodAffinity != nil {
			few := *a.PodAffinity
			few.PreferredDuringSchedulingIgnoredDuringExecution = heaviestTerms(
				few.PreferredDuringSchedulingIgnoredDuringExecution, weightOfPodTerm)
			next.Affinity.PodAffinity = &few
		}
		if a.PodAntiAffinity != nil {
			few := *a.PodAntiAffinity
			few.PreferredDuringSchedulingIgnoredDuringExecution = heaviestTerms(
				few.PreferredDuringSchedulingIgnoredDuringExecution, weightOfPodTerm)
			next.Affinity.PodAntiAffinity = &few
		}
		if a.NodeAffinity != nil {
			few := *a.NodeAffinity
			few.PreferredDuringSchedulingIgnoredDuringExecution = heaviestTerms(
				few.PreferredDuringSchedulingIgnoredDuringExecution, weightOfNodeTerm)
			next.Affinity.NodeAffinity = &few
		}
	}
	if len(spec.TopologySpreadConstraints) > maximumPreferences {
		next = copyWithAffinity(next)
		preferred := 0
		next.TopologySpreadConstraints = slices.DeleteFunc(
			slices.Clone(spec.TopologySpreadConstraints),
			func(c corev1.TopologySpreadConstraint) bool {
				if c.WhenUnsatisfiable != corev1.ScheduleAnyway {
					return false
				}
				preferred++
				return preferred > maximumPreferences
			})
	}
	return next
}

// heaviestTerms returns the list, or if it is too long its heaviest terms in their order.
func heaviestTerms[T any](terms []T, weight func(T) int32) []T {
	if len(terms) <= maximumPreferences {
		return terms
	}
	positions := make([]int, len(terms))
	for i := range positions {
		positions[i] = i
	}
	slices.SortStableFunc(positions, func(a, b int) int { return cmp.Compare(weight(terms[b]), weight(terms[a])) })
	positions = positions[:maximumPreferences]
	slices.Sort(positions)
	few := make([]T, len(positions))
	for i, at := range positions {
		few[i] = terms[at]
	}
	return few
}

// hasManyPreferences reports whether a kind of preferences of the spec may be too many.
func hasManyPreferences(spec *corev1.PodSpec) bool {
	if len(spec.TopologySpreadConstraints) > maximumPreferences {
		return true
	}
	a := spec.Affinity
	return a != nil && (a.PodAffinity != nil &&
		len(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > maximumPreferences ||
		a.PodAntiAffinity != nil &&
			len(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > maximumPreferences ||
		a.NodeAffinity != nil &&
			len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > maximumPreferences)
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
