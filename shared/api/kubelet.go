package api

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KubeletConfiguration holds the settings of a node's kubelet. The fields are those that change
// which pods fit on the node, and Other holds the rest.
//
// +kubebuilder:validation:XValidation:rule="!has(self.imageGCHighThresholdPercent) || !has(self.imageGCLowThresholdPercent) || self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent",message="imageGCHighThresholdPercent must be above imageGCLowThresholdPercent"
// +kubebuilder:validation:XValidation:rule="!has(self.evictionSoft) || self.evictionSoft.all(signal, has(self.evictionSoftGracePeriod) && signal in self.evictionSoftGracePeriod)",message="each signal of evictionSoft needs one of evictionSoftGracePeriod"
// +kubebuilder:validation:XValidation:rule="!has(self.evictionSoftGracePeriod) || self.evictionSoftGracePeriod.all(signal, has(self.evictionSoft) && signal in self.evictionSoft)",message="each signal of evictionSoftGracePeriod needs one of evictionSoft"
type KubeletConfiguration struct {
	// The addresses of the cluster's DNS service.
	// +optional
	ClusterDNS []string `json:"clusterDNS,omitempty"`
	// The most pods that a node runs.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxPods *int32 `json:"maxPods,omitempty"`
	// The most pods that a node runs for each vCPU. The lower of the two counts.
	// +kubebuilder:validation:Minimum=0
	// +optional
	PodsPerCore *int32 `json:"podsPerCore,omitempty"`
	// Resources kept for the operating system: cpu, memory, ephemeral-storage and pid.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(name, name in ['cpu', 'memory', 'ephemeral-storage', 'pid'])",message="the resources of systemReserved are cpu, memory, ephemeral-storage and pid"
	// +kubebuilder:validation:XValidation:rule="self.all(name, !self[name].startsWith('-'))",message="the amounts of systemReserved cannot be negative"
	SystemReserved map[string]string `json:"systemReserved,omitempty"`
	// Resources kept for the kubelet and the container runtime: cpu, memory,
	// ephemeral-storage and pid.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(name, name in ['cpu', 'memory', 'ephemeral-storage', 'pid'])",message="the resources of kubeReserved are cpu, memory, ephemeral-storage and pid"
	// +kubebuilder:validation:XValidation:rule="self.all(name, !self[name].startsWith('-'))",message="the amounts of kubeReserved cannot be negative"
	KubeReserved map[string]string `json:"kubeReserved,omitempty"`
	// Signals at which pods are evicted at once, such as memory.available, with an
	// amount or a percentage.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(signal, signal in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available'])",message="the signals of evictionHard are memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree and pid.available"
	EvictionHard map[string]string `json:"evictionHard,omitempty"`
	// Signals at which pods are evicted after a time.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(signal, signal in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available'])",message="the signals of evictionSoft are memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree and pid.available"
	EvictionSoft map[string]string `json:"evictionSoft,omitempty"`
	// That time, for each signal of evictionSoft.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(signal, signal in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available'])",message="the signals of evictionSoftGracePeriod are memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree and pid.available"
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

	// Other holds the settings that have no field here, by the kubelet's name, so that they survive
	// being read and written. Karpenter's hash of the class covers the fields only, so the drift
	// hash treats Other apart.
	Other map[string]json.RawMessage `json:"-" hash:"ignore"`
}

// kubeletFields is KubeletConfiguration without its methods, so that MarshalJSON and UnmarshalJSON
// can use the standard encoding.
type kubeletFields KubeletConfiguration

// knownKubeletFields returns the JSON names of KubeletConfiguration's fields.
func knownKubeletFields() []string {
	return []string{
		"clusterDNS", "maxPods", "podsPerCore", "systemReserved", "kubeReserved", "evictionHard", "evictionSoft",
		"evictionSoftGracePeriod", "evictionMaxPodGracePeriod", "imageGCHighThresholdPercent",
		"imageGCLowThresholdPercent", "cpuCFSQuota",
	}
}

// MarshalJSON writes the fields and the settings in Other as one object.
func (k KubeletConfiguration) MarshalJSON() ([]byte, error) {
	fields, err := json.Marshal(kubeletFields(k))
	if err != nil || len(k.Other) == 0 {
		return fields, err
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(fields, &all); err != nil {
		return nil, fmt.Errorf("writing a kubelet configuration: %w", err)
	}
	for name, value := range k.Other {
		if _, known := all[name]; !known {
			all[name] = value
		}
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads the fields, and keeps every other setting in Other.
func (k *KubeletConfiguration) UnmarshalJSON(data []byte) error {
	var other map[string]json.RawMessage
	if err := json.Unmarshal(data, &other); err != nil {
		return fmt.Errorf("reading a kubelet configuration: %w", err)
	}
	known := map[string]json.RawMessage{}
	for _, name := range knownKubeletFields() {
		value, ok := other[name]
		// maxPods may be an expression. Whittle does not evaluate it, and keeps it in Other, where
		// Validate refuses it.
		if !ok || name == "maxPods" && isJSONString(value) {
			continue
		}
		known[name] = value
		delete(other, name)
	}
	settings, err := json.Marshal(known)
	if err != nil {
		return fmt.Errorf("reading a kubelet configuration: %w", err)
	}
	var fields kubeletFields
	if err := json.Unmarshal(settings, &fields); err != nil {
		return fmt.Errorf("reading a kubelet configuration: %w", err)
	}
	if len(other) > 0 {
		fields.Other = other
	}
	*k = KubeletConfiguration(fields)
	return nil
}

func isJSONString(value json.RawMessage) bool {
	return len(value) > 0 && value[0] == '"'
}
