package workload

import (
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/dense"

	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Classes numbers pods by what selectors can tell apart: their namespace, and their labels as far
// as any selector of the snapshot asks for them. A cluster of a hundred thousand pods has a few
// hundred classes, so that matching a selector is done once a class and not once a pod.
type Classes struct {
	// keys are the label keys that any selector asks for, sorted; any is false if nothing selects pods
	// at all.
	keys    []string
	Any     bool
	byKey   map[string]int
	Samples []*corev1.Pod
	buffer  []byte
}

// of is the number of the pod's class. Where nothing selects pods they are all of one.
func (c *Classes) of(pod *corev1.Pod) int {
	if !c.Any && len(c.Samples) > 0 {
		return 0
	}
	c.buffer = append(append(c.buffer[:0], pod.Namespace...), 0)
	for _, key := range c.keys {
		if value, ok := pod.Labels[key]; ok {
			c.buffer = append(append(c.buffer, 1), value...)
		}
		c.buffer = append(c.buffer, 0)
	}
	if class, ok := c.byKey[string(c.buffer)]; ok {
		return class
	}
	class := len(c.Samples)
	if c.byKey == nil {
		c.byKey = map[string]int{}
	}
	c.byKey[string(c.buffer)] = class
	c.Samples = append(c.Samples, pod)
	return class
}

// PodSelector are pods by namespace and labels. Terms that mean the same pods share one.
type PodSelector struct {
	// namespaces are sorted; nil means every one.
	namespaces []string
	Selector   labels.Selector
	key        string
	// known remembers by class whether its pods are selected pods: 0 is not known yet, 1 no, 2 yes.
	known []uint8
}

func (s *PodSelector) Matches(pod *corev1.Pod) bool {
	if s.namespaces != nil {
		if _, ok := slices.BinarySearch(s.namespaces, pod.Namespace); !ok {
			return false
		}
	}
	return s.Selector.Matches(labels.Set(pod.Labels))
}

// MatchesClass reports whether the pods of a class are selected pods.
func (s *PodSelector) MatchesClass(classes *Classes, class int) bool {
	if class >= len(s.known) {
		s.known = append(s.known, make([]uint8, max(len(classes.Samples)-len(s.known), class+1-len(s.known)))...)
	}
	if s.known[class] == 0 {
		s.known[class] = 1
		if s.Matches(classes.Samples[class]) {
			s.known[class] = 2
		}
	}
	return s.known[class] == 2
}

// Key names the same pods by the same text.
func (s *PodSelector) Key() string { return s.key }

// readClasses finds out which labels matter. Of the pods that run, only required anti-affinity
// reaches those that wait.
func readClasses(s *plan.Snapshot) *Classes {
	r := &selectedKeys{keys: map[string]bool{}}
	for i := range s.Pods {
		spec := &s.Pods[i].Spec
		for j := range spec.TopologySpreadConstraints {
			r.selector(spec.TopologySpreadConstraints[j].LabelSelector)
			r.add(spec.TopologySpreadConstraints[j].MatchLabelKeys)
		}
		if spec.Affinity == nil {
			continue
		}
		if a := spec.Affinity.PodAffinity; a != nil {
			r.terms(a.RequiredDuringSchedulingIgnoredDuringExecution)
			r.weighted(a.PreferredDuringSchedulingIgnoredDuringExecution)
		}
		if a := spec.Affinity.PodAntiAffinity; a != nil {
			r.terms(a.RequiredDuringSchedulingIgnoredDuringExecution)
			r.weighted(a.PreferredDuringSchedulingIgnoredDuringExecution)
		}
	}
	for i := range s.Nodes {
		for j := range s.Nodes[i].Pods {
			if a := s.Nodes[i].Pods[j].Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
				r.terms(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
			}
		}
	}
	return &Classes{Any: r.any, keys: dense.SortedKeys(r.keys)}
}

// selectedKeys collects the label keys that selectors ask for. any says that there is a selector.
type selectedKeys struct {
	keys map[string]bool
	any  bool
}

func (r *selectedKeys) add(keys []string) {
	for _, key := range keys {
		r.keys[key] = true
	}
}

func (r *selectedKeys) selector(selector *metav1.LabelSelector) {
	r.any = true
	if selector == nil {
		return
	}
	for key := range selector.MatchLabels {
		r.keys[key] = true
	}
	for i := range selector.MatchExpressions {
		r.keys[selector.MatchExpressions[i].Key] = true
	}
}

func (r *selectedKeys) term(t *corev1.PodAffinityTerm) {
	r.selector(t.LabelSelector)
	r.add(t.MatchLabelKeys)
	r.add(t.MismatchLabelKeys)
}

func (r *selectedKeys) terms(terms []corev1.PodAffinityTerm) {
	for i := range terms {
		r.term(&terms[i])
	}
}

func (r *selectedKeys) weighted(terms []corev1.WeightedPodAffinityTerm) {
	for i := range terms {
		r.term(&terms[i].PodAffinityTerm)
	}
}

// podSelector is the one value for these pods.
func (p *Workload) podSelector(namespaces []string, selector labels.Selector) *PodSelector {
	name := "* " + selector.String()
	if namespaces != nil {
		name = strings.Join(namespaces, ",") + " " + selector.String()
	}
	if present, ok := p.selectors[name]; ok {
		return present
	}
	made := &PodSelector{namespaces: namespaces, Selector: selector, key: name}
	p.selectors[name] = made
	return made
}

// readSelector are selected pods with the error that their selector gave instead.
type readSelector struct {
	selector *PodSelector
	err      error
}

// podSelectorFor are the pods of the namespaces that a term means: its selector, narrowed by the
// values that the pod itself has of some keys. Terms that say the same are read once.
func (p *Workload) podSelectorFor(
	pod *corev1.Pod,
	namespaces []string,
	selector *metav1.LabelSelector,
	match, mismatch []string,
) (*PodSelector, error) {
	k := &p.termKey
	k.buffer = k.buffer[:0]
	k.flag(namespaces != nil)
	k.number(int64(len(namespaces)))
	for _, namespace := range namespaces {
		k.text(namespace)
	}
	k.selector(selector)
	for _, keys := range [...][]string{match, mismatch} {
		k.number(int64(len(keys)))
		for _, key := range keys {
			value, ok := pod.Labels[key]
			k.text(key)
			k.flag(ok)
			k.text(value)
		}
	}
	if known, ok := p.readSelectors[string(k.buffer)]; ok {
		return known.selector, known.err
	}
	text := string(k.buffer)
	var chosen readSelector
	read, err := labelSelectorOf(selector, pod, match, mismatch)
	if err != nil {
		chosen.err = err
	} else {
		chosen.selector = p.podSelector(slices.Clone(namespaces), read)
	}
	p.readSelectors[text] = chosen
	return chosen.selector, chosen.err
}

// namespacesOf are the namespaces that a pod affinity term means, sorted; nil for all.
func (p *Workload) namespacesOf(pod *corev1.Pod, term *corev1.PodAffinityTerm) ([]string, error) {
	switch s := term.NamespaceSelector; {
	case s == nil && len(term.Namespaces) == 0:
		return []string{pod.Namespace}, nil
	case s == nil:
		return slices.Compact(slices.Sorted(slices.Values(term.Namespaces))), nil
	case len(s.MatchLabels)+len(s.MatchExpressions) == 0:
		return nil, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(term.NamespaceSelector)
	if err != nil {
		return nil, err
	}
	names := slices.Clone(term.Namespaces)
	for i := range p.Snapshot.Namespaces {
		namespace := &p.Snapshot.Namespaces[i]
		// Kubernetes gives every namespace this label; a manifest may leave it out.
		set := labels.Set{corev1.LabelMetadataName: namespace.Name}
		if selector.Matches(labels.Merge(namespace.Labels, set)) {
			names = append(names, namespace.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
