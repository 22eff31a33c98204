package consolidation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// terms are what the cluster's pods ask of where they run and of each other, as far as it has to be known which of them can be looked at alone.
type terms struct {
	// selectors are those by which some pod's spread or affinity counts others. Namespaces are passed over: a pod too many is counted then.
	selectors []labels.Selector
	// number is a selector's place in the list, by its text; counts are the numbers of those that select pods with such labels, by these.
	number map[string]int
	counts map[string][]int
	// topologies are the labels by which pods are counted, but the host's name.
	topologies []string
	shapes     []*podShape
	byKey      map[string]int
	axes       map[corev1.ResourceName]int
	key        strings.Builder
}

// podShape are pods that take as much, and may run on the same nodes as far as labels and taints go.
type podShape struct {
	takes    amounts
	affinity nodeaffinity.RequiredNodeAffinity
	selects  bool
	spec     *corev1.PodSpec
	// key is for sorting shapes, whatever order they were read in.
	key string
}

// amounts are how much there is of each resource, by its number in terms.axes; what is not in the list is none.
type amounts []int64

// readTerms reads the selectors of all pods, waiting and running.
func readTerms(cluster *plan.Snapshot) *terms {
	t := &terms{number: map[string]int{}, counts: map[string][]int{}, byKey: map[string]int{}, axes: map[corev1.ResourceName]int{corev1.ResourceCPU: 0, corev1.ResourceMemory: 1}}
	add := func(topology string, selector *metav1.LabelSelector) {
		if topology != corev1.LabelHostname && !slices.Contains(t.topologies, topology) {
			t.topologies = append(t.topologies, topology)
		}
		if selector == nil {
			return
		}
		parsed, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			return // it selects nobody
		}
		if _, known := t.number[parsed.String()]; !known {
			t.number[parsed.String()] = len(t.selectors)
			t.selectors = append(t.selectors, parsed)
		}
	}
	for i := range cluster.Pods {
		eachSelector(&cluster.Pods[i].Spec, add)
	}
	for i := range cluster.Nodes {
		for j := range cluster.Nodes[i].Pods {
			eachSelector(&cluster.Nodes[i].Pods[j].Spec, add)
		}
	}
	return t
}

func eachSelector(spec *corev1.PodSpec, add func(topology string, selector *metav1.LabelSelector)) {
	for i := range spec.TopologySpreadConstraints {
		add(spec.TopologySpreadConstraints[i].TopologyKey, spec.TopologySpreadConstraints[i].LabelSelector)
	}
	each := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			add(required[i].TopologyKey, required[i].LabelSelector)
		}
		for i := range preferred {
			add(preferred[i].PodAffinityTerm.TopologyKey, preferred[i].PodAffinityTerm.LabelSelector)
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

// read tells whether the pod is bound to others, and counted by others, and gives its shape.
func (t *terms) read(pod *corev1.Pod) (bound, counted bool, shape int) {
	bound = len(pod.Spec.TopologySpreadConstraints) > 0 ||
		pod.Spec.Affinity != nil && (pod.Spec.Affinity.PodAffinity != nil || pod.Spec.Affinity.PodAntiAffinity != nil)
	return bound, len(t.countedBy(pod)) > 0, t.shapeOf(pod)
}

// ties are the numbers of the selectors that the pod counts others by, and of those that count it.
func (t *terms) ties(pod *corev1.Pod) []int {
	ties := slices.Clone(t.countedBy(pod))
	eachSelector(&pod.Spec, func(_ string, selector *metav1.LabelSelector) {
		if parsed, err := metav1.LabelSelectorAsSelector(selector); err == nil {
			if number, known := t.number[parsed.String()]; known && !slices.Contains(ties, number) {
				ties = append(ties, number)
			}
		}
	})
	return ties
}

// countedBy are the numbers of the selectors that select the pod.
func (t *terms) countedBy(pod *corev1.Pod) []int {
	if len(t.selectors) == 0 {
		return nil
	}
	t.key.Reset()
	for _, name := range slices.Sorted(maps.Keys(pod.Labels)) {
		t.key.WriteString(name)
		t.key.WriteByte('=')
		t.key.WriteString(pod.Labels[name])
		t.key.WriteByte('\n')
	}
	key := t.key.String()
	counted, known := t.counts[key]
	if !known {
		for number, selector := range t.selectors {
			if selector.Matches(labels.Set(pod.Labels)) {
				counted = append(counted, number)
			}
		}
		t.counts[key] = counted
	}
	return counted
}

// alone tells whether the pod takes nothing of its node that others must know of but its requests.
func alone(spec *corev1.PodSpec) bool {
	for i := range spec.Volumes {
		if spec.Volumes[i].PersistentVolumeClaim != nil || spec.Volumes[i].Ephemeral != nil || spec.Volumes[i].CSI != nil {
			return false
		}
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for _, port := range containers[i].Ports {
				if port.HostPort > 0 || spec.HostNetwork {
					return false
				}
			}
		}
	}
	return true
}

func (t *terms) axis(name corev1.ResourceName) int {
	axis, known := t.axes[name]
	if !known {
		axis = len(t.axes)
		t.axes[name] = axis
	}
	return axis
}

// takesOf is what a pod takes of its node.
func (t *terms) takesOf(pod *corev1.Pod) amounts {
	var takes amounts
	scheduling.EachRequestedAmount(pod, func(name corev1.ResourceName, amount int64) {
		axis := t.axis(name)
		for len(takes) <= axis {
			takes = append(takes, 0)
		}
		takes[axis] = scheduling.AddAmounts(takes[axis], amount)
	})
	return takes
}

func (t *terms) shapeOf(pod *corev1.Pod) int {
	takes := t.takesOf(pod)
	key := &t.key
	key.Reset()
	for axis, amount := range takes {
		if amount != 0 {
			fmt.Fprintf(key, "%d=%d,", axis, amount)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pod.Spec.NodeSelector)) {
		fmt.Fprintf(key, "%s=%s\n", name, pod.Spec.NodeSelector[name])
	}
	for i := range pod.Spec.Tolerations {
		toleration := &pod.Spec.Tolerations[i]
		fmt.Fprintf(key, "%s %s %s %s\n", toleration.Key, toleration.Operator, toleration.Value, toleration.Effect)
	}
	selects := len(pod.Spec.NodeSelector) > 0
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		selects = true
		// What a decoder gave can be encoded.
		written, _ := json.Marshal(a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		key.Write(written)
	}
	written := key.String()
	number, known := t.byKey[written]
	if !known {
		number = len(t.shapes)
		t.byKey[written] = number
		t.shapes = append(t.shapes, &podShape{
			takes: takes, affinity: nodeaffinity.GetRequiredNodeAffinity(pod), selects: selects, spec: &pod.Spec, key: written,
		})
	}
	return number
}
