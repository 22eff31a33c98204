package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeOverlay changes what is planned with for some instance types: their price, or
// what they have beyond what EC2 says of them. The instances themselves stay what they
// are.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodeoverlays,scope=Cluster,categories=karpenter,shortName={overlays}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether it applies"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Weight",type="integer",JSONPath=".spec.weight",priority=1,description="Heavier overlays win"
type NodeOverlay struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec NodeOverlaySpec `json:"spec"`
	// +optional
	Status NodeOverlayStatus `json:"status,omitempty,omitzero"`
}

// NodeOverlayList is what listing node overlays gives.
//
// +kubebuilder:object:root=true
type NodeOverlayList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeOverlay `json:"items"`
}

// NodeOverlaySpec says which instance types and offerings an overlay is about, and what
// becomes of them.
//
// +kubebuilder:validation:XValidation:rule="!has(self.price) || !has(self.priceAdjustment)",message="an overlay has either price or priceAdjustment: remove one"
type NodeOverlaySpec struct {
	// Conditions on the labels of an instance type, of its offerings and of the node
	// pool. All of them hold.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(r, !(r.operator in ['In', 'NotIn']) || (has(r.values) && r.values.size() > 0))",message="a requirement with the operator In or NotIn needs at least one value"
	// +kubebuilder:validation:XValidation:rule="self.all(r, !(r.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(r.values) && r.values.size() == 1 && r.values[0].matches('^[0-9]{1,18}$')))",message="a requirement with the operator Gt, Lt, Gte or Lte needs exactly one value, an integer of zero or more"
	// +required
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
	// The price of the offerings in US dollars an hour, in the place of EC2's.
	// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+)?$`
	// +optional
	Price *string `json:"price,omitempty"`
	// What is added to or taken from the price of the offerings: US dollars an hour
	// with their sign, such as -0.01, or a percentage with its sign, such as +10%. No
	// price becomes less than zero.
	// +kubebuilder:validation:Pattern=`^([+-]([0-9]+(\.[0-9]+)?|\.[0-9]+)|\+([0-9]+(\.[0-9]+)?|\.[0-9]+)%|-([0-9]{1,2}(\.[0-9]+)?|\.[0-9]+|100(\.0+)?)%)$`
	// +optional
	PriceAdjustment *string `json:"priceAdjustment,omitempty"`
	// Extended resources that the instance types have, such as devices that something
	// in the cluster makes known.
	// +kubebuilder:validation:XValidation:rule="self.all(name, !(name in ['cpu', 'memory', 'ephemeral-storage', 'pods']))",message="an overlay adds extended resources only: remove cpu, memory, ephemeral-storage and pods"
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// Of overlays that say something of the same price or resource the heaviest one
	// counts. Unset counts as zero. Two of the same weight may not do so.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Weight *int32 `json:"weight,omitempty"`
}

// NodeOverlayStatus is what was last seen of a node overlay.
type NodeOverlayStatus struct {
	// What is so, and what is not; Ready sums it up.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Reasons of a NodeOverlay's condition ValidationSucceeded when it is false.
const (
	// ReasonOverlayConflict: another overlay of the same weight is about the same price or resource.
	ReasonOverlayConflict = "Conflict"
	// ReasonOverlayRuntimeValidation: Validate found something.
	ReasonOverlayRuntimeValidation = "RuntimeValidation"
)

// NodeOverlayReadyDependents are the conditions that a NodeOverlay's Ready sums up.
func NodeOverlayReadyDependents() []string { return []string{ConditionTypeValidationSucceeded} }

// Default fills in nothing: the schema has no defaults. An unset weight counts as zero (Heft).
func (o *NodeOverlay) Default() {}

// Heft is the overlay's weight; unset counts as zero.
func (o *NodeOverlay) Heft() int32 {
	if o.Spec.Weight == nil {
		return 0
	}
	return *o.Spec.Weight
}
