package api

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Keys of taints.
const (
	// DisruptedTaintKey keeps new pods from a node that is leaving.
	DisruptedTaintKey = Group + "/disrupted"
	// RebootingTaintKey keeps new pods from a node that is about to be rebooted.
	RebootingTaintKey = Group + "/rebooting"
	// UnregisteredTaintKey keeps pods from a node until it has its labels and taints.
	UnregisteredTaintKey = Group + "/unregistered"
	// ExternalCloudProviderTaintKey keeps pods from a node until the cloud controller manager has
	// initialized it.
	ExternalCloudProviderTaintKey = "node.cloudprovider.kubernetes.io/uninitialized"
	// ReadinessTaintPrefix is the prefix of taints that a readiness gate removes.
	ReadinessTaintPrefix = "readiness.k8s.io/"
)

// DisruptedNoScheduleTaint returns the taint of a node that is leaving.
func DisruptedNoScheduleTaint() corev1.Taint {
	return corev1.Taint{Key: DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}
}

// RebootingNoScheduleTaint returns the taint of a node that is being rebooted.
func RebootingNoScheduleTaint() corev1.Taint {
	return corev1.Taint{Key: RebootingTaintKey, Effect: corev1.TaintEffectNoSchedule}
}

// UnregisteredNoExecuteTaint returns the taint with which a node joins the cluster.
func UnregisteredNoExecuteTaint() corev1.Taint {
	return corev1.Taint{Key: UnregisteredTaintKey, Effect: corev1.TaintEffectNoExecute}
}

// IsEphemeralTaint reports whether a controller removes the taint while a node starts. Until the
// node is initialized, the planner ignores such a taint.
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
