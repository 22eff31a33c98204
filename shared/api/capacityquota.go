package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// CapacityQuotaAPIVersion and CapacityQuotaKind are those of SIG Autoscaling, for Cluster Autoscaler
	// and others. Whittle reads them where a cluster has the definition, and does not install it.
	// https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/proposals/granular-resource-limits.md
	CapacityQuotaAPIVersion = AutoscalingGroup + "/v1beta1"
	CapacityQuotaKind       = "CapacityQuota"
	// CapacityQuotasPath is the path of all CapacityQuotas in the API server.
	CapacityQuotasPath = "/apis/" + CapacityQuotaAPIVersion + "/capacityquotas"
)

// CapacityQuota bounds what the nodes that a selector selects have together. Its status is Cluster
// Autoscaler's and is not read.
type CapacityQuota struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec CapacityQuotaSpec `json:"spec"`

	// Unreadable has the fields of a stored object that cannot be read, by path, with the reason. They
	// are unset here. It is nil for an object whose fields are all read.
	Unreadable map[string]string `json:"-"`
}

// CapacityQuotaList is a list of CapacityQuotas.
type CapacityQuotaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CapacityQuota `json:"items"`
}

// CapacityQuotaSpec says which nodes count, and what they may have.
type CapacityQuotaSpec struct {
	// Selector selects nodes by their labels. Nil and empty select all.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	Limits   CapacityQuotaLimits   `json:"limits"`
}

// CapacityQuotaLimits are the greatest amounts.
type CapacityQuotaLimits struct {
	// Resources are cpu, memory, nodes and others of a node's capacity.
	Resources corev1.ResourceList `json:"resources"`
}

// SetUnreadable notes the fields that cannot be read.
func (q *CapacityQuota) SetUnreadable(fields map[string]string) { q.Unreadable = fields }
