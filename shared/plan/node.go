package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/membership"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Node is one node of the cluster with its claim and its pods.
type Node struct {
	// Node is nil until the instance has joined the cluster.
	Node *corev1.Node `json:"node,omitempty"`
	// NodeClaim is nil for a node that no NodeClaim stands for.
	NodeClaim *api.NodeClaim `json:"nodeClaim,omitempty"`
	// Pods are bound to the node. Pods that have ended take no room.
	Pods []corev1.Pod `json:"pods,omitempty"`
	// Rank orders nodes that are equally far with starting: lower ranks are filled first, then names.
	Rank int `json:"rank,omitempty"`
	// Paid is the part of the instance's price that commitments pay for, between zero and one.
	Paid float64 `json:"paid,omitempty"`
	// PricePerHour is what the node counts with against limits of money. Where it is zero, the
	// snapshot's instance types tell (limit.Price).
	PricePerHour float64 `json:"pricePerHour,omitempty"`

	// prepared holds Requirements after Prepare.
	prepared scheduling.Requirements
}

// Name is the node's name, or its claim's until the node has joined.
func (n *Node) Name() string {
	switch {
	case n.Node != nil:
		return n.Node.Name
	case n.NodeClaim != nil:
		return n.NodeClaim.Name
	}
	return ""
}

// Label is the node's value of a label, else the claim's. It is empty where neither has it.
func (n *Node) Label(key string) string {
	if n.Node != nil {
		if value, ok := n.Node.Labels[key]; ok {
			return value
		}
	}
	if n.NodeClaim != nil {
		return n.NodeClaim.Labels[key]
	}
	return ""
}

// Pool is the name of the NodePool that the node counts for: its claim's. It is empty for a node without a
// claim, whose own labels are what its kubelet says.
func (n *Node) Pool() string {
	if n.NodeClaim == nil {
		return ""
	}
	return n.NodeClaim.Labels[api.NodePoolLabelKey]
}

// Capacity is what the node counts with against the limits of its pool. It is empty for a claim of which
// nobody has said it yet.
func (n *Node) Capacity() corev1.ResourceList { return membership.Capacity(n.NodeClaim, n.Node) }

// Allocatable is what pods may use of the node, which must have joined. It is no more than its instance can
// have. Callers must not change it.
func (n *Node) Allocatable() corev1.ResourceList { return membership.Allocatable(n.NodeClaim, n.Node) }

// ClosedToPods reports whether no more pods may be planned for the node: see
// scheduling.IsClosedToPods.
func (n *Node) ClosedToPods() bool { return scheduling.IsClosedToPods(n.NodeClaim, n.Node) }

// Unregistered reports whether the claim still speaks for the node, because the node has not joined
// or has not been registered.
func (n *Node) Unregistered() bool {
	return n.Node == nil || n.NodeClaim != nil &&
		n.Node.Labels[api.NodeRegisteredLabelKey] != "true" && n.Node.Labels[api.NodeInitializedLabelKey] != "true"
}

// Initialized reports whether the node has finished starting. A node without a claim has no such
// label, and counts as initialized.
func (n *Node) Initialized() bool {
	return n.Node != nil && (n.NodeClaim == nil || n.Node.Labels[api.NodeInitializedLabelKey] == "true")
}

// Prepare computes Requirements once, for callers that ask for many plans with this node. Copies of
// the node made afterwards share the result. It holds as long as the node's labels do not change.
func (n *Node) Prepare() {
	if n.Initialized() {
		n.prepared = n.Requirements()
	}
}

// Requirements are the labels of an initialized node as requirements of one value each, with its
// name and host name. Callers must not change them.
func (n *Node) Requirements() scheduling.Requirements {
	if n.prepared != nil {
		return n.prepared
	}
	requirements := make(scheduling.Requirements, len(n.Node.Labels)+2)
	OverrideLabels(requirements, n.Node.Labels)
	AddNames(requirements, n.Node)
	return requirements
}

// OverrideLabels sets each label's requirement to its one value, whatever was there before.
func OverrideLabels(requirements scheduling.Requirements, labels map[string]string) {
	for key, value := range labels {
		r := scheduling.In(key, value)
		requirements[r.Key()] = r
	}
}

// AddNames adds the node's host name, unless a label gives another one, and its metadata.name,
// which node affinity may select by a field.
func AddNames(requirements scheduling.Requirements, node *corev1.Node) {
	if _, ok := requirements[corev1.LabelHostname]; !ok {
		requirements[corev1.LabelHostname] = scheduling.In(corev1.LabelHostname, node.Name)
	}
	requirements["metadata.name"] = scheduling.In("metadata.name", node.Name)
}

// Taints are the taints that keep pods off the node. A starting node will lose its startup taints
// and ephemeral taints, so they do not count. An unregistered node has those of its claim. Whittle's own
// soft taint never counts: the node's room is there for pods that fit nowhere else.
func (n *Node) Taints() []corev1.Taint {
	if n.Unregistered() {
		return n.NodeClaim.Spec.Taints
	}
	var taints []corev1.Taint
	if n.Node.Spec.Unschedulable {
		taints = append(taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	if n.Initialized() {
		return append(taints, wished(n.Node.Spec.Taints)...)
	}
	startup := n.NodeClaim.Spec.StartupTaints
	for _, taint := range wished(n.Node.Spec.Taints) {
		if !api.IsEphemeralTaint(taint) && !containsTaint(startup, &taint) {
			taints = append(taints, taint)
		}
	}
	for _, taint := range n.NodeClaim.Spec.Taints {
		if !containsTaint(taints, &taint) {
			taints = append(taints, taint)
		}
	}
	return taints
}

// wished are the taints without Whittle's soft one.
func wished(taints []corev1.Taint) []corev1.Taint {
	if !slices.ContainsFunc(taints, api.IsCandidateTaint) {
		return taints
	}
	return slices.DeleteFunc(slices.Clone(taints), api.IsCandidateTaint)
}

func containsTaint(taints []corev1.Taint, taint *corev1.Taint) bool {
	return slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.MatchTaint(taint) })
}

// Domain is the node's value of a topology key, and false if it has none. An unregistered node has
// the domains of its claim's labels. A node without a host name label is its own host.
func (n *Node) Domain(key string) (string, bool) {
	if n.Node == nil {
		if n.NodeClaim != nil {
			value, ok := n.NodeClaim.Labels[key]
			return value, ok
		}
		return "", false
	}
	value, ok := n.Node.Labels[key]
	if !ok && n.Unregistered() {
		value, ok = n.NodeClaim.Labels[key]
	}
	if !ok && key == corev1.LabelHostname {
		return n.Node.Name, true
	}
	return value, ok
}
