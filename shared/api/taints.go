package api

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Keys of taints.
const (
	// DisruptedTaintKey keeps pods from a node that is being taken away.
	DisruptedTaintKey = Group + "/disrupted"
	// UnregisteredTaintKey keeps pods from a node until it has its labels and taints.
	UnregisteredTaintKey = Group + "/unregistered"
	// ExternalCloudProviderTaintKey keeps pods from a node until the cloud's controller
	// has seen it.
	ExternalCloudProviderTaintKey = "node.cloudprovider.kubernetes.io/uninitialized"
	// ReadinessTaintPrefix begins the keys of taints that a readiness gate removes.
	ReadinessTaintPrefix = "readiness.k8s.io/"
)

// DisruptedNoScheduleTaint is the taint of a node that is being taken away.
func DisruptedNoScheduleTaint() corev1.Taint {
	return corev1.Taint{Key: DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}
}

// UnregisteredNoExecuteTaint is the taint that a node joins with.
func UnregisteredNoExecuteTaint() corev1.Taint {
	return corev1.Taint{Key: UnregisteredTaintKey, Effect: corev1.TaintEffectNoExecute}
}

// IsEphemeralTaint reports whether a taint goes by itself while a node starts, so
// that pods may be planned for the node in spite of it until it is initialized.
func IsEphemeralTaint(t corev1.Taint) bool {
	switch t.Key {
	case corev1.TaintNodeNotReady:
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	case corev1.TaintNodeUnreachable:
		return t.Effect == corev1.TaintEffectNoSchedule
	case ExternalCloudProviderTaintKey:
		return t.Effect == corev1.TaintEffectNoSchedule && t.Value == "true"
	case UnregisteredTaintKey:
		return t.Effect == corev1.TaintEffectNoExecute
	}
	return strings.HasPrefix(t.Key, ReadinessTaintPrefix)
}
