// Package nodepool computes the status of a NodePool: what its nodes add up to,
// and whether it may launch more. It is pure.
package nodepool

import (
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// StatusPatch is the merge patch that brings the pool's status up to date, bound
// to the pool's resourceVersion, or nil when it is.
func StatusPatch(pool *api.NodePool, claims []api.NodeClaim, classes []api.EC2NodeClass, now time.Time) map[string]any {
	status := map[string]any{}
	nodes, total := sum(pool.Name, claims)
	if pool.Status.Nodes == nil || *pool.Status.Nodes != nodes {
		status["nodes"] = nodes
	}
	if resources := difference(pool.Status.Resources, total); len(resources) > 0 {
		status["resources"] = resources
	}
	conditions := append([]metav1.Condition(nil), pool.Status.Conditions...)
	for _, condition := range []metav1.Condition{validation(pool), classReady(pool, classes)} {
		condition.ObservedGeneration = pool.Generation
		api.SetCondition(&conditions, condition, now)
	}
	api.SetReady(&conditions, api.NodePoolReadyDependents(), pool.Generation, now)
	if !reflect.DeepEqual(conditions, pool.Status.Conditions) {
		status["conditions"] = conditions
	}
	if len(status) == 0 {
		return nil
	}
	return map[string]any{"metadata": map[string]any{"resourceVersion": pool.ResourceVersion}, "status": status}
}

// sum adds up the pool's claims. A claim that is deleted before it was launched
// has nothing to add.
func sum(pool string, claims []api.NodeClaim) (nodes int64, total corev1.ResourceList) {
	total = corev1.ResourceList{}
	for i := range claims {
		claim := &claims[i]
		if claim.Labels[api.NodePoolLabelKey] != pool || claim.DeletionTimestamp != nil && claim.Status.ProviderID == "" {
			continue
		}
		nodes++
		for name, quantity := range claim.Status.Capacity {
			sum := total[name]
			sum.Add(quantity)
			total[name] = sum
		}
	}
	total[api.ResourceNodes] = *resource.NewQuantity(nodes, resource.DecimalSI)
	return nodes, total
}

func difference(from, to corev1.ResourceList) map[string]any {
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
	return patch
}

func validation(pool *api.NodePool) metav1.Condition {
	if err := pool.Validate(); err != nil {
		return metav1.Condition{
			Type: api.ConditionTypeValidationSucceeded, Status: metav1.ConditionFalse,
			Reason: api.ReasonNodePoolValidationFailed, Message: err.Error(),
		}
	}
	return metav1.Condition{Type: api.ConditionTypeValidationSucceeded, Status: metav1.ConditionTrue}
}

func classReady(pool *api.NodePool, classes []api.EC2NodeClass) metav1.Condition {
	condition := metav1.Condition{Type: api.ConditionTypeNodeClassReady, Status: metav1.ConditionFalse}
	reference := pool.Spec.Template.Spec.NodeClassRef
	if reference == nil {
		condition.Reason, condition.Message = api.ReasonNodeClassNotFound, "spec.template.spec.nodeClassRef is missing: name an EC2NodeClass"
		return condition
	}
	var class *api.EC2NodeClass
	for i := range classes {
		if classes[i].Name == reference.Name && reference.IsEC2NodeClass() {
			class = &classes[i]
		}
	}
	if class == nil {
		condition.Reason, condition.Message = api.ReasonNodeClassNotFound, fmt.Sprintf("%s %q not found on cluster", reference.Kind, reference.Name)
		return condition
	}
	if class.DeletionTimestamp != nil {
		condition.Reason, condition.Message = api.ReasonNodeClassTerminating, fmt.Sprintf("%s %q is terminating", reference.Kind, reference.Name)
		return condition
	}
	ready := api.GetCondition(class.Status.Conditions, api.ConditionReady)
	switch {
	case ready == nil:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionUnknown, api.ReasonNodeClassNotReady, "Node Class Readiness Unknown"
	case ready.Status != metav1.ConditionTrue:
		condition.Status, condition.Reason, condition.Message = ready.Status, api.ReasonNodeClassNotReady, ready.Message
	default:
		condition.Status = metav1.ConditionTrue
	}
	return condition
}
