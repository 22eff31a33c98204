package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// TopologyTerms are what a pod demands of the pods around it, preferences that have not been given
// up among them.
type TopologyTerms struct {
	Spread                 []SpreadTerm
	Affinity, AntiAffinity []AffinityTerm
}

// SpreadTerm is a topology spread constraint that must hold.
type SpreadTerm struct {
	*PodSelector
	Field               string
	Key                 string
	MaxSkew, MinDomains int
	// IgnoreAffinity counts domains that the pod itself may not use (nodeAffinityPolicy Ignore),
	// honorTaints only those whose taints it tolerates (nodeTaintsPolicy Honor).
	IgnoreAffinity, HonorTaints bool
	// Preferred terms (ScheduleAnyway) hold when a pod gets its place, whatever comes after it.
	Preferred bool
}

// AffinityTerm is a term of pod affinity or anti-affinity that must hold.
type AffinityTerm struct {
	*PodSelector
	Field string
	Key   string
	// Preferred terms bind the pod that has them, and not those that come after it.
	Preferred bool
}

// HostTerms are the part of a pod group's topology that bounds what shares a node.
type HostTerms struct {
	Spread       []SpreadTerm
	AntiAffinity []AffinityTerm
}

// readTopology reads what must hold for the pod with this spec, which is its own or one with
// preferences given up; preferences says whether those that are left count. The error names the
// field that cannot be read.
func (p *Workload) readTopology(pod *corev1.Pod, spec *corev1.PodSpec, preferences bool) (TopologyTerms, error) {
	var terms TopologyTerms
	for i := range spec.TopologySpreadConstraints {
		c := &spec.TopologySpreadConstraints[i]
		if c.WhenUnsatisfiable != corev1.DoNotSchedule && !preferences {
			continue
		}
		field := p.fieldOf("spec.topologySpreadConstraints", i)
		peers, err := p.podSelectorFor(pod, []string{pod.Namespace}, c.LabelSelector, c.MatchLabelKeys, nil)
		if err != nil {
			return terms, fmt.Errorf("%s: %w", field, err)
		}
		term := SpreadTerm{
			PodSelector: peers, Field: field,
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
		terms.Affinity, err = p.ReadAffinity(
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
		terms.AntiAffinity, err = p.ReadAffinity(
			pod,
			affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
			preferred,
			"spec.affinity.podAntiAffinity",
		)
	}
	return terms, err
}

func (p *Workload) ReadAffinity(
	pod *corev1.Pod,
	required []corev1.PodAffinityTerm,
	preferred []corev1.WeightedPodAffinityTerm,
	parent string,
) ([]AffinityTerm, error) {
	var terms []AffinityTerm
	add := func(t *corev1.PodAffinityTerm, field string, preferred bool) error {
		namespaces, namespacesErr := p.namespacesOf(pod, t)
		peers, err := p.podSelectorFor(pod, namespaces, t.LabelSelector, t.MatchLabelKeys, t.MismatchLabelKeys)
		if err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
		if namespacesErr != nil {
			return fmt.Errorf("%s.namespaceSelector: %w", field, namespacesErr)
		}
		terms = append(
			terms,
			AffinityTerm{PodSelector: peers, Field: field, Key: scheduling.NormalizeKey(t.TopologyKey), Preferred: preferred},
		)
		return nil
	}
	for i := range required {
		if err := add(&required[i], p.fieldOf(parent+".requiredDuringSchedulingIgnoredDuringExecution", i),
			false); err != nil {
			return nil, err
		}
	}
	for i := range preferred {
		if err := add(&preferred[i].PodAffinityTerm,
			p.fieldOf(parent+".preferredDuringSchedulingIgnoredDuringExecution", i), true); err != nil {
			return nil, err
		}
	}
	return terms, nil
}

// listField is the element of a list in a pod's spec.
type listField struct {
	list  string
	index int
}

// fieldOf names an element of a list in a pod's spec: thousands of pods have their constraints in
// the same places.
func (p *Workload) fieldOf(list string, index int) string {
	at := listField{list, index}
	field, ok := p.fields[at]
	if !ok {
		field = fmt.Sprintf("%s[%d]", list, index)
		p.fields[at] = field
	}
	return field
}

// labelSelectorOf is a label selector, narrowed by the values that the pod itself has of some keys.
func labelSelectorOf(
	selector *metav1.LabelSelector,
	pod *corev1.Pod,
	match, mismatch []string,
) (labels.Selector, error) {
	result, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, fmt.Errorf("labelSelector: %w", err)
	}
	for _, narrow := range []struct {
		keys     []string
		operator selection.Operator
	}{{match, selection.In}, {mismatch, selection.NotIn}} {
		for _, key := range narrow.keys {
			value, ok := pod.Labels[key]
			if !ok {
				continue
			}
			requirement, err := labels.NewRequirement(key, narrow.operator, []string{value})
			if err != nil {
				return nil, fmt.Errorf("label key %q: %w", key, err)
			}
			result = result.Add(*requirement)
		}
	}
	return result, nil
}
