// Package repair decides which nodes to replace because they are unhealthy. It is a leaf of package
// disruption. Disrupt replaces nodes with unhealthy conditions within the budgets for the reason
// Unhealthy. Lifecycle ends nodes whose instances fail a status check of EC2, and nodes that never
// became initialized.
package repair

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/reboot"
)

// repairPolicy names a node condition that counts as unhealthy, and for how long it is tolerated.
type repairPolicy struct {
	condition corev1.NodeConditionType
	status    corev1.ConditionStatus
	// reasons are texts of which the condition's reason has to contain one. Without any, the policy
	// is for every reason.
	reasons   []string
	tolerated time.Duration
	// drain is the time after which the node's pods are deleted, whatever protects them.
	drain time.Duration
	// rebootClears says that a reboot of the machine may end the condition.
	rebootClears bool
}

// repairPolicies are Karpenter's for AWS: the kubelet's own condition, and those of the EKS node
// monitoring agent, which exist only where it runs. Of the policies for one condition, the first
// that fits counts. The agent writes the code of an NVIDIA GPU's error into the reason.
// https://karpenter.sh/docs/concepts/disruption/#node-auto-repair
func repairPolicies() []repairPolicy {
	const tolerated, drain = 30 * time.Minute, longestDrain
	of := func(condition corev1.NodeConditionType, status corev1.ConditionStatus) repairPolicy {
		return repairPolicy{condition: condition, status: status, tolerated: tolerated, drain: drain}
	}
	broken := of(acceleratedHardwareReady, corev1.ConditionFalse)
	broken.reasons, broken.tolerated, broken.drain = xids(64, 74, 79, 119, 120), 10*time.Minute, 5*time.Minute
	stuck := broken
	stuck.reasons = xids(46, 48, 54, 62, 63, 95, 109, 110, 136, 140, 143, 155, 156, 158)
	stuck.rebootClears = true
	return []repairPolicy{
		of(corev1.NodeReady, corev1.ConditionFalse),
		of(corev1.NodeReady, corev1.ConditionUnknown),
		broken,
		stuck,
		of(acceleratedHardwareReady, corev1.ConditionFalse),
		of("StorageReady", corev1.ConditionFalse),
		of("NetworkingReady", corev1.ConditionFalse),
		of("KernelReady", corev1.ConditionFalse),
		of("ContainerRuntimeReady", corev1.ConditionFalse),
	}
}

// longestDrain is the longest drain of a repair.
const longestDrain = 10 * time.Minute

// acceleratedHardwareReady is the condition of GPUs and other accelerators.
const acceleratedHardwareReady corev1.NodeConditionType = "AcceleratedHardwareReady"

// xids are the codes of an NVIDIA GPU's errors as the agent writes them. After these errors a GPU does
// not recover by itself.
// https://docs.nvidia.com/deploy/xid-errors/
func xids(numbers ...int) []string {
	var codes []string
	for _, number := range numbers {
		codes = append(codes, fmt.Sprintf("XID%d", number))
	}
	return codes
}

// matches reports whether the condition is one that the policy is for.
func (p *repairPolicy) matches(condition *corev1.NodeCondition) bool {
	return condition.Type == p.condition && condition.Status == p.status &&
		(len(p.reasons) == 0 || slices.ContainsFunc(p.reasons, func(reason string) bool {
			return strings.Contains(condition.Reason, reason)
		}))
}

// checkTolerated is how long a failed status check of EC2 is tolerated: Karpenter's time. The node's
// pods are deleted at once, because such an instance cannot be trusted to end them.
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
	Reason    string // the reason of the node's condition
	Since     time.Time
	// ByEC2 says that it is a status check.
	ByEC2 bool
	// Drain is the time after which the node's pods are deleted, whatever protects them.
	Drain time.Duration
	// RebootClears says that a reboot of the machine may end it.
	RebootClears bool

	tolerated time.Duration
}

// String is the condition for logs and events.
func (c UnhealthyCondition) String() string {
	return fmt.Sprintf("%s is %s since %s", c.Condition, c.Status, c.Since.UTC().Format(time.RFC3339))
}

// unhealthy are the node's unhealthy conditions, tolerated or not. A status check comes first.
func (h *NodeHealth) unhealthy() []UnhealthyCondition {
	var found []UnhealthyCondition
	if h.Impairment != nil {
		found = append(found, UnhealthyCondition{
			Condition: h.Impairment.Check, Status: "impaired", Since: h.Impairment.Since, ByEC2: true,
			tolerated: checkTolerated,
		})
	}
	policies := repairPolicies()
	for i := range h.Node.Status.Conditions {
		condition := &h.Node.Status.Conditions[i]
		at := slices.IndexFunc(policies, func(p repairPolicy) bool { return p.matches(condition) })
		if at < 0 {
			continue
		}
		found = append(found, UnhealthyCondition{
			Condition: string(condition.Type), Status: string(condition.Status), Reason: condition.Reason,
			Since: condition.LastTransitionTime.Time, Drain: policies[at].drain,
			RebootClears: policies[at].rebootClears, tolerated: policies[at].tolerated,
		})
	}
	return found
}

// IsHealthy reports whether the node has no unhealthy condition, not even a tolerated one.
func IsHealthy(node *corev1.Node) bool {
	health := NodeHealth{Node: node}
	return len(health.unhealthy()) == 0
}

// DrainBound is the time that the drain of an unhealthy node may take: the shortest of its
// conditions, tolerated or not. A node that has recovered has the longest.
func DrainBound(node *corev1.Node) time.Duration {
	health := NodeHealth{Node: node}
	bound := longestDrain
	for _, condition := range health.unhealthy() {
		bound = min(bound, condition.Drain)
	}
	return bound
}

// PoolHealth is how many of a pool's nodes are unhealthy.
type PoolHealth struct {
	Pool             string // empty for claims without a pool
	Nodes, Unhealthy int
	// Waiting are the names of the claims whose repair is due but blocked.
	Waiting []string
}

// Allowed is how many nodes may be unhealthy for a repair.
func (p PoolHealth) Allowed() int { return (p.Nodes*unhealthyPercent + 99) / 100 }

// String says why no node of the pool is repaired. It begins with Karpenter's words.
func (p PoolHealth) String() string {
	where := "nodepool"
	if p.Pool == "" {
		where = "cluster"
	}
	return fmt.Sprintf(
		"more than %d%% nodes are unhealthy in the %s: %d of %d are, and %d of them stay until no more than %d are",
		unhealthyPercent,
		where,
		p.Unhealthy,
		p.Nodes,
		len(p.Waiting),
		p.Allowed(),
	)
}

// Due decides which nodes to repair, by the names of their claims. It returns nodes that have been
// unhealthy for longer than tolerated. It returns no node of a pool with more than a fifth of its
// nodes unhealthy, for however short a time. Blocked are the pools with nodes that stay for this
// reason. A node that leaves or is being rebooted is not repaired, but counts. A node without a pool
// is repaired only for a status check. Budgets and karpenter.sh/do-not-repair do not count here.
func Due(nodes []NodeHealth, now time.Time) (due map[string]UnhealthyCondition, blocked []PoolHealth) {
	pools := poolHealths(nodes)
	due = map[string]UnhealthyCondition{}
	for i := range nodes {
		claim := nodes[i].Claim
		condition, overdue := nodes[i].overdue(now)
		if !overdue || claim.Labels[api.NodePoolLabelKey] == "" && !condition.ByEC2 {
			continue
		}
		if pool := pools[claim.Labels[api.NodePoolLabelKey]]; pool.Unhealthy > pool.Allowed() {
			pool.Waiting = append(pool.Waiting, claim.Name)
			continue
		}
		due[claim.Name] = condition
	}
	for _, pool := range pools {
		if len(pool.Waiting) > 0 {
			blocked = append(blocked, *pool)
		}
	}
	slices.SortFunc(blocked, func(a, b PoolHealth) int { return cmp.Compare(a.Pool, b.Pool) })
	return due, blocked
}

// overdue is the first condition that the node has had for longer than tolerated. One that a reboot
// does not end comes before one that a reboot may end. A leaving node has none, and neither has a node
// that is being rebooted.
func (h *NodeHealth) overdue(now time.Time) (found UnhealthyCondition, overdue bool) {
	if h.Claim.DeletionTimestamp != nil || reboot.InProgress(h.Claim) {
		return UnhealthyCondition{}, false
	}
	for _, condition := range h.unhealthy() {
		// A condition whose writer gave no time proves no duration.
		if condition.Since.IsZero() || now.Sub(h.since(condition)) < condition.tolerated {
			continue
		}
		if !overdue || found.RebootClears && !condition.RebootClears {
			found, overdue = condition, true
		}
	}
	return found, overdue
}

// since is the time from which the condition is tolerated. It is the end of the node's last reboot, or
// the node's creation, where the condition is older.
func (h *NodeHealth) since(condition UnhealthyCondition) time.Time {
	since := condition.Since
	if created := h.Node.CreationTimestamp.Time; created.After(since) && !condition.ByEC2 {
		since = created
	}
	if ended := reboot.EndedAt(h.Claim); ended.After(since) {
		since = ended
	}
	return since
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
