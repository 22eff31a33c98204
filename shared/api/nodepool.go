package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/hours"
)

// NodePool configures which nodes may be launched, how many, and when they may be removed.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodepools,scope=Cluster,categories=karpenter
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.nodes
// +kubebuilder:printcolumn:name="NodeClass",type="string",JSONPath=".spec.template.spec.nodeClassRef.name",description="The node class of its nodes"
// +kubebuilder:printcolumn:name="Nodes",type="integer",JSONPath=".status.nodes",description="How many nodes it has"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether it may launch nodes"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Weight",type="integer",JSONPath=".spec.weight",priority=1,description="Heavier pools are tried first"
// +kubebuilder:printcolumn:name="CPU",type="string",JSONPath=".status.resources.cpu",priority=1,description="The sum of its nodes' CPU"
// +kubebuilder:printcolumn:name="Memory",type="string",JSONPath=".status.resources.memory",priority=1,description="The sum of its nodes' memory"
type NodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec NodePoolSpec `json:"spec"`
	// +optional
	Status NodePoolStatus `json:"status,omitempty,omitzero"`

	// Unreadable has the fields of a stored object that cannot be read, by path, with the reason. They
	// are unset here. It is nil for an object whose fields are all read.
	Unreadable map[string]string `json:"-"`

	// ClusterOrder is what a person ordered for the whole cluster, or nil. Readers of the cluster write it
	// on the pools that they read: see Rest.
	ClusterOrder *hours.Order `json:"-"`

	// Freezes are what people have frozen, of this pool and others, or nil. The same readers write them.
	Freezes *freeze.Freezes `json:"-"`

	// DriftWaits says why drifted nodes of the pool wait for its release, or is empty. What shows people the
	// cluster writes it.
	DriftWaits string `json:"-"`
}

// NodePoolList is a list of NodePools.
//
// +kubebuilder:object:root=true
type NodePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodePool `json:"items"`
}

// NodePoolSpec is the desired state of a node pool.
//
// +kubebuilder:validation:XValidation:rule="has(self.replicas) == has(oldSelf.replicas)",message="replicas can neither be added to a node pool nor removed from it: make a new node pool"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.weight)",message="a node pool with replicas has no weight: remove weight"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.limits) || self.limits.all(name, name == 'nodes')",message="a node pool with replicas may limit nodes only: remove the other limits"
type NodePoolSpec struct {
	// The template of the pool's node claims.
	// +required
	Template NodeClaimTemplate `json:"template"`
	// The conditions under which nodes may be removed.
	// +kubebuilder:default:={consolidateAfter: "0h"}
	// +optional
	Disruption Disruption `json:"disruption,omitzero"`
	// The maximum sum over the pool's nodes, for any resource name, and for nodes.
	// +optional
	Limits Limits `json:"limits,omitempty"`
	// Pools with a higher weight are tried first. Unset counts as zero.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	Weight *int32 `json:"weight,omitempty"`
	// The number of nodes that the pool keeps, independent of pending pods. A pool either has
	// replicas from its creation, or never.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int64 `json:"replicas,omitempty"`
}

// The hash tags below, and the names of the fields and types, determine the hash that detects
// drifted nodes. Package disruption computes it. It ignores requirements, which are compared with
// the node's labels instead.

// NodeClaimTemplate is the template of a pool's node claims.
type NodeClaimTemplate struct {
	ObjectMeta `json:"metadata,omitempty,omitzero"`
	// The spec that each node claim of the pool starts from.
	// +required
	Spec NodeClaimTemplateSpec `json:"spec"`
}

// ObjectMeta is the part of an object's metadata that a template may set.
type ObjectMeta struct {
	// Labels of the claims and the nodes. Keys follow the rules of requirements.
	// +kubebuilder:validation:MaxProperties=100
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the claims and the nodes.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// NodeClaimTemplateSpec is the part of a NodeClaimSpec that the pool determines. The pods determine
// the rest.
//
// +kubebuilder:validation:XValidation:rule="self.nodeClassRef.group == oldSelf.nodeClassRef.group && self.nodeClassRef.kind == oldSelf.nodeClassRef.kind",message="nodeClassRef.group and nodeClassRef.kind cannot be changed: make a new node pool"
type NodeClaimTemplateSpec struct {
	// Taints that the nodes keep.
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`
	// Taints that the nodes start with, and that another controller removes. A node is not
	// initialized before that.
	// +optional
	StartupTaints []corev1.Taint `json:"startupTaints,omitempty"`
	// Conditions on the nodes' labels. All of them must hold.
	// +kubebuilder:validation:MaxItems=100
	// +required
	// +kubebuilder:validation:XValidation:rule="self.all(r, r.operator != 'In' || (has(r.values) && r.values.size() > 0))",message="a requirement with the operator In needs at least one value"
	// +kubebuilder:validation:XValidation:rule="self.all(r, !(r.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(r.values) && r.values.size() == 1 && r.values[0].matches('^[0-9]{1,18}$')))",message="a requirement with the operator Gt, Lt, Gte or Lte needs exactly one value, an integer of zero or more"
	// +kubebuilder:validation:XValidation:rule="self.all(r, r.operator != 'In' || !has(r.minValues) || (has(r.values) && r.values.size() >= r.minValues))",message="a requirement with the operator In needs at least minValues values"
	// +kubebuilder:validation:XValidation:rule="self.all(r, r.key != 'karpenter.sh/nodepool')",message="karpenter.sh/nodepool is set by the pool itself: remove the requirement"
	Requirements []NodeSelectorRequirementWithMinValues `json:"requirements" hash:"ignore"`
	// The node class of the nodes.
	// +required
	NodeClassRef *NodeClassReference `json:"nodeClassRef"`
	// The time that a deleted node may drain. Then its pods are deleted, even where a disruption
	// budget or an annotation protects them. Unset waits for ever.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +optional
	TerminationGracePeriod *metav1.Duration `json:"terminationGracePeriod,omitempty"`
	// The age at which a node is deleted, or Never.
	// +kubebuilder:default:="720h"
	// +optional
	ExpireAfter NillableDuration `json:"expireAfter,omitzero"`
}

// Limits maps resource names, and ResourceNodes, to the maximum that a pool may have.
type Limits corev1.ResourceList

// NodePoolStatus is the last observed state of a node pool.
type NodePoolStatus struct {
	// The sum of the capacity of the pool's nodes and claims.
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`
	// The number of nodes of the pool.
	// +kubebuilder:default:=0
	// +optional
	Nodes *int64 `json:"nodes,omitempty"`
	// The generation of the node class at which registration health was last reset.
	// +optional
	NodeClassObservedGeneration int64 `json:"nodeClassObservedGeneration,omitempty"`
	// The conditions of the pool. Ready summarises them.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
