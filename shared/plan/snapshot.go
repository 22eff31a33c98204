package plan

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// Snapshot is all that a plan is made from: objects as the API server gives them, and the instance types that can be bought.
type Snapshot struct {
	// Pods wait for a place: those that the scheduler found none for (scheduling.IsProvisionable), and those that will be evicted from leaving nodes
	// (scheduling.IsReschedulable). Solve places every one of them.
	Pods []corev1.Pod `json:"pods,omitempty"`
	// Nodes are the existing ones and those on their way, leaving ones among them: they still count against limits.
	Nodes       []Node             `json:"nodes,omitempty"`
	NodePools   []api.NodePool     `json:"nodePools,omitempty"`
	NodeClasses []api.EC2NodeClass `json:"nodeClasses,omitempty"`
	DaemonSets  []appsv1.DaemonSet `json:"daemonSets,omitempty"`
	// Catalog has the instance types of each EC2NodeClass by its name, as catalog.Resolve gives them.
	Catalog map[string][]catalog.InstanceType `json:"catalog,omitempty"`
}

// Node is a node with what belongs to it.
type Node struct {
	// Node is nil as long as the instance has not joined.
	Node *corev1.Node `json:"node,omitempty"`
	// NodeClaim is nil for a node that no claim stands for.
	NodeClaim *api.NodeClaim `json:"nodeClaim,omitempty"`
	// Pods are bound to the node. Those that have ended count for nothing.
	Pods []corev1.Pod `json:"pods,omitempty"`
}

// name is the node's name, or its claim's while it is in flight.
func (n *Node) name() string {
	switch {
	case n.Node != nil:
		return n.Node.Name
	case n.NodeClaim != nil:
		return n.NodeClaim.Name
	}
	return ""
}
