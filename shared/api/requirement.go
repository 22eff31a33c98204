package api

import (
	corev1 "k8s.io/api/core/v1"
)

// Operators of requirements that Kubernetes' node selectors do not have.
const (
	// NodeSelectorOpGte holds when the label's number is at least the value.
	NodeSelectorOpGte corev1.NodeSelectorOperator = "Gte"
	// NodeSelectorOpLte holds when the label's number is at most the value.
	NodeSelectorOpLte corev1.NodeSelectorOperator = "Lte"
)

// NodeSelectorRequirementWithMinValues is a condition on one label of a node, with a minimum number
// of different values that must stay possible.
type NodeSelectorRequirementWithMinValues struct {
	// The label's key.
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	// +required
	Key string `json:"key"`
	// The relation between the label's value and the values: In, NotIn, Exists, DoesNotExist, and
	// for numbers Gt, Lt, Gte and Lte.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt;Gte;Lte
	// +required
	Operator corev1.NodeSelectorOperator `json:"operator"`
	// The values. In needs at least one. Gt, Lt, Gte and Lte need exactly one, an integer of zero
	// or more. Exists and DoesNotExist ignore them.
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
	// +listType=atomic
	// +optional
	Values []string `json:"values,omitempty"`
	// The minimum number of different values of this label among the instance types offered to EC2.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	// +optional
	MinValues *int `json:"minValues,omitempty"`
}
