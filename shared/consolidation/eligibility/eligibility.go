package eligibility

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/disruption/reboot"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Decide sets Candidate, Ineligible and Vacant of each node with a NodeClaim. The cluster is the snapshot
// that the fleet was read from.
func Decide(f *state.Fleet, cluster *plan.Snapshot, budgets []policyv1.PodDisruptionBudget) {
	c := newChecks(cluster, budgets, f.Now)
	for _, n := range f.Nodes {
		if n.Source.NodeClaim != nil {
			n.Ineligible = c.refusal(n)
			n.Candidate = n.Ineligible.IsZero()
			n.Vacant = c.vacant(n)
		}
	}
}

// checks is what decisions about single nodes need to know of the cluster.
type checks struct {
	now        time.Time
	protection *podProtection
	// replacements are the names of the claims that replace a node which is not gone yet.
	replacements map[string]bool
	// pending are the UIDs of the pending pods, and of those that soon will be.
	pending map[string]bool
}

func newChecks(cluster *plan.Snapshot, budgets []policyv1.PodDisruptionBudget, now time.Time) *checks {
	c := &checks{
		now: now, protection: newPodProtection(budgets, now), replacements: map[string]bool{}, pending: map[string]bool{},
	}
	for i := range cluster.Nodes {
		claim := cluster.Nodes[i].NodeClaim
		if claim == nil {
			continue
		}
		for name := range strings.SplitSeq(claim.Annotations[disruption.ReplacedByAnnotationKey], ",") {
			c.replacements[name] = true
		}
	}
	for i := range cluster.Pods {
		if uid := cluster.Pods[i].UID; uid != "" {
			c.pending[string(uid)] = true
		}
	}
	return c
}

// refusal is the first reason, in this order, why the node stays. It is zero if the node may be
// deleted.
func (c *checks) refusal(n *state.Node) state.Refusal {
	for _, check := range []func(*state.Node) state.Refusal{
		c.starting, c.pool, c.annotation, c.policy, c.unsettled, c.pods,
	} {
		if refusal := check(n); !refusal.IsZero() {
			return refusal
		}
	}
	return state.Refusal{}
}

// vacant reports whether only time keeps the node, which has no pod and expects none. A pod that moved there
// would keep it, and would be evicted for nothing where its own node is as good.
func (c *checks) vacant(n *state.Node) bool {
	return n.Ineligible.Because == state.Unsettled && n.IsEmpty() && c.starting(n).IsZero() && c.coming(n) == ""
}

// starting refuses nodes that are not in normal operation.
func (c *checks) starting(n *state.Node) state.Refusal {
	claim, object := n.Source.NodeClaim, n.Source.Node
	switch {
	case n.Leaving:
		return state.Refusal{Because: state.Unsettled, Message: "it is already leaving"}
	case reboot.InProgress(claim):
		return state.Refusal{Because: state.Unsettled, Message: "it is being rebooted"}
	case !state.IsInitialized(n.Source) || !api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeInitialized):
		return state.Refusal{Because: state.Unsettled, Message: "it is not initialized yet"}
	case !disruption.IsReady(object):
		return state.Refusal{Because: state.Unsettled, Message: "it is not ready"}
	case c.replacements[claim.Name]:
		return state.Refusal{Because: state.Unsettled, Message: "it replaces a node that is not gone yet"}
	}
	return state.Refusal{}
}

// pool refuses nodes whose NodePool cannot be consolidated.
func (c *checks) pool(n *state.Node) state.Refusal {
	var message string
	switch {
	case n.Pool == nil:
		message = fmt.Sprintf("its NodePool %q does not exist", n.Source.NodeClaim.Labels[api.NodePoolLabelKey])
	case n.Pool.API.Spec.Replicas != nil:
		message = "its NodePool has a fixed number of nodes (spec.replicas)"
	case n.Pool.Problem != "":
		message = "its NodePool's " + n.Pool.Problem
	default:
		return state.Refusal{}
	}
	return state.Refusal{Because: state.Policy, Message: message}
}

// annotation refuses nodes that a person protects.
func (c *checks) annotation(n *state.Node) state.Refusal {
	by := protection.OfNode(n.Source.Node, c.now)
	if by == "" {
		return state.Refusal{}
	}
	return state.Refusal{Because: state.Protected, Message: "the node has the annotation " + by}
}

// policy refuses nodes that the NodePool's disruption policy excludes, and nodes without a price.
func (c *checks) policy(n *state.Node) state.Refusal {
	if why := n.Pool.API.RefusesConsolidation(n.IsEmpty()); why != "" {
		return state.Refusal{Because: state.Policy, Message: "its NodePool " + why}
	}
	switch {
	case n.IsEmpty():
		return state.Refusal{}
	case len(n.Pods) == 0:
		return state.Refusal{Because: state.Unsettled, Message: "its last pods are ending"}
	case n.Price <= 0 && n.Source.Paid > 0:
		return state.Refusal{Because: state.TooLittle, Message: "commitments pay for it: moving its pods would save nothing"}
	case n.Price <= 0:
		message := fmt.Sprintf("the price of %s as %s in %s is not known",
			orUnlabelled(n.Label(corev1.LabelInstanceTypeStable)),
			orUnlabelled(n.Label(api.CapacityTypeLabelKey)), orUnlabelled(n.Label(corev1.LabelTopologyZone)))
		return state.Refusal{Because: state.Unpriced, Message: message}
	}
	return state.Refusal{}
}

func orUnlabelled(value string) string {
	if value == "" {
		return "a node without that label"
	}
	return value
}

// pods refuses nodes that hold a protected pod, one of a Job where the NodePool keeps those, or one whose
// successor nobody knows.
func (c *checks) pods(n *state.Node) state.Refusal {
	message := c.protection.of(n.Source.Pods)
	if message == "" && n.Pool.KeepJobs {
		message = runningJob(n.Pods)
	}
	for i := 0; i < len(n.Pods) && message == ""; i++ {
		message = scheduling.UnreadTemplate(n.Pods[i].Object)
	}
	if message == "" {
		return state.Refusal{}
	}
	return state.Refusal{Because: state.Protected, Message: message}
}
