package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeClaim requests one node, and represents it from before its launch until after its
// termination.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodeclaims,scope=Cluster,categories=karpenter
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".metadata.labels.node\\.kubernetes\\.io/instance-type",description="The instance type"
// +kubebuilder:printcolumn:name="Capacity",type="string",JSONPath=".metadata.labels.karpenter\\.sh/capacity-type",description="on-demand, spot or reserved"
// +kubebuilder:printcolumn:name="Zone",type="string",JSONPath=".metadata.labels.topology\\.kubernetes\\.io/zone",description="The availability zone"
// +kubebuilder:printcolumn:name="Node",type="string",JSONPath=".status.nodeName",description="The node's name"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether the node is launched, registered and initialized"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="ImageID",type="string",JSONPath=".status.imageID",priority=1,description="The machine image"
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.providerID",priority=1,description="The instance as the node names it"
// +kubebuilder:printcolumn:name="NodePool",type="string",JSONPath=".metadata.labels.karpenter\\.sh/nodepool",priority=1,description="The node pool"
// +kubebuilder:printcolumn:name="NodeClass",type="string",JSONPath=".spec.nodeClassRef.name",priority=1,description="The node class"
// +kubebuilder:printcolumn:name="Drifted",type="string",JSONPath=".status.conditions[?(@.type==\"Drifted\")].status",priority=1,description="Whether the node differs from what its pool and class ask for"
type NodeClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a node claim cannot be changed: delete the claim, and change its node pool"
	// +required
	Spec NodeClaimSpec `json:"spec"`
	// +optional
	Status NodeClaimStatus `json:"status,omitempty,omitzero"`
}

// NodeClaimList is a list of NodeClaims.
//
// +kubebuilder:object:root=true
type NodeClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeClaim `json:"items"`
}

// NodeClaimSpec is the desired state of one node. It never changes.
type NodeClaimSpec struct {
	// Taints that the node keeps.
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`
	// Taints that the node starts with, and that another controller removes.
	// +optional
	StartupTaints []corev1.Taint `json:"startupTaints,omitempty"`
	// Conditions on the node's labels, including the instance types that may be launched. All of
	// them must hold.
	// +kubebuilder:validation:MaxItems=100
	// +required
	// +kubebuilder:validation:XValidation:rule="self.all(r, r.operator != 'In' || (has(r.values) && r.values.size() > 0))",message="a requirement with the operator In needs at least one value"
	// +kubebuilder:validation:XValidation:rule="self.all(r, !(r.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(r.values) && r.values.size() == 1 && r.values[0].matches('^[0-9]{1,18}$')))",message="a requirement with the operator Gt, Lt, Gte or Lte needs exactly one value, an integer of zero or more"
	// +kubebuilder:validation:XValidation:rule="self.all(r, r.operator != 'In' || !has(r.minValues) || (has(r.values) && r.values.size() >= r.minValues))",message="a requirement with the operator In needs at least minValues values"
	Requirements []NodeSelectorRequirementWithMinValues `json:"requirements"`
	// The resources that the node must have room for.
	// +optional
	Resources ResourceRequirements `json:"resources,omitempty,omitzero"`
	// The node class of the node.
	// +required
	NodeClassRef *NodeClassReference `json:"nodeClassRef"`
	// The time that the node may drain after its deletion. Then its pods are deleted, even where a
	// disruption budget or an annotation protects them. Unset waits for ever.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +optional
	TerminationGracePeriod *metav1.Duration `json:"terminationGracePeriod,omitempty"`
	// The age at which the node is deleted, or Never.
	// +kubebuilder:default:="720h"
	// +optional
	ExpireAfter NillableDuration `json:"expireAfter,omitzero"`
}

// ResourceRequirements are the resources that a node must have room for.
type ResourceRequirements struct {
	// The sum of the requests of the pods that the claim was made for, and of the daemon sets that
	// will run beside them.
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`
}

// NodeClassReference names the node class of a node pool or node claim.
type NodeClassReference struct {
	// The class's kind, such as EC2NodeClass.
	// +kubebuilder:validation:MinLength=1
	// +required
	Kind string `json:"kind"`
	// The class's name.
	// +kubebuilder:validation:MinLength=1
	// +required
	Name string `json:"name"`
	// The class's API group without a version, such as karpenter.k8s.aws.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^[^/]*$`
	// +required
	Group string `json:"group"`
}

// IsEC2NodeClass reports whether the reference names an EC2NodeClass. Pools and claims with another
// kind of class, such as those of EKS Auto Mode, have the same API group and belong to another
// controller. Whittle leaves them alone.
func (r *NodeClassReference) IsEC2NodeClass() bool {
	return r != nil && r.Kind == EC2NodeClassKind && r.Group == AWSGroup
}

// ClassOf returns the EC2NodeClass of the list that the reference names, or nil.
func ClassOf(ref *NodeClassReference, classes []EC2NodeClass) *EC2NodeClass {
	for i := range classes {
		if ref.IsEC2NodeClass() && classes[i].Name == ref.Name {
			return &classes[i]
		}
	}
	return nil
}

// NodeClaimStatus is the last observed state of the node.
type NodeClaimStatus struct {
	// The name of the node, once it has registered.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// The instance, as in the node's spec.providerID: aws:///ZONE/INSTANCE.
	// +optional
	ProviderID string `json:"providerID,omitempty"`
	// The machine image that the instance was launched from.
	// +optional
	ImageID string `json:"imageID,omitempty"`
	// The expected capacity of the node, including the resources reserved for the system.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// The part of the capacity that pods may use.
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
	// The conditions of the node. Ready summarises them.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// The time at which a pod was last added to the node, ended on it, or was removed from it.
	// +optional
	LastPodEventTime metav1.Time `json:"lastPodEventTime,omitempty,omitzero"`
}
