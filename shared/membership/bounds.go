package membership

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// tolerance is how much more than its claim a Node may have. A claim estimates what the AMI and the
	// hypervisor take.
	tolerance = 1.1
	// mostPods is the number of pods that any Node may offer. Users set it in their own user data, so that
	// a claim may know a smaller one. It is the greatest that EKS recommends.
	mostPods = 250
)

// accelerators are the resources that no Node has unless its claim knows them. Other extended resources
// come from device plugins, of which the catalogue knows nothing.
func accelerators() []corev1.ResourceName {
	return []corev1.ResourceName{
		api.ResourceNVIDIAGPU, api.ResourceAMDGPU, api.ResourceAWSNeuron, api.ResourceAWSNeuronCore,
		api.ResourceHabanaGaudi, api.ResourceEFA,
	}
}

// Capacity is what the claim's Node counts with against limits. The claim's own amount counts where it
// has one, because the Node's is its kubelet's word.
func Capacity(claim *api.NodeClaim, node *corev1.Node) corev1.ResourceList {
	var capacity corev1.ResourceList
	if node != nil {
		capacity = maps.Clone(node.Status.Capacity)
	}
	if claim == nil || len(claim.Status.Capacity) == 0 {
		return capacity
	}
	if capacity == nil {
		capacity = corev1.ResourceList{}
	}
	for _, name := range accelerators() {
		delete(capacity, name)
	}
	maps.Copy(capacity, claim.Status.Capacity)
	return capacity
}

// Overstated says by how much the Node claims more processors or memory than its instance has, as people
// read it. It is empty for an honest Node, and where the claim knows neither.
func Overstated(claim *api.NodeClaim, node *corev1.Node) []string {
	var excess []string
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		most, bounded := bound(claim, name)
		if !bounded {
			continue
		}
		for _, said := range []corev1.ResourceList{node.Status.Capacity, node.Status.Allocatable} {
			if quantity := said[name]; quantity.Cmp(most) > 0 {
				excess = append(excess, fmt.Sprintf("%s %s, of which its instance has at most %s",
					quantity.String(), name, most.String()))
				break
			}
		}
	}
	return excess
}

// Bounded is the Node as decisions see it. Its capacity is no more than its claim and its instance type
// allow. The labels that Whittle decides, and those that follow from the instance, are the claim's. It is
// the Node itself where nothing differs, and a copy otherwise.
func Bounded(claim *api.NodeClaim, node *corev1.Node) *corev1.Node {
	bounded := node
	change := func() *corev1.Node {
		if bounded == node {
			made := *node
			bounded = &made
		}
		return bounded
	}
	if capacity, less := boundList(claim, node.Status.Capacity); less {
		change().Status.Capacity = capacity
	}
	if allocatable, less := boundList(claim, node.Status.Allocatable); less {
		change().Status.Allocatable = allocatable
	}
	if labels := differing(claim, node, append(api.WellKnownLabels(), owned()...)); labels != nil {
		made := change()
		made.Labels = maps.Clone(made.Labels)
		if made.Labels == nil {
			made.Labels = map[string]string{}
		}
		maps.Copy(made.Labels, labels)
	}
	if excess := Overstated(claim, node); len(excess) > 0 {
		made := change()
		made.Annotations = scheduling.Mark(made.Annotations, scheduling.UntrustedAnnotationKey,
			"its kubelet reports "+strings.Join(excess, ", and "))
	}
	return bounded
}

// Labels are those that lifecycle restores on a registered Node, because its kubelet has changed or removed
// them: its pool, its class, its capacity type and its progress. It is nil for none.
func Labels(claim *api.NodeClaim, node *corev1.Node) map[string]string {
	return differing(claim, node, owned())
}

// owned are the labels that Whittle decides.
func owned() []string {
	return []string{api.NodePoolLabelKey, api.LabelNodeClass, api.CapacityTypeLabelKey}
}

// differing are the labels of a registered Node that differ from what its claim says of it, with the claim's
// values; nil for none.
func differing(claim *api.NodeClaim, node *corev1.Node, keys []string) map[string]string {
	if !api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeRegistered) {
		return nil
	}
	wanted := map[string]string{api.NodeRegisteredLabelKey: "true"}
	if api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeInitialized) {
		wanted[api.NodeInitializedLabelKey] = "true"
	}
	for _, key := range keys {
		if value := claim.Labels[key]; value != "" {
			wanted[key] = value
		}
	}
	maps.DeleteFunc(wanted, func(key, value string) bool { return node.Labels[key] == value })
	if len(wanted) == 0 {
		return nil
	}
	return wanted
}

// Allocatable is what pods may use of the Node, as far as its claim knows; the claim is nil for a Node
// without one. Callers must not change it.
func Allocatable(claim *api.NodeClaim, node *corev1.Node) corev1.ResourceList {
	if claim == nil {
		return node.Status.Allocatable
	}
	bounded, _ := boundList(claim, node.Status.Allocatable)
	return bounded
}

// boundList returns the amounts within their bounds, and whether any exceeded its bound. The given list stays
// as it is.
func boundList(claim *api.NodeClaim, said corev1.ResourceList) (bounded corev1.ResourceList, less bool) {
	bounded = said
	for name, quantity := range said {
		most, limited := bound(claim, name)
		if !limited || quantity.Cmp(most) <= 0 {
			continue
		}
		if !less {
			bounded, less = maps.Clone(said), true
		}
		bounded[name] = most
	}
	return bounded, less
}

// bound is the most of the resource that the claim's Node can have. It is unknown for resources of device
// plugins that the catalogue does not know, and for everything where the claim has no capacity.
func bound(claim *api.NodeClaim, name corev1.ResourceName) (most resource.Quantity, known bool) {
	expected, has := claim.Status.Capacity[name]
	switch name {
	case corev1.ResourceCPU:
		return advertised(claim, api.LabelInstanceCPU, "", expected, has)
	case corev1.ResourceMemory:
		return advertised(claim, api.LabelInstanceMemory, "Mi", times(expected, tolerance), has)
	case corev1.ResourceEphemeralStorage:
		return times(expected, tolerance), has
	case corev1.ResourcePods:
		if expected.CmpInt64(mostPods) < 0 {
			expected = *resource.NewQuantity(mostPods, resource.DecimalSI)
		}
		return expected, has
	}
	return expected, has || len(claim.Status.Capacity) > 0 && slices.Contains(accelerators(), name)
}

// advertised is the larger one of what EC2 advertises for the instance type, which the label says in the
// unit, and of what the claim expects.
func advertised(
	claim *api.NodeClaim, label, unit string, expected resource.Quantity, has bool,
) (resource.Quantity, bool) {
	said, err := resource.ParseQuantity(claim.Labels[label] + unit)
	if err != nil || claim.Labels[label] == "" {
		return expected, has
	}
	if has && expected.Cmp(said) > 0 {
		return expected, true
	}
	return said, true
}

func times(quantity resource.Quantity, factor float64) resource.Quantity {
	return *resource.NewQuantity(int64(quantity.AsApproximateFloat64()*factor), quantity.Format)
}
