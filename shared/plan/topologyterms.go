package plan

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// topologyTerms are what a pod demands of the pods around it. Preferences (ScheduleAnyway, preferred terms) are not among them.
type topologyTerms struct {
	spread         []spreadTerm
	affinity, anti []affinityTerm
}

// peers are pods by namespace and labels.
type peers struct {
	// namespaces are sorted; nil means every one.
	namespaces []string
	selector   labels.Selector
}

func (s *peers) match(pod *corev1.Pod) bool {
	if s.namespaces != nil && !slices.Contains(s.namespaces, pod.Namespace) {
		return false
	}
	return s.selector.Matches(labels.Set(pod.Labels))
}

func (s *peers) text() string { return fmt.Sprintf("%q %s", s.namespaces, s.selector) }

// spreadTerm is a topology spread constraint that must hold.
type spreadTerm struct {
	peers
	field               string
	key                 string
	maxSkew, minDomains int
	// ignoreAffinity counts domains that the pod itself may not use (nodeAffinityPolicy Ignore), honorTaints only those whose taints it tolerates
	// (nodeTaintsPolicy Honor).
	ignoreAffinity, honorTaints bool
}

// affinityTerm is a term of required pod affinity or anti-affinity.
type affinityTerm struct {
	peers
	field string
	key   string
}

// hostTerms are the part of a shape's topology that bounds what shares a node.
type hostTerms struct {
	spread []spreadTerm
	anti   []affinityTerm
}

// repels reports whether a pod cannot share a node with one that has these terms.
func (h *hostTerms) repels(pod *corev1.Pod) bool {
	return slices.ContainsFunc(h.anti, func(t affinityTerm) bool { return t.match(pod) })
}

// readTopology reads what must hold. The error names the field that cannot be read.
func readTopology(pod *corev1.Pod) (topologyTerms, error) {
	var terms topologyTerms
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		if c.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		field := fmt.Sprintf("spec.topologySpreadConstraints[%d]", i)
		selector, err := selectorOf(c.LabelSelector, pod, c.MatchLabelKeys, nil)
		if err != nil {
			return terms, fmt.Errorf("%s: %w", field, err)
		}
		term := spreadTerm{
			peers: peers{namespaces: []string{pod.Namespace}, selector: selector}, field: field,
			key: scheduling.NormalizeKey(c.TopologyKey), maxSkew: int(c.MaxSkew), minDomains: 1,
			ignoreAffinity: c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore,
			honorTaints:    c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
		}
		if c.MinDomains != nil {
			term.minDomains = int(*c.MinDomains)
		}
		terms.spread = append(terms.spread, term)
	}
	affinity := pod.Spec.Affinity
	if affinity == nil {
		return terms, nil
	}
	var err error
	if affinity.PodAffinity != nil {
		terms.affinity, err = readAffinity(pod, affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, "spec.affinity.podAffinity")
	}
	if affinity.PodAntiAffinity != nil && err == nil {
		terms.anti, err = readAffinity(pod, affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, "spec.affinity.podAntiAffinity")
	}
	return terms, err
}

func readAffinity(pod *corev1.Pod, list []corev1.PodAffinityTerm, parent string) ([]affinityTerm, error) {
	var terms []affinityTerm
	for i := range list {
		field := fmt.Sprintf("%s.requiredDuringSchedulingIgnoredDuringExecution[%d]", parent, i)
		selector, err := selectorOf(list[i].LabelSelector, pod, list[i].MatchLabelKeys, list[i].MismatchLabelKeys)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
		term := affinityTerm{peers: peers{selector: selector}, field: field, key: scheduling.NormalizeKey(list[i].TopologyKey)}
		switch namespaces := list[i].NamespaceSelector; {
		case namespaces == nil && len(list[i].Namespaces) == 0:
			term.namespaces = []string{pod.Namespace}
		case namespaces == nil:
			term.namespaces = slices.Sorted(slices.Values(list[i].Namespaces))
		case len(namespaces.MatchLabels)+len(namespaces.MatchExpressions) > 0:
			return nil, fmt.Errorf("%s.namespaceSelector with conditions cannot be planned for: name the namespaces in %s.namespaces", field, field)
		}
		terms = append(terms, term)
	}
	return terms, nil
}

// selectorOf is a label selector, narrowed by the values that the pod itself has of some keys.
func selectorOf(selector *metav1.LabelSelector, pod *corev1.Pod, match, mismatch []string) (labels.Selector, error) {
	result, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, fmt.Errorf("labelSelector: %w", err)
	}
	add := func(keys []string, operator string) error {
		for _, key := range keys {
			value, ok := pod.Labels[key]
			if !ok {
				continue
			}
			set, err := labels.Parse(fmt.Sprintf("%s %s (%s)", key, operator, value))
			if err != nil {
				return fmt.Errorf("label key %q: %w", key, err)
			}
			requirements, _ := set.Requirements()
			result = result.Add(requirements...)
		}
		return nil
	}
	if err := add(match, "in"); err != nil {
		return nil, err
	}
	return result, add(mismatch, "notin")
}

// constraintLabels are the labels by which any pod of the snapshot selects others.
type constraintLabels struct {
	any  bool
	keys []string
}

func constraintLabelsOf(s *Snapshot) *constraintLabels {
	keys := map[string]bool{}
	result := &constraintLabels{}
	selector := func(s *metav1.LabelSelector) {
		if s == nil {
			return
		}
		for key := range s.MatchLabels {
			keys[key] = true
		}
		for i := range s.MatchExpressions {
			keys[s.MatchExpressions[i].Key] = true
		}
	}
	terms := func(list []corev1.PodAffinityTerm) {
		for i := range list {
			result.any = true
			selector(list[i].LabelSelector)
			for _, key := range slices.Concat(list[i].MatchLabelKeys, list[i].MismatchLabelKeys) {
				keys[key] = true
			}
		}
	}
	read := func(pods []corev1.Pod) {
		for i := range pods {
			spec := &pods[i].Spec
			for j := range spec.TopologySpreadConstraints {
				result.any = true
				selector(spec.TopologySpreadConstraints[j].LabelSelector)
				for _, key := range spec.TopologySpreadConstraints[j].MatchLabelKeys {
					keys[key] = true
				}
			}
			if spec.Affinity != nil && spec.Affinity.PodAffinity != nil {
				terms(spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
			}
			if spec.Affinity != nil && spec.Affinity.PodAntiAffinity != nil {
				terms(spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
			}
		}
	}
	read(s.Pods)
	for i := range s.Nodes {
		read(s.Nodes[i].Pods)
	}
	for key := range keys {
		result.keys = append(result.keys, key)
	}
	slices.Sort(result.keys)
	return result
}
