package podrules

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/whittle-dev/whittle/functions/console/document"
)

// Unmeant returns what an API server accepts, and a person hardly means: a part of a byte, and a
// spread that does not count the pod.
func Unmeant(pod Pod) []document.Problem {
	f := &findings{Pod: pod}
	for _, c := range f.containers() {
		f.bytes(c.Resources.Requests, c.list, c.index, "resources", "requests")
		f.bytes(c.Resources.Limits, c.list, c.index, "resources", "limits")
	}
	if f.Spec.Resources != nil {
		f.bytes(f.Spec.Resources.Requests, "resources", "requests")
		f.bytes(f.Spec.Resources.Limits, "resources", "limits")
	}
	for i := range f.Spec.TopologySpreadConstraints {
		s := f.Spec.TopologySpreadConstraints[i].LabelSelector
		selector, err := metav1.LabelSelectorAsSelector(s)
		switch {
		case s == nil:
			f.add("is missing: the constraint counts no pod, and spreads nothing", "topologySpreadConstraints", i,
				"labelSelector")
		case err == nil && !selector.Matches(labels.Set(pod.Labels)):
			f.add("does not select the pod itself: the constraint does not spread such pods", "topologySpreadConstraints", i,
				"labelSelector")
		}
	}
	return f.problems
}

// bytes finds thousandths of a byte.
func (f *findings) bytes(list corev1.ResourceList, steps ...any) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		amount := list[name]
		if (name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage) && !isWhole(amount) {
			f.add(fmt.Sprintf("%s: is a part of a byte: m means thousandths, Mi is 1,048,576 bytes", amount.String()),
				append(slices.Clone(steps), string(name))...)
		}
	}
}
