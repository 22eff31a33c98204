package workload

import (
	"encoding/binary"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// keyWriter writes group keys. Pods with equal keys are equal for scheduling. It reads every
// waiting pod, up to 100,000 of them, and a general encoding would take about 50 times as long.
type keyWriter struct {
	buffer []byte
	// requested is what the last pod takes of a node, sorted by name.
	requested []request
	// labelNames is memory for the names of labels.
	labelNames []string
	// classes has the labels that selectors mention. Other labels do not matter. Namespaces matter
	// only if there is a selector.
	classes *Classes
	// preferences says that the key includes preferences.
	preferences bool
	// volumes returns a key of what a pod's volumes require.
	volumes func(*corev1.Pod) string
	// nodeTermsStart and nodeTermsEnd are the ends of the part for node terms and tolerations in the
	// last key.
	nodeTermsStart, nodeTermsEnd int
}

// pod returns the pod's group key. It is valid until the next call.
func (k *keyWriter) pod(pod *corev1.Pod) []byte {
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

// nodeTerms writes the node selector, required node affinity and tolerations.
func (k *keyWriter) nodeTerms(spec *corev1.PodSpec) {
	k.nodeTermsStart = len(k.buffer)
	k.labels(spec.NodeSelector)
	if affinity := spec.Affinity; affinity != nil && affinity.NodeAffinity != nil &&
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		terms := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		// Required node affinity without terms matches no node. Without the affinity, all nodes match.
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
	k.nodeTermsEnd = len(k.buffer)
}

// hostPorts writes the host ports of all containers, without those that use no port of the host.
func (k *keyWriter) hostPorts(spec *corev1.PodSpec) {
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

// requests writes what the pod takes of a node, and keeps it in requested.
func (k *keyWriter) requests(pod *corev1.Pod) {
	k.requested = k.requested[:0]
	scheduling.EachRequestedAmount(pod, k.add)
	// A request of zero is the same as no request.
	k.requested = slices.DeleteFunc(k.requested, func(r request) bool { return r.amount == 0 })
	k.number(int64(len(k.requested)))
	for i := range k.requested {
		k.text(string(k.requested[i].name))
		k.number(k.requested[i].amount)
	}
}

// add adds an amount to requested.
func (k *keyWriter) add(name corev1.ResourceName, amount int64) {
	i := len(k.requested)
	for i > 0 && k.requested[i-1].name > name {
		i--
	}
	if i > 0 && k.requested[i-1].name == name {
		k.requested[i-1].amount = scheduling.AddAmounts(k.requested[i-1].amount, amount)
		return
	}
	k.requested = slices.Insert(k.requested, i, request{name: name, amount: amount})
}

// topology writes the constraints between pods.
func (k *keyWriter) topology(spec *corev1.PodSpec) {
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

func (k *keyWriter) terms(terms []corev1.PodAffinityTerm) {
	k.number(int64(len(terms)))
	for i := range terms {
		k.term(&terms[i])
	}
}

func (k *keyWriter) weighted(terms []corev1.WeightedPodAffinityTerm) {
	if !k.preferences {
		return
	}
	k.number(int64(len(terms)))
	for i := range terms {
		k.number(int64(terms[i].Weight))
		k.term(&terms[i].PodAffinityTerm)
	}
}

func (k *keyWriter) term(t *corev1.PodAffinityTerm) {
	k.text(t.TopologyKey)
	k.text(strings.Join(t.Namespaces, ","))
	k.selector(t.NamespaceSelector)
	k.selector(t.LabelSelector)
	k.text(strings.Join(t.MatchLabelKeys, ","))
	k.text(strings.Join(t.MismatchLabelKeys, ","))
}

func (k *keyWriter) selector(s *metav1.LabelSelector) {
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

func (k *keyWriter) expressions(list []corev1.NodeSelectorRequirement) {
	k.number(int64(len(list)))
	for i := range list {
		k.text(list[i].Key)
		k.text(string(list[i].Operator))
		k.text(strings.Join(list[i].Values, ","))
	}
}

func (k *keyWriter) labels(labels map[string]string) {
	k.labelNames = k.labelNames[:0]
	for name := range labels {
		k.labelNames = append(k.labelNames, name)
	}
	slices.Sort(k.labelNames)
	k.number(int64(len(k.labelNames)))
	for _, name := range k.labelNames {
		k.text(name)
		k.text(labels[name])
	}
}

func (k *keyWriter) text(s string) {
	k.number(int64(len(s)))
	k.buffer = append(k.buffer, s...)
}

func (k *keyWriter) number(n int64) { k.buffer = binary.AppendVarint(k.buffer, n) }

func (k *keyWriter) flag(set bool) {
	if set {
		k.number(1)
	} else {
		k.number(0)
	}
}
