package nodepool

import (
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/repair"
	"github.com/whittle-dev/whittle/shared/membership"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// Seen is the part of the cluster that decides a pool's status. It may hold objects of other pools.
type Seen struct {
	Claims  []api.NodeClaim
	Nodes   []corev1.Node
	Classes []api.EC2NodeClass
	// Blocked are the pools with too many unhealthy nodes for a repair.
	Blocked []repair.PoolHealth
	// Halted are the pools whose release halted.
	Halted Halts
}

// Halts are the releases whose new nodes do worse than the nodes before.
type Halts struct {
	// Why says how, by the name of the pool.
	Why map[string]string
	// Unread says that nobody knows, so that conditions stay as they are.
	Unread bool
}

// StatusPatch returns the merge patch that brings the pool's status up to date. It is bound to the
// pool's resourceVersion, and nil when nothing differs.
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
	class := api.ClassOf(pool.Spec.Template.Spec.NodeClassRef, seen.Classes)
	for _, condition := range []metav1.Condition{
		validation(pool), classReady(pool, class), registrationHealth(pool, class, seen.Claims, now),
	} {
		condition.ObservedGeneration = pool.Generation
		api.SetCondition(&conditions, condition, now)
	}
	if class != nil && pool.Status.NodeClassObservedGeneration != class.Generation {
		status["nodeClassObservedGeneration"] = class.Generation
	}
	setRepairBlocked(&conditions, pool, seen.Blocked, now)
	setHalted(&conditions, pool, seen.Halted, now)
	api.SetReady(&conditions, api.NodePoolReadyDependents(), pool.Generation, now)
	if !reflect.DeepEqual(conditions, pool.Status.Conditions) {
		status["conditions"] = conditions
	}
	if len(status) == 0 {
		return nil
	}
	return map[string]any{"metadata": map[string]any{"resourceVersion": pool.ResourceVersion}, "status": status}
}

// setRepairBlocked shows whether the pool has too many unhealthy nodes for a repair.
func setRepairBlocked(conditions *[]metav1.Condition, pool *api.NodePool, blocked []repair.PoolHealth, now time.Time) {
	for _, health := range blocked {
		if health.Pool == pool.Name {
			api.SetCondition(conditions, metav1.Condition{
				Type: api.ConditionTypeNodeRepairBlocked, Status: metav1.ConditionTrue,
				Reason: api.ReasonTooManyUnhealthyNodes, Message: health.String(), ObservedGeneration: pool.Generation,
			}, now)
			return
		}
	}
	api.RemoveCondition(conditions, api.ConditionTypeNodeRepairBlocked)
}

// setHalted shows whether drift of the pool stops because of its release.
func setHalted(conditions *[]metav1.Condition, pool *api.NodePool, halts Halts, now time.Time) {
	why, halted := halts.Why[pool.Name]
	switch {
	case halts.Unread:
	case halted:
		api.SetCondition(conditions, metav1.Condition{
			Type: api.ConditionTypeReleaseHalted, Status: metav1.ConditionTrue, Reason: api.ReasonNewNodesWorse,
			Message: why, ObservedGeneration: pool.Generation,
		}, now)
	default:
		api.RemoveCondition(conditions, api.ConditionTypeReleaseHalted)
	}
}

// sum adds up the pool's claims that have an instance and are not deleted, as limits count them. As in
// Karpenter the usual resources are listed even when they are zero.
func sum(pool string, seen Seen) (nodes int64, total corev1.ResourceList) {
	members := membership.Join(seen.Claims, seen.Nodes)
	total = corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{
		corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage,
	} {
		total[name] = resource.Quantity{}
	}
	for i := range seen.Claims {
		claim := &seen.Claims[i]
		if claim.Labels[api.NodePoolLabelKey] != pool || claim.DeletionTimestamp != nil || claim.Status.ProviderID == "" {
			continue
		}
		nodes++
		for name, quantity := range membership.Capacity(claim, members.Node(claim)) {
			sum := total[name]
			sum.Add(quantity)
			total[name] = sum
		}
	}
	total[api.ResourceNodes] = *resource.NewQuantity(nodes, resource.DecimalSI)
	return nodes, total
}

// difference is the merge patch between two lists of resources.
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
	// A pool works without hours that cannot be read. The condition names them all the same.
	return metav1.Condition{
		Type: api.ConditionTypeValidationSucceeded, Status: metav1.ConditionTrue, Message: pool.HoursProblem(),
	}
}

func classReady(pool *api.NodePool, class *api.EC2NodeClass) metav1.Condition {
	condition := metav1.Condition{Type: api.ConditionTypeNodeClassReady, Status: metav1.ConditionFalse}
	reference := pool.Spec.Template.Spec.NodeClassRef
	switch {
	case reference == nil:
		condition.Reason = api.ReasonNodeClassNotFound
		condition.Message = "NodeClass not found on cluster: spec.template.spec.nodeClassRef is missing"
		return condition
	case class == nil:
		condition.Reason = api.ReasonNodeClassNotFound
		condition.Message = fmt.Sprintf("NodeClass not found on cluster: %s %q", reference.Kind, reference.Name)
		return condition
	case class.DeletionTimestamp != nil:
		condition.Reason = api.ReasonNodeClassTerminating
		condition.Message = fmt.Sprintf("NodeClass is Terminating: %s %q", reference.Kind, reference.Name)
		return condition
	}
	ready := api.GetCondition(class.Status.Conditions, api.ConditionReady)
	switch {
	case ready == nil:
		condition.Status, condition.Reason = metav1.ConditionUnknown, api.ReasonNodeClassNotReady
		condition.Message = "Node Class Readiness Unknown"
	case ready.Status != metav1.ConditionTrue:
		condition.Status, condition.Reason = ready.Status, api.ReasonNodeClassNotReady
		condition.Message = nodeclass.NotReady(class)
	default:
		condition.Status = metav1.ConditionTrue
	}
	return condition
}
