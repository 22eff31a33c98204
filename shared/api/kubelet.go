package api

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KubeletConfiguration holds the settings of a node's kubelet. The fields are those that Whittle
// reads, and Other holds the rest. The schema of the class allows any setting, and Validate checks
// them.
type KubeletConfiguration struct {
	// The addresses of the cluster's DNS service.
	// +optional
	ClusterDNS []string `json:"clusterDNS,omitempty"`
	// The most pods that a node runs.
	// +optional
	MaxPods *int32 `json:"maxPods,omitempty"`
	// The most pods that a node runs for each vCPU. The lower of the two counts.
	// +optional
	PodsPerCore *int32 `json:"podsPerCore,omitempty"`
	// Resources kept for the operating system: cpu, memory, ephemeral-storage and pid.
	// +optional
	SystemReserved map[string]string `json:"systemReserved,omitempty"`
	// Resources kept for the kubelet and the container runtime: cpu, memory,
	// ephemeral-storage and pid.
	// +optional
	KubeReserved map[string]string `json:"kubeReserved,omitempty"`
	// Signals at which pods are evicted at once, such as memory.available, with an
	// amount or a percentage.
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
	// +optional
	ImageGCHighThresholdPercent *int32 `json:"imageGCHighThresholdPercent,omitempty"`
	// The percentage of disk use below which images are never collected.
	// +optional
	ImageGCLowThresholdPercent *int32 `json:"imageGCLowThresholdPercent,omitempty"`
	// Whether CPU limits are enforced by quota.
	// +optional
	CPUCFSQuota *bool `json:"cpuCFSQuota,omitempty"`

	// Other holds the settings that have no field here, or whose value does not suit their field, by
	// the kubelet's name. Validate refuses the latter.
	Other map[string]json.RawMessage `json:"-" hash:"ignore"`
	// Raw is the JSON object that the settings were read from, with sorted keys. The class's hash
	// covers this text.
	Raw []byte `json:"-" hash:"ignore"`
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

// UnmarshalJSON reads the fields, and keeps every other setting in Other. Only a text that is no
// object is an error, so that a wrong value makes its own class invalid and no list unreadable.
func (k *KubeletConfiguration) UnmarshalJSON(data []byte) error {
	var other map[string]json.RawMessage
	if err := json.Unmarshal(data, &other); err != nil {
		return fmt.Errorf("reading a kubelet configuration: %w", err)
	}
	var raw []byte
	if len(other) > 0 {
		var err error
		if raw, err = json.Marshal(other); err != nil {
			return fmt.Errorf("reading a kubelet configuration: %w", err)
		}
	}
	var fields kubeletFields
	for _, name := range knownKubeletFields() {
		value, ok := other[name]
		if !ok {
			continue
		}
		setting, err := json.Marshal(map[string]json.RawMessage{name: value})
		if err != nil {
			return fmt.Errorf("reading a kubelet configuration: %w", err)
		}
		// A failed reading may leave a part of the value behind.
		read := fields
		if err := json.Unmarshal(setting, &read); err == nil {
			fields = read
			delete(other, name)
		}
	}
	if len(other) > 0 {
		fields.Other = other
	}
	fields.Raw = raw
	*k = KubeletConfiguration(fields)
	return nil
}

// Text returns the settings as one line of JSON with sorted keys, or null where there are none.
// Equal settings that were read from the API server have equal texts.
func (k *KubeletConfiguration) Text() (string, error) {
	switch {
	case k == nil:
		return "null", nil
	case len(k.Raw) > 0:
		return string(k.Raw), nil
	}
	text, err := json.Marshal(k)
	if err != nil {
		return "", err
	}
	if string(text) == "{}" {
		return "null", nil
	}
	// The fields come in the order of the type. A map has sorted keys.
	var sorted map[string]json.RawMessage
	if err := json.Unmarshal(text, &sorted); err != nil {
		return "", fmt.Errorf("writing a kubelet configuration: %w", err)
	}
	text, err = json.Marshal(sorted)
	return string(text), err
}

// KubeletExpression is a setting of the kubelet that is an expression. Its value depends on the
// instance type.
//
// +kubebuilder:object:generate=false
type KubeletExpression struct {
	// Field is maxPods, kubeReserved or systemReserved. Resource is the reserved resource; it is empty
	// for maxPods.
	Field, Resource string
	// Text is in the Common Expression Language.
	Text string
}

// Path returns the setting's place in a class.
func (e KubeletExpression) Path() string {
	if e.Resource == "" {
		return "spec.kubelet." + e.Field
	}
	return fmt.Sprintf("spec.kubelet.%s[%s]", e.Field, e.Resource)
}

// The settings that may be expressions.
const (
	KubeletMaxPods        = "maxPods"
	KubeletKubeReserved   = "kubeReserved"
	KubeletSystemReserved = "systemReserved"
)

// Expressions returns the settings that are expressions: maxPods where it is a text, and the
// reservations that are no amounts. The order is that of their evaluation.
func (k *KubeletConfiguration) Expressions() []KubeletExpression {
	if k == nil {
		return nil
	}
	var found []KubeletExpression
	var text string
	if value := k.Other[KubeletMaxPods]; isJSONString(value) && json.Unmarshal(value, &text) == nil {
		found = append(found, KubeletExpression{Field: KubeletMaxPods, Text: text})
	}
	for _, reserved := range []struct {
		field   string
		amounts map[string]string
	}{{KubeletKubeReserved, k.KubeReserved}, {KubeletSystemReserved, k.SystemReserved}} {
		for _, name := range sortedKeys(reserved.amounts) {
			if _, err := resource.ParseQuantity(reserved.amounts[name]); err != nil {
				found = append(found, KubeletExpression{reserved.field, name, reserved.amounts[name]})
			}
		}
	}
	return found
}

func isJSONString(value json.RawMessage) bool {
	return len(value) > 0 && value[0] == '"'
}
