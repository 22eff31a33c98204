package workload

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// PodSelector selects pods by namespace and labels. Terms that select the same pods share one, so a
// pointer identifies it.
type PodSelector struct {
	Selector   labels.Selector
	namespaces namespaces
	key        string
	// matches remembers the answer for each selector class: unknown, no or yes.
	matches []uint8
}

// namespaces are those of which a term selects pods. All of them and none are two things: a
// selector may match no namespace.
type namespaces struct {
	all   bool
	names []string // sorted; empty if all is set
}

func (n namespaces) has(name string) bool {
	_, found := slices.BinarySearch(n.names, name)
	return n.all || found
}

// The values of PodSelector.matches.
const (
	matchUnknown = iota
	matchNo
	matchYes
)

// Matches reports whether the selector selects the pod.
func (s *PodSelector) Matches(pod *corev1.Pod) bool {
	return s.namespaces.has(pod.Namespace) && s.Selector.Matches(labels.Set(pod.Labels))
}

// MatchesClass reports whether the selector selects the pods of a selector class.
func (s *PodSelector) MatchesClass(classes *Classes, class int) bool {
	if class >= len(s.matches) {
		further := max(len(classes.Samples)-len(s.matches), class+1-len(s.matches))
		s.matches = append(s.matches, make([]uint8, further)...)
	}
	if s.matches[class] == matchUnknown {
		s.matches[class] = matchNo
		if s.Matches(classes.Samples[class]) {
			s.matches[class] = matchYes
		}
	}
	return s.matches[class] == matchYes
}

// Key is a text that identifies the selector within its Workload.
func (s *PodSelector) Key() string { return s.key }

// podSelector returns the shared PodSelector for these namespaces and labels.
func (w *Workload) podSelector(of namespaces, selector labels.Selector) *PodSelector {
	text := selector.String()
	if _, selects := selector.Requirements(); !selects {
		text = "nothing" // its text is that of a selector for everything
	}
	key := strings.Join(of.names, ",") + " " + text
	if of.all {
		key = "* " + text
	}
	if known, ok := w.selectors[key]; ok {
		return known
	}
	s := &PodSelector{namespaces: of, Selector: selector, key: key}
	w.selectors[key] = s
	return s
}

// selectorResult is what a term's selector reads as: a pod selector or an error.
type selectorResult struct {
	selector *PodSelector
	err      error
}

// podSelectorFor reads the selector of a term: a label selector, narrowed by the pod's own values
// of the labels in match and mismatch. Equal terms of equal pods are read once.
func (w *Workload) podSelectorFor(
	pod *corev1.Pod,
	of namespaces,
	selector *metav1.LabelSelector,
	match, mismatch []string,
) (*PodSelector, error) {
	k := &w.selectorKey
	k.buffer = k.buffer[:0]
	k.flag(of.all)
	k.number(int64(len(of.names)))
	for _, namespace := range of.names {
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
	if known, ok := w.selectorResults[string(k.buffer)]; ok {
		return known.selector, known.err
	}
	key := string(k.buffer)
	var result selectorResult
	labelSelector, err := labelSelectorFor(pod, selector, match, mismatch)
	if err != nil {
		result.err = err
	} else {
		result.selector = w.podSelector(namespaces{of.all, slices.Clone(of.names)}, labelSelector)
	}
	w.selectorResults[key] = result
	return result.selector, result.err
}

// labelSelectorFor returns a label selector, narrowed by matchLabelKeys and mismatchLabelKeys: the
// pod's own values of those labels are required or excluded.
func labelSelectorFor(
	pod *corev1.Pod,
	selector *metav1.LabelSelector,
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

// namespacesOf returns the namespaces of a pod affinity term.
func (w *Workload) namespacesOf(pod *corev1.Pod, term *corev1.PodAffinityTerm) (namespaces, error) {
	switch s := term.NamespaceSelector; {
	case s == nil && len(term.Namespaces) == 0:
		return namespaces{names: []string{pod.Namespace}}, nil
	case s == nil:
		return namespaces{names: slices.Compact(slices.Sorted(slices.Values(term.Namespaces)))}, nil
	case len(s.MatchLabels)+len(s.MatchExpressions) == 0:
		return namespaces{all: true}, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(term.NamespaceSelector)
	if err != nil {
		return namespaces{}, err
	}
	names := slices.Clone(term.Namespaces)
	for i := range w.Snapshot.Namespaces {
		namespace := &w.Snapshot.Namespaces[i]
		// The API server gives every namespace this label. A snapshot from a manifest may lack it.
		set := labels.Set{corev1.LabelMetadataName: namespace.Name}
		if selector.Matches(labels.Merge(namespace.Labels, set)) {
			names = append(names, namespace.Name)
		}
	}
	slices.Sort(names)
	return namespaces{names: slices.Compact(names)}, nil
}
