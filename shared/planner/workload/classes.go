package workload

import (
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/dense"

	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Classes numbers the selector classes: pods of one class have the same namespace, and the same
// values of all labels that some selector of the snapshot mentions. A cluster of 100,000 pods has a
// few hundred classes. The planner matches a selector once for each class, not once for each pod.
type Classes struct {
	// Any says that some constraint selects pods. Without one, all pods are of class 0.
	Any bool
	// Samples has one pod of each class, by the class's number.
	Samples []*corev1.Pod
	// keys are the labels that selectors mention, sorted.
	keys  []string
	byKey map[string]int
	// buffer is memory for the key of one pod.
	buffer []byte
}

// of returns the number of the pod's class.
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

// readClasses finds the labels that selectors mention. Waiting pods contribute all their terms. Of
// running pods and of daemon sets, only required anti-affinity can keep waiting pods away.
func readClasses(s *plan.Snapshot) *Classes {
	mentioned := &mentionedLabels{keys: map[string]bool{}}
	for i := range s.Pods {
		spec := &s.Pods[i].Spec
		for j := range spec.TopologySpreadConstraints {
			mentioned.selector(spec.TopologySpreadConstraints[j].LabelSelector)
			mentioned.add(spec.TopologySpreadConstraints[j].MatchLabelKeys)
		}
		if spec.Affinity == nil {
			continue
		}
		if a := spec.Affinity.PodAffinity; a != nil {
			mentioned.terms(a.RequiredDuringSchedulingIgnoredDuringExecution)
			mentioned.weighted(a.PreferredDuringSchedulingIgnoredDuringExecution)
		}
		if a := spec.Affinity.PodAntiAffinity; a != nil {
			mentioned.terms(a.RequiredDuringSchedulingIgnoredDuringExecution)
			mentioned.weighted(a.PreferredDuringSchedulingIgnoredDuringExecution)
		}
	}
	for i := range s.Nodes {
		for j := range s.Nodes[i].Pods {
			if a := s.Nodes[i].Pods[j].Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
				mentioned.terms(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
			}
		}
	}
	for i := range s.DaemonSets {
		if a := s.DaemonSets[i].Spec.Template.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
			mentioned.terms(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
	}
	return &Classes{Any: mentioned.any, keys: dense.SortedKeys(mentioned.keys)}
}

// mentionedLabels collects the label keys of selectors. any says that there is a selector at all.
type mentionedLabels struct {
	keys map[string]bool
	any  bool
}

func (m *mentionedLabels) add(keys []string) {
	for _, key := range keys {
		m.keys[key] = true
	}
}

func (m *mentionedLabels) selector(selector *metav1.LabelSelector) {
	m.any = true
	if selector == nil {
		return
	}
	for key := range selector.MatchLabels {
		m.keys[key] = true
	}
	for i := range selector.MatchExpressions {
		m.keys[selector.MatchExpressions[i].Key] = true
	}
}

func (m *mentionedLabels) term(t *corev1.PodAffinityTerm) {
	m.selector(t.LabelSelector)
	m.add(t.MatchLabelKeys)
	m.add(t.MismatchLabelKeys)
}

func (m *mentionedLabels) terms(terms []corev1.PodAffinityTerm) {
	for i := range terms {
		m.term(&terms[i])
	}
}

func (m *mentionedLabels) weighted(terms []corev1.WeightedPodAffinityTerm) {
	for i := range terms {
		m.term(&terms[i].PodAffinityTerm)
	}
}
