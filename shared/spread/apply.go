package spread

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Setting is the name of the setting, which messages name in place of a field of the pod.
const Setting = "defaultTopologySpread"

// Kind is a kind whose selectors count.
type Kind string

// The kinds whose selectors count. Those of Jobs and DaemonSets do not.
const (
	Service               Kind = "Service"
	ReplicationController Kind = "ReplicationController"
	ReplicaSet            Kind = "ReplicaSet"
	StatefulSet           Kind = "StatefulSet"
)

// controllers are the kinds of controllers, by apiVersion and kind.
var controllers = map[string]Kind{
	"v1 ReplicationController": ReplicationController,
	"apps/v1 ReplicaSet":       ReplicaSet,
	"apps/v1 StatefulSet":      StatefulSet,
}

// Selector is the selector of an object. Those of Services and ReplicationControllers have
// matchLabels only.
type Selector struct {
	Kind            Kind
	Namespace, Name string
	Selector        *metav1.LabelSelector
}

// IsDefault reports whether the constraint comes from Apply. Its matchLabelKeys are then empty and
// not nil, which no object of the API server has.
func IsDefault(constraint *corev1.TopologySpreadConstraint) bool {
	return constraint.MatchLabelKeys != nil && len(constraint.MatchLabelKeys) == 0
}

// Needs returns what Apply needs for the pods: by kind, the sorted namespaces of the objects whose
// selectors count. It is empty where no pod would change.
func (d Defaults) Needs(pods []corev1.Pod) map[Kind][]string {
	found := map[Kind]map[string]bool{}
	add := func(kind Kind, namespace string) {
		if found[kind] == nil {
			found[kind] = map[string]bool{}
		}
		found[kind][namespace] = true
	}
	for i := range pods {
		if !d.concerns(&pods[i]) {
			continue
		}
		add(Service, pods[i].Namespace)
		if kind, _ := controllerOf(&pods[i]); kind != "" {
			add(kind, pods[i].Namespace)
		}
	}
	needs := make(map[Kind][]string, len(found))
	for kind, namespaces := range found {
		needs[kind] = slices.Sorted(maps.Keys(namespaces))
	}
	return needs
}

// Apply gives the default constraints to the pods without constraints. It changes the pods of the
// slice, and none of the memory that they share with others. A pod that no known selector is about
// gets no constraint.
func (d Defaults) Apply(pods []corev1.Pod, known []Selector) {
	deduction := newDeduction(d, known)
	for i := range pods {
		if d.concerns(&pods[i]) {
			pods[i].Spec.TopologySpreadConstraints = deduction.constraints(&pods[i])
		}
	}
}

// concerns reports whether a pod may get the default constraints. The pods of DaemonSets and static
// pods have their node already, and ended pods need none.
func (d Defaults) concerns(pod *corev1.Pod) bool {
	return len(d) > 0 && len(pod.Spec.TopologySpreadConstraints) == 0 && !scheduling.IsTerminal(pod) &&
		!scheduling.IsOwnedByDaemonSet(pod) && !scheduling.IsStatic(pod)
}

// controllerOf returns the pod's controller; an empty kind where its selector does not count.
func controllerOf(pod *corev1.Pod) (Kind, string) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return "", ""
	}
	return controllers[owner.APIVersion+" "+owner.Kind], owner.Name
}

// deduction deduces the constraints once for all pods that the same objects select.
type deduction struct {
	defaults Defaults
	services map[string]*services // by namespace
	// selectors are those of controllers.
	selectors map[object]*metav1.LabelSelector
	deduced   map[string][]corev1.TopologySpreadConstraint
	key       strings.Builder
}

// object names a controller.
type object struct {
	kind            Kind
	namespace, name string
}

// services are the selectors of a namespace's Services, with the label keys that they mention.
type services struct {
	selectors []map[string]string
	keys      []string
}

func newDeduction(defaults Defaults, known []Selector) *deduction {
	d := &deduction{
		defaults: defaults, services: map[string]*services{}, selectors: map[object]*metav1.LabelSelector{},
		deduced: map[string][]corev1.TopologySpreadConstraint{},
	}
	for i := range known {
		one := &known[i]
		if one.Selector == nil {
			continue
		}
		if one.Kind != Service {
			d.selectors[object{one.Kind, one.Namespace, one.Name}] = one.Selector
			continue
		}
		inNamespace := d.services[one.Namespace]
		if inNamespace == nil {
			inNamespace = &services{}
			d.services[one.Namespace] = inNamespace
		}
		inNamespace.selectors = append(inNamespace.selectors, one.Selector.MatchLabels)
		for key := range one.Selector.MatchLabels {
			if at, found := slices.BinarySearch(inNamespace.keys, key); !found {
				inNamespace.keys = slices.Insert(inNamespace.keys, at, key)
			}
		}
	}
	return d
}

// constraints returns the constraints of a pod.
func (d *deduction) constraints(pod *corev1.Pod) []corev1.TopologySpreadConstraint {
	kind, name := controllerOf(pod)
	inNamespace := d.services[pod.Namespace]
	d.key.Reset()
	for _, part := range []string{pod.Namespace, string(kind), name} {
		d.key.WriteString(part)
		d.key.WriteByte(0)
	}
	if inNamespace != nil {
		for _, key := range inNamespace.keys {
			if value, has := pod.Labels[key]; has {
				d.key.WriteByte('=')
				d.key.WriteString(value)
			}
			d.key.WriteByte(0)
		}
	}
	key := d.key.String()
	constraints, known := d.deduced[key]
	if !known {
		constraints = d.deduce(inNamespace, pod.Labels, kind, d.selectors[object{kind, pod.Namespace, name}])
		d.deduced[key] = constraints
	}
	return constraints
}

// deduce makes the constraints of pods with these labels and this controller.
func (d *deduction) deduce(
	inNamespace *services, labels map[string]string, kind Kind, controller *metav1.LabelSelector,
) []corev1.TopologySpreadConstraint {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	if inNamespace != nil {
		for _, service := range inNamespace.selectors {
			if matches(service, labels) {
				maps.Copy(selector.MatchLabels, service)
			}
		}
	}
	switch {
	case controller == nil:
	case kind == ReplicationController:
		maps.Copy(selector.MatchLabels, controller.MatchLabels)
	default:
		add(selector, controller)
	}
	if len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0 {
		return nil
	}
	constraints := slices.Clone(d.defaults)
	for i := range constraints {
		constraints[i].LabelSelector, constraints[i].MatchLabelKeys = selector, []string{}
	}
	return constraints
}

// matches reports whether a map selector matches labels. It parses nothing, because a namespace may
// have millions of pairs of workloads and services.
func matches(selector, labels map[string]string) bool {
	for key, value := range selector {
		if got, has := labels[key]; !has || got != value {
			return false
		}
	}
	return true
}

// add adds another selector's requirements. One label may then have to have two values, and the
// selector selects nothing. The requirements of a selector that cannot be read do not count.
func add(selector, other *metav1.LabelSelector) {
	if _, err := metav1.LabelSelectorAsSelector(other); err != nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(other.MatchLabels)) {
		value := other.MatchLabels[key]
		if before, has := selector.MatchLabels[key]; has && before != value {
			selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
				Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value},
			})
			continue
		}
		selector.MatchLabels[key] = value
	}
	selector.MatchExpressions = append(selector.MatchExpressions, other.MatchExpressions...)
}
