package workload

import (
	"encoding/binary"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// podKey writes pods as bytes, such that pods with equal bytes are equal for scheduling. It is the
// one thing done for each single pod, thousands of times, so it reads the pod's own fields where a
// general encoding would take fifty times as long.
type podKey struct {
	buffer []byte
	// sum is what the last pod takes of a node, by name.
	sum   []request
	names []string
	// classes has the label keys that a selector of some constraint asks for. Other labels do not
	// matter, and namespaces only if there are any constraints.
	classes *Classes
	// preferences says that preferences count.
	preferences bool
	// volumes tells apart what pods' volumes demand of a node.
	volumes func(*corev1.Pod) string
	// placementStart and placementEnd are where node selector, required node affinity and tolerations
	// stand in the last key.
	placementStart, placementEnd int
}

// of gives the key; it is valid until the next call.
func (k *podKey) of(pod *corev1.Pod) []byte {
	k.buffer = k.buffer[:0]
	k.requests(pod)
	spec := &pod.Spec
	k.nodeTerms(spec)
	k.hostPorts(spec)
	if k.preferences && spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		for i := range spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			t := &spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i]
			k.number(int64(t.Weight))
			k.expressions(t.Preference.MatchExpressions)
			k.expressions(t.Preference.MatchFields)
		}
	}
	if len(spec.Volumes) > 0 {
		k.text(k.volumes(pod))
	}
	k.number(int64(len(spec.ResourceClaims)))
	if k.classes.Any {
		k.text(pod.Namespace)
		for _, key := range k.classes.keys {
			value, ok := pod.Labels[key]
			k.flag(ok)
			k.text(value)
		}
		k.topology(spec)
	}
	return k.buffer
}

// nodeTerms writes the node selector, the required node affinity and the tolerations.
func (k *podKey) nodeTerms(spec *corev1.PodSpec) {
	k.placementStart = len(k.buffer)
	k.labels(spec.NodeSelector)
	if affinity := spec.Affinity; affinity != nil && affinity.NodeAffinity != nil &&
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		terms := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		// Required node affinity without terms matches no node, which is not the same as having none.
		k.number(int64(len(terms)) + 1)
		for i := range terms {
			k.expressions(terms[i].MatchExpressions)
			k.expressions(terms[i].MatchFields)
		}
	} else {
		k.number(0)
	}
	k.number(int64(len(spec.Tolerations)))
	for i := range spec.Tolerations {
		t := &spec.Tolerations[i]
		k.text(t.Key)
		k.text(string(t.Operator))
		k.text(t.Value)
		k.text(string(t.Effect))
	}
	k.placementEnd = len(k.buffer)
}

// hostPorts writes the host ports of all containers.
func (k *podKey) hostPorts(spec *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for _, port := range containers[i].Ports {
				if port.HostPort != 0 {
					k.number(int64(port.HostPort))
					k.text(string(port.Protocol))
					k.text(port.HostIP)
				}
			}
		}
	}
}

// requests writes what the pod takes of a node, and keeps it in sum.
func (k *podKey) requests(pod *corev1.Pod) {
	k.sum = k.sum[:0]
	scheduling.EachRequestedAmount(pod, k.add)
	// To ask for none of a resource is to ask for nothing.
	k.sum = slices.DeleteFunc(k.sum, func(r request) bool { return r.amount == 0 })
	k.number(int64(len(k.sum)))
	for i := range k.sum {
		k.text(string(k.sum[i].name))
		k.number(k.sum[i].amount)
	}
}

// add adds a request to the sum, which is sorted by name.
func (k *podKey) add(name corev1.ResourceName, amount int64) {
	i := len(k.sum)
	for i > 0 && k.sum[i-1].name > name {
		i--
	}
	if i > 0 && k.sum[i-1].name == name {
		k.sum[i-1].amount = scheduling.AddAmounts(k.sum[i-1].amount, amount)
		return
	}
	k.sum = slices.Insert(k.sum, i, request{name: name, amount: amount})
}

func (k *podKey) topology(spec *corev1.PodSpec) {
	for i := range spec.TopologySpreadConstraints {
		c := &spec.TopologySpreadConstraints[i]
		if c.WhenUnsatisfiable != corev1.DoNotSchedule && !k.preferences {
			continue
		}
		k.flag(c.WhenUnsatisfiable == corev1.DoNotSchedule)
		k.text(c.TopologyKey)
		k.number(int64(c.MaxSkew))
		if c.MinDomains != nil {
			k.number(int64(*c.MinDomains))
		}
		k.flag(c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore)
		k.flag(c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor)
		k.selector(c.LabelSelector)
		k.text(strings.Join(c.MatchLabelKeys, ","))
	}
	if spec.Affinity == nil {
		return
	}
	if a := spec.Affinity.PodAffinity; a != nil {
		k.text("affinity")
		k.terms(a.RequiredDuringSchedulingIgnoredDuringExecution)
		k.weighted(a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a := spec.Affinity.PodAntiAffinity; a != nil {
		k.text("anti-affinity")
		k.terms(a.RequiredDuringSchedulingIgnoredDuringExecution)
		k.weighted(a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func (k *podKey) terms(terms []corev1.PodAffinityTerm) {
	k.number(int64(len(terms)))
	for i := range terms {
		k.term(&terms[i])
	}
}

func (k *podKey) weighted(terms []corev1.WeightedPodAffinityTerm) {
	if !k.preferences {
		return
	}
	k.number(int64(len(terms)))
	for i := range terms {
		k.number(int64(terms[i].Weight))
		k.term(&terms[i].PodAffinityTerm)
	}
}

func (k *podKey) term(t *corev1.PodAffinityTerm) {
	k.text(t.TopologyKey)
	k.text(strings.Join(t.Namespaces, ","))
	k.selector(t.NamespaceSelector)
	k.selector(t.LabelSelector)
	k.text(strings.Join(t.MatchLabelKeys, ","))
	k.text(strings.Join(t.MismatchLabelKeys, ","))
}

func (k *podKey) selector(s *metav1.LabelSelector) {
	k.flag(s != nil)
	if s == nil {
		return
	}
	k.labels(s.MatchLabels)
	k.number(int64(len(s.MatchExpressions)))
	for i := range s.MatchExpressions {
		k.text(s.MatchExpressions[i].Key)
		k.text(string(s.MatchExpressions[i].Operator))
		k.text(strings.Join(s.MatchExpressions[i].Values, ","))
	}
}

func (k *podKey) expressions(list []corev1.NodeSelectorRequirement) {
	k.number(int64(len(list)))
	for i := range list {
		k.text(list[i].Key)
		k.text(string(list[i].Operator))
		k.text(strings.Join(list[i].Values, ","))
	}
}

func (k *podKey) labels(labels map[string]string) {
	k.names = k.names[:0]
	for name := range labels {
		k.names = append(k.names, name)
	}
	slices.Sort(k.names)
	k.number(int64(len(k.names)))
	for _, name := range k.names {
		k.text(name)
		k.text(labels[name])
	}
}

func (k *podKey) text(s string) {
	k.number(int64(len(s)))
	k.buffer = append(k.buffer, s...)
}

func (k *podKey) number(n int64) { k.buffer = binary.AppendVarint(k.buffer, n) }

func (k *podKey) flag(set bool) {
	if set {
		k.number(1)
	} else {
		k.number(0)
	}
}
