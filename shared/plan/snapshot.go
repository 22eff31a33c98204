package plan

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Snapshot is all that a plan is made from: objects as the API server gives them, and the instance types that can be bought.
type Snapshot struct {
	// Pods wait for a place: those that the scheduler found none for (scheduling.IsProvisionable) or is late with, and those that will be evicted from leaving
	// nodes (scheduling.IsReschedulable). Solve places every one of them.
	Pods []corev1.Pod `json:"pods,omitempty"`
	// Nodes are the existing ones and those on their way, leaving ones among them: they still count against limits.
	Nodes       []Node             `json:"nodes,omitempty"`
	NodePools   []api.NodePool     `json:"nodePools,omitempty"`
	NodeClasses []api.EC2NodeClass `json:"nodeClasses,omitempty"`
	DaemonSets  []appsv1.DaemonSet `json:"daemonSets,omitempty"`
	// InstanceTypes are those that each NodePool's nodes can be, by the pool's name: what catalog.Resolve gives for its class, with the NodeOverlays applied. Pools
	// may share a list.
	InstanceTypes map[string][]catalog.InstanceType `json:"instanceTypes,omitempty"`
	// Namespaces are for pod affinity terms that select them by label.
	Namespaces []corev1.Namespace `json:"namespaces,omitempty"`
	// The volumes that the pods mount, and how many of them nodes can attach.
	PersistentVolumeClaims []corev1.PersistentVolumeClaim `json:"persistentVolumeClaims,omitempty"`
	PersistentVolumes      []corev1.PersistentVolume      `json:"persistentVolumes,omitempty"`
	StorageClasses         []storagev1.StorageClass       `json:"storageClasses,omitempty"`
	CSINodes               []storagev1.CSINode            `json:"csiNodes,omitempty"`
	// WellKnownLabels are keys, beside those that Kubernetes, Karpenter and AWS define, that a pod may ask for although no NodePool defines them.
	WellKnownLabels  []string         `json:"wellKnownLabels,omitempty"`
	PreferencePolicy PreferencePolicy `json:"preferencePolicy,omitempty"`
	MinValuesPolicy  MinValuesPolicy  `json:"minValuesPolicy,omitempty"`
	// Rough asks for a plan in a fraction of the time: new nodes stay as they are first packed, no further plans are made, and nothing is said of the lower bound.
	Rough bool `json:"rough,omitempty"`
}

// PreferencePolicy says what becomes of preferences (preferred affinity, ScheduleAnyway spread, PreferNoSchedule taints); empty is Respect.
type PreferencePolicy string

const (
	// PreferencesRespected: preferences are demands, given up one at a time where they cannot be met.
	PreferencesRespected PreferencePolicy = "Respect"
	// PreferencesIgnored: preferences do not count.
	PreferencesIgnored PreferencePolicy = "Ignore"
)

// MinValuesPolicy says what becomes of a requirement's minValues that cannot be met; empty is Strict.
type MinValuesPolicy string

const (
	// MinValuesStrict: no node is made.
	MinValuesStrict MinValuesPolicy = "Strict"
	// MinValuesBestEffort: the node asks for as many values as there are, and says so in an annotation.
	MinValuesBestEffort MinValuesPolicy = "BestEffort"
)

// Node is a node with what belongs to it.
type Node struct {
	// Node is nil as long as the instance has not joined.
	Node *corev1.Node `json:"node,omitempty"`
	// NodeClaim is nil for a node that no claim stands for.
	NodeClaim *api.NodeClaim `json:"nodeClaim,omitempty"`
	// Pods are bound to the node. Those that have ended count for nothing.
	Pods []corev1.Pod `json:"pods,omitempty"`
	// Rank says which nodes are filled first: of nodes that are as far with starting, those of the lowest rank, and of equal ones the first by name.
	Rank int `json:"rank,omitempty"`

	// have is what Prepare has read.
	have scheduling.Requirements
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
