package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeOverlay changes the price or the extended resources with which Whittle plans some instance
// types. It does not change the instances.
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

	// Unreadable has the fields of a stored object that cannot be read, by path, with the reason. They
	// are unset here. It is nil for an object whose fields are all read.
	Unreadable map[string]string `json:"-"`
}

// NodeOverlayList is a list of NodeOverlays.
//
// +kubebuilder:object:root=true
type NodeOverlayList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeOverlay `json:"items"`
}

// NodeOverlaySpec selects instance types and offerings, and gives their changes.
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
	// The price of the offerings in US dollars an hour. It replaces EC2's price.
	// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+)?$`
	// +optional
	Price *string `json:"price,omitempty"`
	// The change of the price of the offerings: US dollars an hour with a sign, such as -0.01, or a
	// percentage with a sign, such as +10%. A price never becomes less than zero.
	// +kubebuilder:validation:Pattern=`^([+-]([0-9]+(\.[0-9]+)?|\.[0-9]+)|\+([0-9]+(\.[0-9]+)?|\.[0-9]+)%|-([0-9]{1,2}(\.[0-9]+)?|\.[0-9]+|100(\.0+)?)%)$`
	// +optional
	PriceAdjustment *string `json:"priceAdjustment,omitempty"`
	// Extended resources of the instance types, such as devices that a device plugin registers.
	// +kubebuilder:validation:XValidation:rule="self.all(name, !(name in ['cpu', 'memory', 'ephemeral-storage', 'pods']))",message="an overlay adds extended resources only: remove cpu, memory, ephemeral-storage and pods"
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// Of several overlays that change the same price or resource, the one with the highest weight
	// counts. Unset counts as zero. Two overlays of the same weight conflict.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Weight *int32 `json:"weight,omitempty"`
}

// NodeOverlayStatus is the last observed state of a node overlay.
type NodeOverlayStatus struct {
	// The conditions of the overlay. Ready summarises them.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Reasons of a NodeOverlay's condition ValidationSucceeded when it is False.
const (
	// ReasonOverlayConflict means that another overlay of the same weight changes the same price or
	// resource.
	ReasonOverlayConflict = "Conflict"
	// ReasonOverlayRuntimeValidation means that Validate found a problem.
	ReasonOverlayRuntimeValidation = "RuntimeValidation"
)

// NodeOverlayReadyDependents returns the conditions that a NodeOverlay's Ready depends on.
func NodeOverlayReadyDependents() []string { return []string{ConditionTypeValidationSucceeded} }

// Default changes nothing, because the schema has no defaults. WeightOrZero reads an unset weight.
func (o *NodeOverlay) Default() {}

// WeightOrZero returns the overlay's weight, or zero where it is unset.
func (o *NodeOverlay) WeightOrZero() int32 {
	if o.Spec.Weight == nil {
		return 0
	}
	return *o.Spec.Weight
}
