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
	"github.com/whittle-dev/whittle/shared/disruption"
)

// Seen is what a pool's status is about.
type Seen struct {
	Claims  []api.NodeClaim
	Nodes   []corev1.Node
	Classes []api.EC2NodeClass
	// Blocked are the pools of which no node is repaired.
	Blocked []disruption.Ward
}

// StatusPatch is the merge patch that brings the pool's status up to date, bound
// to the pool's resourceVersion, or nil when it is.
func StatusPatch(pool *api.NodePool, seen Seen, now time.Time) map[string]any {
	status := map[string]any{}
	nodes, total := sum(pool.Name, seen)
	if pool.Status.Nodes == nil || *pool.Status.Nodes != nodes {
		status["nodes"] = nodes
	}
	if resources := difference(pool.Status.Resources, total); len(resources) > 0 {
		status["resources"] = resources
	}
	conditions := append([]metav1.Condition(nil), pool.Status.Conditions...)
	class := classOf(pool, seen.Classes)
	for _, condition := range []metav1.Condition{validation(pool), classReady(pool, class), registrationHealth(pool, class, seen.Claims, now)} {
		condition.ObservedGeneration = pool.Generation
		api.SetCondition(&conditions, condition, now)
	}
	if class != nil && pool.Status.NodeClassObservedGeneration != class.Generation {
		status["nodeClassObservedGeneration"] = class.Generation
	}
	repair(&conditions, pool, seen.Blocked, now)
	api.SetReady(&conditions, api.NodePoolReadyDependents(), pool.Generation, now)
	if !reflect.DeepEqual(conditions, pool.Status.Conditions) {
		status["conditions"] = conditions
	}
	if len(status) == 0 {
		return nil
	}
	return map[string]any{"metadata": map[string]any{"resourceVersion": pool.ResourceVersion}, "status": status}
}

// repair shows whether the pool is too sick for its nodes to be repaired.
func repair(conditions *[]metav1.Condition, pool *api.NodePool, blocked []disruption.Ward, now time.Time) {
	for _, ward := range blocked {
		if ward.Pool == pool.Name {
			api.SetCondition(conditions, metav1.Condition{
				Type: api.ConditionTypeNodeRepairBlocked, Status: metav1.ConditionTrue, Reason: api.ReasonTooManyUnhealthyNodes, Message: ward.String(),
				ObservedGeneration: pool.Generation,
			}, now)
			return
		}
	}
	api.RemoveCondition(conditions, api.ConditionTypeNodeRepairBlocked)
}

// sum adds up the pool's claims that have been launched and are not about to go: what their
// nodes have, or what was expected of them as long as they are not initialized. As with
// Karpenter the usual resources are there when they are zero, too.
func sum(pool string, seen Seen) (nodes int64, total corev1.ResourceList) {
	byID := map[string]*corev1.Node{}
	for i := range seen.Nodes {
		byID[seen.Nodes[i].Spec.ProviderID] = &seen.Nodes[i]
	}
	total = corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage} {
		total[name] = resource.Quantity{}
	}
	for i := range seen.Claims {
		claim := &seen.Claims[i]
		if claim.Labels[api.NodePoolLabelKey] != pool || claim.DeletionTimestamp != nil || claim.Status.ProviderID == "" {
			continue
		}
		nodes++
		capacity := claim.Status.Capacity
		if node := byID[claim.Status.ProviderID]; node != nil && api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeInitialized) {
			capacity = node.Status.Capacity
		}
		for name, quantity := range capacity {
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

// classOf is the pool's class, or nil.
func classOf(pool *api.NodePool, classes []api.EC2NodeClass) *api.EC2NodeClass {
	reference := pool.Spec.Template.Spec.NodeClassRef
	for i := range classes {
		if reference.IsEC2NodeClass() && classes[i].Name == reference.Name {
			return &classes[i]
		}
	}
	return nil
}

func classReady(pool *api.NodePool, class *api.EC2NodeClass) metav1.Condition {
	condition := metav1.Condition{Type: api.ConditionTypeNodeClassReady, Status: metav1.ConditionFalse}
	reference := pool.Spec.Template.Spec.NodeClassRef
	if reference == nil {
		condition.Reason, condition.Message = api.ReasonNodeClassNotFound, "spec.template.spec.nodeClassRef is missing: name an EC2NodeClass"
		return condition
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
