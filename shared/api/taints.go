package api

import (
	"fmt"
	"strings"
	"time"

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
	// CandidateTaintKey makes kube-scheduler prefer other nodes, because consolidation would take this one
	// next. Plans ignore it.
	CandidateTaintKey = OwnGroup + "/consolidation-candidate"
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

// CandidateTaint returns the taint of a node that consolidation would take next.
func CandidateTaint() corev1.Taint {
	return corev1.Taint{Key: CandidateTaintKey, Effect: corev1.TaintEffectPreferNoSchedule}
}

// IsCandidateTaint reports whether the taint is CandidateTaint. It is no wish of the node's owner.
func IsCandidateTaint(t corev1.Taint) bool {
	return t.Key == CandidateTaintKey && t.Effect == corev1.TaintEffectPreferNoSchedule
}

// Reservation is the state of a node that has joined and takes no pods but those that Whittle binds.
// +kubebuilder:object:generate=false
type Reservation struct {
	// Since is when the node's NoExecute taint was replaced, by the clock of who did it.
	Since time.Time
	// Attempts counts the passes that began to bind pods.
	Attempts int
}

// Taint is the taint that says so. It replaces the NoExecute taint, because a kubelet refuses pods that do not
// tolerate one.
func (r Reservation) Taint() corev1.Taint {
	return corev1.Taint{
		Key: UnregisteredTaintKey, Value: fmt.Sprintf("%d-%d", r.Since.UnixMilli(), r.Attempts),
		Effect: corev1.TaintEffectNoSchedule,
	}
}

// ReservationOf reads the taint, and reports whether there is one. The reservation is zero where somebody else
// wrote the taint.
func ReservationOf(taints []corev1.Taint) (made Reservation, reserved bool) {
	for _, taint := range taints {
		if taint.Key != UnregisteredTaintKey || taint.Effect != corev1.TaintEffectNoSchedule {
			continue
		}
		var milliseconds int64
		if n, err := fmt.Sscanf(taint.Value, "%d-%d", &milliseconds, &made.Attempts); n == 2 && err == nil {
			made.Since = time.UnixMilli(milliseconds)
		}
		return made, true
	}
	return made, false
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
		return t.Effect == corev1.TaintEffectNoExecute || t.Effect == corev1.TaintEffectNoSchedule
	}
	return strings.HasPrefix(t.Key, ReadinessTaintPrefix)
}
