// Package repair decides which nodes to replace because they are unhealthy. It is a leaf of package
// disruption. Lifecycle asks it, because a repair follows no disruption budget.
package repair

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// repairPolicy names a node condition that counts as unhealthy, and for how long it is tolerated.
type repairPolicy struct {
	condition corev1.NodeConditionType
	status    corev1.ConditionStatus
	tolerated time.Duration
}

// repairPolicies are Karpenter's for AWS: the kubelet's own condition, and those of the EKS node
// monitoring agent, which exist only where it runs.
// https://karpenter.sh/docs/concepts/disruption/#node-auto-repair
func repairPolicies() []repairPolicy {
	return []repairPolicy{
		{corev1.NodeReady, corev1.ConditionFalse, 30 * time.Minute},
		{corev1.NodeReady, corev1.ConditionUnknown, 30 * time.Minute},
		{"AcceleratedHardwareReady", corev1.ConditionFalse, 10 * time.Minute},
		{"StorageReady", corev1.ConditionFalse, 30 * time.Minute},
		{"NetworkingReady", corev1.ConditionFalse, 30 * time.Minute},
		{"KernelReady", corev1.ConditionFalse, 30 * time.Minute},
		{"ContainerRuntimeReady", corev1.ConditionFalse, 30 * time.Minute},
	}
}

// checkTolerated is how long a failed status check of EC2 is tolerated: Karpenter's time.
const checkTolerated = 2 * time.Minute

// unhealthyPercent is the largest part of a pool's nodes, in percent and rounded up, that may be
// unhealthy for a repair. If more are unhealthy, the hardware of each is hardly the cause.
const unhealthyPercent = 20

// Impairment is a status check of EC2 that an instance fails.
type Impairment struct {
	Check string // SystemStatus or InstanceStatus
	Since time.Time
}

// NodeHealth is a node with its claim, and the status check that its instance fails, or nil.
type NodeHealth struct {
	Claim      *api.NodeClaim
	Node       *corev1.Node
	Impairment *Impairment
}

// UnhealthyCondition is a condition that makes a node unhealthy.
type UnhealthyCondition struct {
	Condition string // the node's condition, or the status check of its instance
	Status    string // its status, such as False or impaired
	Since     time.Time
	// ByEC2 says that it is a status check.
	ByEC2 bool

	tolerated time.Duration
}

// String is the condition for logs and events.
func (c UnhealthyCondition) String() string {
	return fmt.Sprintf("%s is %s since %s", c.Condition, c.Status, c.Since.UTC().Format(time.RFC3339))
}

// unhealthy are the node's unhealthy conditions, tolerated or not.
func (h *NodeHealth) unhealthy() []UnhealthyCondition {
	var found []UnhealthyCondition
	for _, policy := range repairPolicies() {
		for _, condition := range h.Node.Status.Conditions {
			if condition.Type == policy.condition && condition.Status == policy.status {
				found = append(found, UnhealthyCondition{
					Condition: string(condition.Type), Status: string(condition.Status),
					Since: condition.LastTransitionTime.Time, tolerated: policy.tolerated,
				})
			}
		}
	}
	if h.Impairment != nil {
		found = append(found, UnhealthyCondition{
			Condition: h.Impairment.Check, Status: "impaired", Since: h.Impairment.Since, ByEC2: true,
			tolerated: checkTolerated,
		})
	}
	return found
}

// PoolHealth is how many of a pool's nodes are unhealthy.
type PoolHealth struct {
	Pool             string // empty for claims without a pool
	Nodes, Unhealthy int
	Waiting          int // nodes whose repair is due but blocked
}

// Allowed is how many nodes may be unhealthy for a repair.
func (p PoolHealth) Allowed() int { return (p.Nodes*unhealthyPercent + 99) / 100 }

// String says why no node of the pool is repaired.
func (p PoolHealth) String() string {
	return fmt.Sprintf(
		"%d of %d nodes are unhealthy, which is more than %d%%: %d of them stay until no more than %d are unhealthy",
		p.Unhealthy,
		p.Nodes,
		unhealthyPercent,
		p.Waiting,
		p.Allowed(),
	)
}

// Due decides which nodes to repair, by the names of their claims. It returns nodes that have been
// unhealthy for longer than tolerated. It returns no node of a pool with more than a fifth of its
// nodes unhealthy, for however short a time. Blocked are the pools with nodes that stay for this
// reason. A leaving node is not repaired, but counts. No disruption budget applies, as in
// Karpenter.
func Due(nodes []NodeHealth, now time.Time) (due map[string]UnhealthyCondition, blocked []PoolHealth) {
	pools := poolHealths(nodes)
	due = map[string]UnhealthyCondition{}
	for i := range nodes {
		claim := nodes[i].Claim
		condition, overdue := nodes[i].overdue(now)
		if !overdue {
			continue
		}
		if pool := pools[claim.Labels[api.NodePoolLabelKey]]; pool.Unhealthy > pool.Allowed() {
			pool.Waiting++
			continue
		}
		due[claim.Name] = condition
	}
	for _, pool := range pools {
		if pool.Waiting > 0 {
			blocked = append(blocked, *pool)
		}
	}
	slices.SortFunc(blocked, func(a, b PoolHealth) int { return cmp.Compare(a.Pool, b.Pool) })
	return due, blocked
}

// overdue is the first condition that the node has had for longer than tolerated. A leaving node
// has none.
func (h *NodeHealth) overdue(now time.Time) (condition UnhealthyCondition, overdue bool) {
	if h.Claim.DeletionTimestamp != nil {
		return UnhealthyCondition{}, false
	}
	for _, condition := range h.unhealthy() {
		// A condition whose writer gave no time proves no duration.
		if !condition.Since.IsZero() && now.Sub(condition.Since) >= condition.tolerated {
			return condition, true
		}
	}
	return UnhealthyCondition{}, false
}

// poolHealths returns the health of each pool by its name. For claims without a pool the whole
// cluster counts.
func poolHealths(nodes []NodeHealth) map[string]*PoolHealth {
	pools := map[string]*PoolHealth{}
	all := PoolHealth{}
	for i := range nodes {
		name := nodes[i].Claim.Labels[api.NodePoolLabelKey]
		pool := pools[name]
		if pool == nil {
			pool = &PoolHealth{Pool: name}
			pools[name] = pool
		}
		pool.Nodes++
		all.Nodes++
		if len(nodes[i].unhealthy()) > 0 {
			pool.Unhealthy++
			all.Unhealthy++
		}
	}
	if without := pools[""]; without != nil {
		*without = all
	}
	return pools
}
