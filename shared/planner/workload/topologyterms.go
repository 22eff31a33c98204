package workload

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/spread"
)

// TopologyTerms are a pod's constraints on the pods around it, with the preferences that count as
// required.
type TopologyTerms struct {
	Spread                 []SpreadTerm
	Affinity, AntiAffinity []AffinityTerm
}

// Mention reports whether one of the terms has the topology key.
func (t *TopologyTerms) Mention(key string) bool {
	ofKey := func(a AffinityTerm) bool { return a.Key == key }
	return slices.ContainsFunc(t.Affinity, ofKey) || slices.ContainsFunc(t.AntiAffinity, ofKey) ||
		slices.ContainsFunc(t.Spread, func(s SpreadTerm) bool { return s.Key == key })
}

// SpreadTerm is a topology spread constraint.
type SpreadTerm struct {
	*PodSelector
	// Field is the constraint's path in the pod, or in the setting that it comes from, for messages.
	Field string
	// Key is the topology key, without the aliases that Kubernetes deprecated.
	Key string
	// MaxSkew and MinDomains are as in Kubernetes; MinDomains is 1 if the pod does not set it.
	MaxSkew, MinDomains int
	// IgnoreAffinity is nodeAffinityPolicy Ignore: domains that the pod may not use count too.
	// HonorTaints is nodeTaintsPolicy Honor: only nodes whose taints the pod tolerates count.
	IgnoreAffinity, HonorTaints bool
	// Preferred is ScheduleAnyway. The term then holds when a pod of the group gets its place; pods of
	// later rounds may break it.
	Preferred bool
}

// AffinityTerm is a term of pod affinity or anti-affinity.
type AffinityTerm struct {
	*PodSelector
	// Field is the term's path in the pod, for messages.
	Field string
	// Key is the topology key, without the aliases that Kubernetes deprecated.
	Key string
	// Preferred terms bind only the pods that have them. Required anti-affinity also keeps later pods
	// away.
	Preferred bool
}

// HostTerms are a pod group's constraints over host names. They limit the pods that share its node.
type HostTerms struct {
	Spread       []SpreadTerm
	AntiAffinity []AffinityTerm
}

// readTopology reads the constraints of a pod between pods. spec is the pod's own, or one without
// some preferences. preferences says whether the preferences in it count. The error names the field
// that cannot be read.
func (w *Workload) readTopology(pod *corev1.Pod, spec *corev1.PodSpec, preferences bool) (TopologyTerms, error) {
	var terms TopologyTerms
	for i := range spec.TopologySpreadConstraints {
		c := &spec.TopologySpreadConstraints[i]
		if c.WhenUnsatisfiable != corev1.DoNotSchedule && !preferences {
			continue
		}
		list := "spec.topologySpreadConstraints"
		if spread.IsDefault(c) {
			list = spread.Setting
		}
		field := w.fieldOf(list, i)
		own := namespaces{names: []string{pod.Namespace}}
		selector, err := w.podSelectorFor(pod, own, c.LabelSelector, c.MatchLabelKeys, nil)
		if err != nil {
			return terms, fmt.Errorf("%s: %w", field, err)
		}
		term := SpreadTerm{
			PodSelector: selector, Field: field,
			Key: scheduling.NormalizeKey(c.TopologyKey), MaxSkew: int(c.MaxSkew), MinDomains: 1,
			IgnoreAffinity: c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore,
			Preferred:      c.WhenUnsatisfiable != corev1.DoNotSchedule,
			HonorTaints:    c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
		}
		if c.MinDomains != nil {
			term.MinDomains = int(*c.MinDomains)
		}
		terms.Spread = append(terms.Spread, term)
	}
	affinity := spec.Affinity
	if affinity == nil {
		return terms, nil
	}
	var err error
	if affinity.PodAffinity != nil {
		var preferred []corev1.WeightedPodAffinityTerm
		if preferences {
			preferred = affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		}
		terms.Affinity, err = w.ReadAffinity(
			pod,
			affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
			preferred,
			"spec.affinity.podAffinity",
		)
	}
	if affinity.PodAntiAffinity != nil && err == nil {
		var preferred []corev1.WeightedPodAffinityTerm
		if preferences {
			preferred = affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		}
		terms.AntiAffinity, err = w.ReadAffinity(
			pod,
			affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
			preferred,
			"spec.affinity.podAntiAffinity",
		)
	}
	return terms, err
}

// ReadAffinity reads the required and preferred terms of a pod's affinity or anti-affinity. parent
// is the path of the field in the pod. The error names the field that cannot be read.
func (w *Workload) ReadAffinity(
	pod *corev1.Pod,
	required []corev1.PodAffinityTerm,
	preferred []corev1.WeightedPodAffinityTerm,
	parent string,
) ([]AffinityTerm, error) {
	var terms []AffinityTerm
	add := func(t *corev1.PodAffinityTerm, field string, preferred bool) error {
		of, namespacesErr := w.namespacesOf(pod, t)
		selector, err := w.podSelectorFor(pod, of, t.LabelSelector, t.MatchLabelKeys, t.MismatchLabelKeys)
		if err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
		if namespacesErr != nil {
			return fmt.Errorf("%s.namespaceSelector: %w", field, namespacesErr)
		}
		key := scheduling.NormalizeKey(t.TopologyKey)
		terms = append(terms, AffinityTerm{PodSelector: selector, Field: field, Key: key, Preferred: preferred})
		return nil
	}
	for i := range required {
		if err := add(&required[i], w.fieldOf(parent+".requiredDuringSchedulingIgnoredDuringExecution", i),
			false); err != nil {
			return nil, err
		}
	}
	for i := range preferred {
		if err := add(&preferred[i].PodAffinityTerm,
			w.fieldOf(parent+".preferredDuringSchedulingIgnoredDuringExecution", i), true); err != nil {
			return nil, err
		}
	}
	return terms, nil
}

// listField is an element of a list in a pod's spec.
type listField struct {
	list  string
	index int
}

// fieldOf returns the path of a list's element. It memoises, because thousands of groups have their
// constraints in the same fields.
func (w *Workload) fieldOf(list string, index int) string {
	at := listField{list, index}
	field, ok := w.fields[at]
	if !ok {
		field = fmt.Sprintf("%s[%d]", list, index)
		w.fields[at] = field
	}
	return field
}
