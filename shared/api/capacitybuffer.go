package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// CapacityBufferAPIVersion and CapacityBufferKind are those of SIG Autoscaling, which Cluster
	// Autoscaler and Karpenter share.
	// https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/proposals/buffers.md
	CapacityBufferAPIVersion = AutoscalingGroup + "/" + CapacityBufferVersion
	CapacityBufferKind       = "CapacityBuffer"
	// AutoscalingGroup is the API group, CapacityBufferVersion its version, and
	// CapacityBufferResource the plural in paths and rules.
	AutoscalingGroup       = "autoscaling.x-k8s.io"
	CapacityBufferVersion  = "v1beta1"
	CapacityBufferResource = "capacitybuffers"
	// CapacityBuffersPath is the path of all CapacityBuffers in the API server.
	CapacityBuffersPath = "/apis/" + CapacityBufferAPIVersion + "/" + CapacityBufferResource
	// ActiveCapacityStrategy is the strategy that an autoscaler carries out, and the default.
	// Buffers of other strategies are for other controllers.
	ActiveCapacityStrategy = "buffer.x-k8s.io/active-capacity"
)

// Conditions of a CapacityBuffer, and their reasons, as Karpenter writes them.
const (
	// ConditionReadyForProvisioning says that the buffer's pods are known.
	ConditionReadyForProvisioning = "ReadyForProvisioning"
	ReasonBufferResolved          = "Resolved"
	ReasonPodTemplateNotFound     = "PodTemplateNotFound"
	ReasonScalableRefNotFound     = "ScalableRefNotFound"
	ReasonResolutionFailed        = "ResolutionFailed"
	// ConditionProvisioning says that nodes have room for all of them.
	ConditionProvisioning         = "Provisioning"
	ReasonFitsExistingCapacity    = "FitsExistingCapacity"
	ReasonRequiresNewCapacity     = "RequiresNewCapacity"
	ReasonNotReadyForProvisioning = "NotReadyForProvisioning"
	ReasonBufferEmpty             = "BufferEmpty"
)

// CapacityBuffer asks for room on nodes before pods need it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=capacitybuffers,scope=Namespaced,categories=autoscaling,shortName={cb}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Strategy",type="string",JSONPath=".status.provisioningStrategy",description="The strategy that is carried out"
// +kubebuilder:printcolumn:name="Replicas",type="integer",JSONPath=".status.replicas",description="How many pods there should be room for"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"ReadyForProvisioning\")].status",description="Whether the pods are known"
// +kubebuilder:printcolumn:name="Provisioned",type="string",JSONPath=".status.conditions[?(@.type==\"Provisioning\")].reason",description="Whether nodes have room for them"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type CapacityBuffer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec CapacityBufferSpec `json:"spec"`
	// +optional
	Status CapacityBufferStatus `json:"status,omitempty,omitzero"`

	// Unreadable has the fields of a stored object that cannot be read, by path, with the reason. They
	// are unset here. It is nil for an object whose fields are all read.
	Unreadable map[string]string `json:"-"`
}

// CapacityBufferList is a list of CapacityBuffers.
//
// +kubebuilder:object:root=true
type CapacityBufferList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CapacityBuffer `json:"items"`
}

// CapacityBufferSpec says for which pods there is room, and for how many of them.
//
// +kubebuilder:validation:XValidation:rule="!has(self.podTemplateRef) || !has(self.scalableRef)",message="a buffer has either podTemplateRef or scalableRef: remove one"
// +kubebuilder:validation:XValidation:rule="!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)",message="podTemplateRef needs replicas or limits, which say how many pods the buffer is for: set one"
type CapacityBufferSpec struct {
	// The strategy. Buffers of other strategies than the default are for other controllers.
	// +kubebuilder:default="buffer.x-k8s.io/active-capacity"
	// +optional
	ProvisioningStrategy *string `json:"provisioningStrategy,omitempty"`
	// A PodTemplate of the buffer's namespace, whose pods the room is for.
	// +optional
	PodTemplateRef *PodTemplateRef `json:"podTemplateRef,omitempty"`
	// A workload of the buffer's namespace, whose pods the room is for.
	// +optional
	ScalableRef *BufferScalableRef `json:"scalableRef,omitempty"`
	// The number of pods that there should be room for.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// The number of pods in percent of the workload's, rounded up. The greater of replicas and
	// percentage counts.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Percentage *int32 `json:"percentage,omitempty"`
	// The most that the pods request together. Without replicas and percentage the pods are as many as
	// it allows.
	// +optional
	Limits corev1.ResourceList `json:"limits,omitempty"`
}

// PodTemplateRef names a PodTemplate.
type PodTemplateRef struct {
	// The name of the PodTemplate.
	// +kubebuilder:validation:MinLength=1
	// +required
	Name string `json:"name"`
}

// BufferScalableRef names a workload.
type BufferScalableRef struct {
	// The API group of the workload: apps.
	// +optional
	APIGroup string `json:"apiGroup,omitempty"`
	// The kind of the workload: Deployment, StatefulSet or ReplicaSet.
	// +kubebuilder:validation:MinLength=1
	// +required
	Kind string `json:"kind"`
	// The name of the workload.
	// +kubebuilder:validation:MinLength=1
	// +required
	Name string `json:"name"`
}

// CapacityBufferStatus is what provision has found out about a buffer.
type CapacityBufferStatus struct {
	// The PodTemplate that the pods come from.
	// +optional
	PodTemplateRef *PodTemplateRef `json:"podTemplateRef,omitempty"`
	// The generation of the PodTemplate.
	// +optional
	PodTemplateGeneration *int64 `json:"podTemplateGeneration,omitempty"`
	// How many pods there should be room for.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// The strategy that is carried out.
	// +optional
	ProvisioningStrategy *string `json:"provisioningStrategy,omitempty"`
	// The conditions of the buffer.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
