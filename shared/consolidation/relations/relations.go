package relations

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/whittle-dev/whittle/shared/plan"
)

// Index numbers the label selectors by which pods count other pods.
type Index struct {
	selectors []labels.Selector
	// numbers has a selector's place in the list, by its text.
	numbers map[string]int
	// addresses has a selector's place by its address, because the pods of a workload share it.
	addresses map[*metav1.LabelSelector]int
	// matching has the numbers of the selectors that select pods with some labels, by the labels.
	matching   map[string][]int
	topologies []string
	key        strings.Builder
}

// Read numbers the selectors of all pods of the snapshot, pending and running.
func Read(cluster *plan.Snapshot) *Index {
	x := &Index{
		numbers: map[string]int{}, addresses: map[*metav1.LabelSelector]int{}, matching: map[string][]int{},
	}
	for i := range cluster.Pods {
		eachTerm(&cluster.Pods[i].Spec, x.add)
	}
	for i := range cluster.Nodes {
		for j := range cluster.Nodes[i].Pods {
			eachTerm(&cluster.Nodes[i].Pods[j].Spec, x.add)
		}
	}
	return x
}

func (x *Index) add(topology string, selector *metav1.LabelSelector) {
	if topology != corev1.LabelHostname && !slices.Contains(x.topologies, topology) {
		x.topologies = append(x.topologies, topology)
	}
	if selector == nil {
		return
	}
	if _, known := x.addresses[selector]; known {
		return
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return // The API server stores no such selector, and it would select no pod.
	}
	text := parsed.String()
	number, known := x.numbers[text]
	if !known {
		number = len(x.selectors)
		x.numbers[text] = number
		x.selectors = append(x.selectors, parsed)
	}
	x.addresses[selector] = number
}

// number returns the selector's place in the list, if it has one.
func (x *Index) number(selector *metav1.LabelSelector) (number int, known bool) {
	if number, known = x.addresses[selector]; known {
		return number, true
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return 0, false
	}
	number, known = x.numbers[parsed.String()]
	return number, known
}

// Selectors is how many selectors there are. Their numbers begin at zero.
func (x *Index) Selectors() int { return len(x.selectors) }

// Topologies are the node labels by which pods are counted, except the host name.
func (x *Index) Topologies() []string { return x.topologies }

// Of tells whether spread or affinity relates the pod to others. It returns the numbers of the
// selectors that select the pod, and of those by which the pod counts others.
func (x *Index) Of(pod *corev1.Pod) (related bool, selectors []int) {
	constrains := len(pod.Spec.TopologySpreadConstraints) > 0 ||
		pod.Spec.Affinity != nil && (pod.Spec.Affinity.PodAffinity != nil || pod.Spec.Affinity.PodAntiAffinity != nil)
	selecting := x.selecting(pod)
	if !constrains {
		return len(selecting) > 0, selecting
	}
	selectors = slices.Clone(selecting)
	eachTerm(&pod.Spec, func(_ string, selector *metav1.LabelSelector) {
		if number, known := x.number(selector); known && !slices.Contains(selectors, number) {
			selectors = append(selectors, number)
		}
	})
	return true, selectors
}

// selecting are the numbers of the selectors that select the pod. Pods with equal labels share the
// slice.
func (x *Index) selecting(pod *corev1.Pod) []int {
	if len(x.selectors) == 0 {
		return nil
	}
	x.key.Reset()
	for _, name := range slices.Sorted(maps.Keys(pod.Labels)) {
		x.key.WriteString(name)
		x.key.WriteByte('=')
		x.key.WriteString(pod.Labels[name])
		x.key.WriteByte('\n')
	}
	key := x.key.String()
	numbers, known := x.matching[key]
	if !known {
		for number, selector := range x.selectors {
			if selector.Matches(labels.Set(pod.Labels)) {
				numbers = append(numbers, number)
			}
		}
		x.matching[key] = numbers
	}
	return numbers
}

// eachTerm calls the function for each spread constraint and each affinity term of the pod.
func eachTerm(spec *corev1.PodSpec, found func(topology string, selector *metav1.LabelSelector)) {
	for i := range spec.TopologySpreadConstraints {
		found(spec.TopologySpreadConstraints[i].TopologyKey, spec.TopologySpreadConstraints[i].LabelSelector)
	}
	each := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			found(required[i].TopologyKey, required[i].LabelSelector)
		}
		for i := range preferred {
			found(preferred[i].PodAffinityTerm.TopologyKey, preferred[i].PodAffinityTerm.LabelSelector)
		}
	}
	if spec.Affinity == nil {
		return
	}
	if near := spec.Affinity.PodAffinity; near != nil {
		each(near.RequiredDuringSchedulingIgnoredDuringExecution, near.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if away := spec.Affinity.PodAntiAffinity; away != nil {
		each(away.RequiredDuringSchedulingIgnoredDuringExecution, away.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}
