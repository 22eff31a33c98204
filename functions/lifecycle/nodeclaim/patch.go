package nodeclaim

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/whittle-dev/whittle/shared/api"
)

// nodePatch is the merge patch from one state of a node to another. It is bound to the
// resourceVersion of the first state, and nil when nothing differs.
func nodePatch(from, to *corev1.Node) map[string]any {
	metadata, patch := map[string]any{}, map[string]any{}
	if labels := mapPatch(from.Labels, to.Labels); labels != nil {
		metadata["labels"] = labels
	}
	if annotations := mapPatch(from.Annotations, to.Annotations); annotations != nil {
		metadata["annotations"] = annotations
	}
	if !equality.Semantic.DeepEqual(from.Finalizers, to.Finalizers) {
		metadata["finalizers"] = to.Finalizers
	}
	if !equality.Semantic.DeepEqual(from.OwnerReferences, to.OwnerReferences) {
		metadata["ownerReferences"] = to.OwnerReferences
	}
	if !equality.Semantic.DeepEqual(from.Spec.Taints, to.Spec.Taints) {
		patch["spec"] = map[string]any{"taints": to.Spec.Taints}
	}
	if len(metadata) == 0 && len(patch) == 0 {
		return nil
	}
	metadata["resourceVersion"] = from.ResourceVersion
	patch["metadata"] = metadata
	return patch
}

// mapPatch is the merge patch between two maps of labels or annotations, or nil.
func mapPatch(from, to map[string]string) map[string]any {
	patch := map[string]any{}
	for key, value := range to {
		if old, present := from[key]; !present || old != value {
			patch[key] = value
		}
	}
	for key := range from {
		if _, present := to[key]; !present {
			patch[key] = nil
		}
	}
	if len(patch) == 0 {
		return nil
	}
	return patch
}

// statusPatch is the merge patch between two states of a claim's status, or nil.
func statusPatch(from, to *api.NodeClaimStatus) map[string]any {
	patch := map[string]any{}
	if from.NodeName != to.NodeName {
		patch["nodeName"] = to.NodeName
	}
	if capacity := resourcePatch(from.Capacity, to.Capacity); capacity != nil {
		patch["capacity"] = capacity
	}
	if allocatable := resourcePatch(from.Allocatable, to.Allocatable); allocatable != nil {
		patch["allocatable"] = allocatable
	}
	if !from.LastPodEventTime.Equal(&to.LastPodEventTime) {
		patch["lastPodEventTime"] = to.LastPodEventTime
	}
	if !reflect.DeepEqual(from.Conditions, to.Conditions) {
		patch["conditions"] = to.Conditions
	}
	if len(patch) == 0 {
		return nil
	}
	return patch
}

func resourcePatch(from, to corev1.ResourceList) map[string]any {
	patch := map[string]any{}
	for name, quantity := range to {
		if old, present := from[name]; !present || old.Cmp(quantity) != 0 {
			patch[string(name)] = quantity
		}
	}
	for name := range from {
		if _, present := to[name]; !present {
			patch[string(name)] = nil
		}
	}
	if len(patch) == 0 {
		return nil
	}
	return patch
}
