package plantest

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/whittle-dev/whittle/shared/api"
)

// labelSet is the labels of a node in layers. A layer hides the same labels of later layers.
type labelSet []map[string]string

// aliases maps further labels of a node to the label that has the same value. They are Kubernetes'
// old names, and the zone label of the EBS CSI driver.
var aliases = map[string]string{
	"beta.kubernetes.io/arch":                  corev1.LabelArchStable,
	"beta.kubernetes.io/os":                    corev1.LabelOSStable,
	"beta.kubernetes.io/instance-type":         corev1.LabelInstanceTypeStable,
	"failure-domain.beta.kubernetes.io/zone":   corev1.LabelTopologyZone,
	"failure-domain.beta.kubernetes.io/region": corev1.LabelTopologyRegion,
	"topology.ebs.csi.aws.com/zone":            corev1.LabelTopologyZone,
}

// get returns the label's value, and whether the node has the label.
func (l labelSet) get(key string) (string, bool) {
	for _, layer := range l {
		if value, ok := layer[key]; ok {
			return value, true
		}
	}
	if alias, ok := aliases[key]; ok {
		return l.get(alias)
	}
	return "", false
}

// holds evaluates one expression of a node selector:
// https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#operators. NotIn and
// DoesNotExist hold if the label is absent. Only NodePools use Gte and Lte.
func (l labelSet) holds(key string, operator corev1.NodeSelectorOperator, values []string) bool {
	value, present := l.get(key)
	switch operator {
	case corev1.NodeSelectorOpIn:
		return present && slices.Contains(values, value)
	case corev1.NodeSelectorOpNotIn:
		return !present || !slices.Contains(values, value)
	case corev1.NodeSelectorOpExists:
		return present
	case corev1.NodeSelectorOpDoesNotExist:
		return !present
	}
	if !present || len(values) != 1 {
		return false
	}
	have, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return false
	}
	bound, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		return false
	}
	switch operator {
	case corev1.NodeSelectorOpGt:
		return have > bound
	case corev1.NodeSelectorOpLt:
		return have < bound
	case api.NodeSelectorOpGte:
		return have >= bound
	case api.NodeSelectorOpLte:
		return have <= bound
	}
	return false
}

// meets reports whether the labels meet all requirements of a NodePool or NodeClaim. If not, it
// also returns the first requirement that they do not meet.
func (l labelSet) meets(requirements []api.NodeSelectorRequirementWithMinValues) (string, bool) {
	for i := range requirements {
		r := &requirements[i]
		if !l.holds(r.Key, r.Operator, r.Values) {
			return requirementText(r), false
		}
	}
	return "", true
}

func requirementText(r *api.NodeSelectorRequirementWithMinValues) string {
	text := r.Key + " " + string(r.Operator)
	for i, value := range r.Values {
		if i == 4 {
			return text + " ..."
		}
		text += " " + value
	}
	return text
}

// nodeFilter is a pod's node selector and required node affinity. A node must match both.
type nodeFilter struct {
	selector map[string]string
	affinity *corev1.NodeSelector
}

func nodeFilterOf(spec *corev1.PodSpec) nodeFilter {
	f := nodeFilter{selector: spec.NodeSelector}
	if a := spec.Affinity; a != nil && a.NodeAffinity != nil {
		f.affinity = a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return f
}

// matches reports whether the pod may run on a node with these labels and this name. The name is
// empty for a node that has none yet.
func (f *nodeFilter) matches(l labelSet, name string) bool {
	for key, value := range f.selector {
		if have, ok := l.get(key); !ok || have != value {
			return false
		}
	}
	return f.affinity == nil || matchesAnyTerm(f.affinity.NodeSelectorTerms, l, name)
}

// matchesAnyTerm reports whether one of the terms holds. All expressions of a term must hold, and a
// term without expressions never holds.
func matchesAnyTerm(terms []corev1.NodeSelectorTerm, l labelSet, name string) bool {
	return slices.ContainsFunc(terms, func(term corev1.NodeSelectorTerm) bool {
		for _, e := range term.MatchExpressions {
			if !l.holds(e.Key, e.Operator, e.Values) {
				return false
			}
		}
		for _, f := range term.MatchFields {
			// metadata.name is the only field that Kubernetes supports.
			if !(labelSet{{"metadata.name": name}}).holds(f.Key, f.Operator, f.Values) {
				return false
			}
		}
		return len(term.MatchExpressions)+len(term.MatchFields) > 0
	})
}

// untolerated returns the first taint that keeps the pod off the node. PreferNoSchedule keeps no
// pod off. compare allows the operators Gt and Lt in tolerations, which are off in many clusters.
func untolerated(taints []corev1.Taint, tolerations []corev1.Toleration, compare bool) (corev1.Taint, bool) {
	for i := range taints {
		taint := &taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if !slices.ContainsFunc(
			tolerations,
			func(t corev1.Toleration) bool { return t.ToleratesTaint(klog.Logger{}, taint, compare) },
		) {
			return *taint, true
		}
	}
	return corev1.Taint{}, false
}
