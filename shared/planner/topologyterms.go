package planner

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// topologyTerms are what a pod demands of the pods around it, preferences that have not been given up among them.
type topologyTerms struct {
	spread         []spreadTerm
	affinity, anti []affinityTerm
}

// spreadTerm is a topology spread constraint that must hold.
type spreadTerm struct {
	*peers
	field               string
	key                 string
	maxSkew, minDomains int
	// ignoreAffinity counts domains that the pod itself may not use (nodeAffinityPolicy Ignore), honorTaints only those whose taints it tolerates
	// (nodeTaintsPolicy Honor).
	ignoreAffinity, honorTaints bool
	// preferred terms (ScheduleAnyway) hold when a pod gets its place, whatever comes after it.
	preferred bool
}

// affinityTerm is a term of pod affinity or anti-affinity that must hold.
type affinityTerm struct {
	*peers
	field string
	key   string
	// preferred terms bind the pod that has them, and not those that come after it.
	preferred bool
}

// hostTerms are the part of a shape's topology that bounds what shares a node.
type hostTerms struct {
	spread []spreadTerm
	anti   []affinityTerm
}

// readTopology reads what must hold for the pod with this spec, which is its own or one with preferences given up; preferences says whether those that are
// left count. The error names the field that cannot be read.
func (p *workload) readTopology(pod *corev1.Pod, spec *corev1.PodSpec, preferences bool) (topologyTerms, error) {
	var terms topologyTerms
	for i := range spec.TopologySpreadConstraints {
		c := &spec.TopologySpreadConstraints[i]
		if c.WhenUnsatisfiable != corev1.DoNotSchedule && !preferences {
			continue
		}
		field := p.fieldOf("spec.topologySpreadConstraints", i)
		peers, err := p.peersFor(pod, []string{pod.Namespace}, c.LabelSelector, c.MatchLabelKeys, nil)
		if err != nil {
			return terms, fmt.Errorf("%s: %w", field, err)
		}
		term := spreadTerm{
			peers: peers, field: field,
			key: scheduling.NormalizeKey(c.TopologyKey), maxSkew: int(c.MaxSkew), minDomains: 1,
			ignoreAffinity: c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore,
			preferred:      c.WhenUnsatisfiable != corev1.DoNotSchedule,
			honorTaints:    c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
		}
		if c.MinDomains != nil {
			term.minDomains = int(*c.MinDomains)
		}
		terms.spread = append(terms.spread, term)
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
		terms.affinity, err = p.readAffinity(pod, affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, preferred, "spec.affinity.podAffinity")
	}
	if affinity.PodAntiAffinity != nil && err == nil {
		var preferred []corev1.WeightedPodAffinityTerm
		if preferences {
			preferred = affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		}
		terms.anti, err = p.readAffinity(pod, affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, preferred, "spec.affinity.podAntiAffinity")
	}
	return terms, err
}

func (p *workload) readAffinity(pod *corev1.Pod, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, parent string) ([]affinityTerm, error) {
	var terms []affinityTerm
	add := func(t *corev1.PodAffinityTerm, field string, preferred bool) error {
		namespaces, namespacesErr := p.namespacesOf(pod, t)
		peers, err := p.peersFor(pod, namespaces, t.LabelSelector, t.MatchLabelKeys, t.MismatchLabelKeys)
		if err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
		if namespacesErr != nil {
			return fmt.Errorf("%s.namespaceSelector: %w", field, namespacesErr)
		}
		terms = append(terms, affinityTerm{peers: peers, field: field, key: scheduling.NormalizeKey(t.TopologyKey), preferred: preferred})
		return nil
	}
	for i := range required {
		if err := add(&required[i], p.fieldOf(parent+".requiredDuringSchedulingIgnoredDuringExecution", i), false); err != nil {
			return nil, err
		}
	}
	for i := range preferred {
		if err := add(&preferred[i].PodAffinityTerm, p.fieldOf(parent+".preferredDuringSchedulingIgnoredDuringExecution", i), true); err != nil {
			return nil, err
		}
	}
	return terms, nil
}

// indexed is the element of a list in a pod's spec.
type indexed struct {
	list  string
	index int
}

// fieldOf names an element of a list in a pod's spec: thousands of pods have their constraints in the same places.
func (p *workload) fieldOf(list string, index int) string {
	at := indexed{list, index}
	field, ok := p.fields[at]
	if !ok {
		field = fmt.Sprintf("%s[%d]", list, index)
		p.fields[at] = field
	}
	return field
}

// selectorOf is a label selector, narrowed by the values that the pod itself has of some keys.
func selectorOf(selector *metav1.LabelSelector, pod *corev1.Pod, match, mismatch []string) (labels.Selector, error) {
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
