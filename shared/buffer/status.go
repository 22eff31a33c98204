package buffer

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/virtual"
)

// Status returns the status that the buffer should have after a plan, and whether that is new. A
// plan that saw none of the buffer's pods leaves its condition Provisioning alone.
func (b *Buffer) Status(o virtual.Outcome, now time.Time) (status api.CapacityBufferStatus, changed bool) {
	status = b.Object.Status
	status.Conditions = slices.Clone(status.Conditions)
	wanted, strategy := int32(len(b.Pods)), api.ActiveCapacityStrategy
	changed = replace(&status.Replicas, &wanted)
	changed = replace(&status.ProvisioningStrategy, &strategy) || changed
	changed = replace(&status.PodTemplateGeneration, b.generation) || changed
	if b.generation != nil {
		changed = replace(&status.PodTemplateRef, b.Object.Spec.PodTemplateRef) || changed
	} else {
		changed = replace(&status.PodTemplateRef, nil) || changed
	}
	changed = api.SetCondition(&status.Conditions, b.ready, now) || changed
	if provisioning, known := b.provisioning(o); known {
		changed = api.SetCondition(&status.Conditions, provisioning, now) || changed
	}
	return status, changed
}

// Patch is a merge patch that writes the status.
func Patch(status api.CapacityBufferStatus) map[string]any {
	patch := map[string]any{
		"podTemplateRef": nil, "podTemplateGeneration": nil, "replicas": status.Replicas,
		"provisioningStrategy": status.ProvisioningStrategy, "conditions": status.Conditions,
	}
	if status.PodTemplateRef != nil {
		patch["podTemplateRef"], patch["podTemplateGeneration"] = status.PodTemplateRef, status.PodTemplateGeneration
	}
	return map[string]any{"status": patch}
}

// IsObserved reports whether the buffer's status is about the buffer as it is.
func IsObserved(object *api.CapacityBuffer) bool {
	ready := api.GetCondition(object.Status.Conditions, api.ConditionReadyForProvisioning)
	return ready != nil && ready.ObservedGeneration == object.Generation
}

// replace sets the field to a copy of the value, and reports whether that changes it.
func replace[T comparable](field **T, value *T) bool {
	if *field == nil && value == nil || *field != nil && value != nil && **field == *value {
		return false
	}
	if *field = nil; value != nil {
		copied := *value
		*field = &copied
	}
	return true
}

// provisioning is the condition Provisioning.
func (b *Buffer) provisioning(o virtual.Outcome) (wanted metav1.Condition, known bool) {
	of := func(status metav1.ConditionStatus, reason, message string) (metav1.Condition, bool) {
		return condition(b.Object, api.ConditionProvisioning, status, reason, message), true
	}
	if b.ready.Status != metav1.ConditionTrue {
		return of(metav1.ConditionFalse, api.ReasonNotReadyForProvisioning, b.ready.Message)
	}
	if len(b.Pods) == 0 {
		return of(metav1.ConditionFalse, api.ReasonBufferEmpty, "spec.replicas, spec.percentage and spec.limits allow no pod")
	}
	fits, seen, why := 0, 0, ""
	for i := range b.Pods {
		ref := plan.RefOf(&b.Pods[i])
		if _, has := o.Fits[ref]; has {
			fits++
		}
		if o.Known[ref] {
			seen++
		}
		if why == "" {
			why = o.Unplaced[ref]
		}
	}
	switch {
	case seen == 0:
		return metav1.Condition{}, false
	case fits == len(b.Pods):
		return of(metav1.ConditionTrue, api.ReasonFitsExistingCapacity, fmt.Sprintf("Nodes have room for %d pods", fits))
	case why != "":
		return of(metav1.ConditionFalse, api.ReasonRequiresNewCapacity,
			fmt.Sprintf("nodes have room for %d of %d pods: %s", fits, len(b.Pods), why))
	}
	return of(metav1.ConditionFalse, api.ReasonRequiresNewCapacity,
		fmt.Sprintf("nodes have room for %d of %d pods, and new nodes are launched", fits, len(b.Pods)))
}

func condition(object *api.CapacityBuffer, kind string, status metav1.ConditionStatus, reason, message string,
) metav1.Condition {
	return metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: object.Generation,
	}
}
