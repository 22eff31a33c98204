package legacy

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Provisioner configures which nodes may be launched. A NodePool and an EC2NodeClass of its name do
// its work. New manifests should use these kinds.
//
// +kubebuilder:resource:path=provisioners,scope=Cluster,categories=karpenter
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Template",type="string",JSONPath=".spec.providerRef.name",description="The AWSNodeTemplate of its nodes"
// +kubebuilder:printcolumn:name="Weight",type="string",JSONPath=".spec.weight",priority=1,description="Heavier provisioners are tried first"
type Provisioner struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec ProvisionerSpec `json:"spec,omitempty,omitzero"`
	// +optional
	Status ProvisionerStatus `json:"status,omitempty,omitzero"`
}

// ProvisionerList is a list of Provisioners.
type ProvisionerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Provisioner `json:"items"`
}

// ProvisionerSpec is the desired state of a provisioner.
type ProvisionerSpec struct {
	// Annotations of the nodes.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// Labels of the nodes.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Taints that the nodes keep.
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`
	// Taints that the nodes start with, and that another controller removes.
	// +optional
	StartupTaints []corev1.Taint `json:"startupTaints,omitempty"`
	// Conditions on the nodes' labels. All of them must hold. Nodes are Linux, amd64 and on-demand
	// unless a requirement or a label says otherwise. Without a choice of instance types they are
	// of the categories c, m and r, and of generation 3 or newer.
	// +optional
	Requirements []corev1.NodeSelectorRequirement `json:"requirements,omitempty"`
	// Settings of the nodes' kubelet.
	// +optional
	KubeletConfiguration *KubeletConfiguration `json:"kubeletConfiguration,omitempty"`
	// The settings of an AWSNodeTemplate, inline. Exactly one of provider and providerRef is set.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Provider *runtime.RawExtension `json:"provider,omitempty"`
	// The AWSNodeTemplate of the nodes.
	// +optional
	ProviderRef *ProviderRef `json:"providerRef,omitempty"`
	// The seconds after which a node without pods is removed. Unset keeps it.
	// +optional
	TTLSecondsAfterEmpty *int64 `json:"ttlSecondsAfterEmpty,omitempty"`
	// The seconds after which a node is replaced. Unset keeps it.
	// +optional
	TTLSecondsUntilExpired *int64 `json:"ttlSecondsUntilExpired,omitempty"`
	// The maximum sums over the provisioner's nodes.
	// +optional
	Limits *Limits `json:"limits,omitempty"`
	// Heavier provisioners are tried first. Unset counts as zero.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	Weight *int32 `json:"weight,omitempty"`
	// Whether nodes are removed or replaced to save money.
	// +optional
	Consolidation *Consolidation `json:"consolidation,omitempty"`
}

// ProviderRef names an AWSNodeTemplate.
type ProviderRef struct {
	// The template's apiVersion.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// The template's kind.
	// +optional
	Kind string `json:"kind,omitempty"`
	// The template's name.
	// +required
	Name string `json:"name"`
}

// Limits are the maximum sums over a provisioner's nodes.
type Limits struct {
	// The maximum for each resource.
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`
}

// Consolidation says whether nodes are removed or replaced to save money.
type Consolidation struct {
	// Whether they are. It cannot be together with ttlSecondsAfterEmpty.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// KubeletConfiguration holds the settings of a node's kubelet. v1alpha5 and v1beta1 share them,
// except for ContainerRuntime.
type KubeletConfiguration struct {
	// The addresses of the cluster's DNS service.
	// +optional
	ClusterDNS []string `json:"clusterDNS,omitempty"`
	// The container runtime. Nodes only have containerd now.
	// +optional
	ContainerRuntime *string `json:"containerRuntime,omitempty"`
	// The most pods that a node runs.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxPods *int32 `json:"maxPods,omitempty"`
	// The most pods that a node runs for each vCPU. The lower of the two counts.
	// +kubebuilder:validation:Minimum=0
	// +optional
	PodsPerCore *int32 `json:"podsPerCore,omitempty"`
	// Resources kept for the operating system.
	// +optional
	SystemReserved corev1.ResourceList `json:"systemReserved,omitempty"`
	// Resources kept for the kubelet and the container runtime.
	// +optional
	KubeReserved corev1.ResourceList `json:"kubeReserved,omitempty"`
	// Signals at which pods are evicted at once, with an amount or a percentage.
	// +optional
	EvictionHard map[string]string `json:"evictionHard,omitempty"`
	// Signals at which pods are evicted after a time.
	// +optional
	EvictionSoft map[string]string `json:"evictionSoft,omitempty"`
	// That time, for each signal of evictionSoft.
	// +optional
	EvictionSoftGracePeriod map[string]metav1.Duration `json:"evictionSoftGracePeriod,omitempty"`
	// The most seconds that a pod gets to end after a soft eviction.
	// +optional
	EvictionMaxPodGracePeriod *int32 `json:"evictionMaxPodGracePeriod,omitempty"`
	// The percentage of disk use above which images are always collected.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	ImageGCHighThresholdPercent *int32 `json:"imageGCHighThresholdPercent,omitempty"`
	// The percentage of disk use below which images are never collected.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	ImageGCLowThresholdPercent *int32 `json:"imageGCLowThresholdPercent,omitempty"`
	// Whether CPU limits are enforced by quota.
	// +optional
	CPUCFSQuota *bool `json:"cpuCFSQuota,omitempty"`
}

// ProvisionerStatus is the last observed state of a provisioner.
type ProvisionerStatus struct {
	// The last time at which a node was launched.
	// +optional
	LastScaleTime *metav1.Time `json:"lastScaleTime,omitempty"`
	// The conditions of the provisioner. Active says whether it may launch nodes.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// The sum of the capacity of its nodes.
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`
}
