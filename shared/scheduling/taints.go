package scheduling

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// Tolerates returns nil if a pod with the tolerations may run on a node with the taints, else an
// error that names the first taint in the way. Taints with the effect PreferNoSchedule do not
// matter.
func Tolerates(taints []corev1.Taint, tolerations []corev1.Toleration) error {
	if taint := untolerated(taints, tolerations); taint != nil {
		return fmt.Errorf("taint %s is not tolerated", taint.ToString())
	}
	return nil
}

// ToleratesAll reports whether Tolerates returns nil. It does not build an error.
func ToleratesAll(taints []corev1.Taint, tolerations []corev1.Toleration) bool {
	return untolerated(taints, tolerations) == nil
}

func untolerated(taints []corev1.Taint, tolerations []corev1.Toleration) *corev1.Taint {
	return untoleratedOf(
		taints, tolerations,
		func(effect corev1.TaintEffect) bool { return effect != corev1.TaintEffectPreferNoSchedule },
	)
}

// untoleratedOf returns the first taint that counts and is not tolerated, or nil.
func untoleratedOf(
	taints []corev1.Taint, tolerations []corev1.Toleration, counts func(corev1.TaintEffect) bool,
) *corev1.Taint {
	for i := range taints {
		if counts(taints[i].Effect) &&
			!slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool { return ToleratesTaint(&t, &taints[i]) }) {
			return &taints[i]
		}
	}
	return nil
}

// ToleratesTaint reports whether a toleration covers a taint. The effect and key must be equal or
// unset in the toleration, and the operator must hold for the value. The operators are Equal (the
// default), Exists, Lt and Gt. Lt and Gt compare the values as 64-bit integers, without leading
// zeros or a plus sign; other values are not tolerated.
// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
func ToleratesTaint(toleration *corev1.Toleration, taint *corev1.Taint) bool {
	if toleration.Effect != "" && toleration.Effect != taint.Effect || toleration.Key != "" &&
		toleration.Key != taint.Key {
		return false
	}
	switch toleration.Operator {
	case "", corev1.TolerationOpEqual:
		return toleration.Value == taint.Value
	case corev1.TolerationOpExists:
		return true
	case corev1.TolerationOpLt, corev1.TolerationOpGt:
		limit, ok := decimal(toleration.Value)
		if !ok {
			return false
		}
		value, ok := decimal(taint.Value)
		if !ok {
			return false
		}
		if toleration.Operator == corev1.TolerationOpLt {
			return value < limit
		}
		return value > limit
	}
	return false
}

// decimal parses an integer in the notation of Kubernetes' API.
func decimal(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}

// PreferredUntolerated returns the first taint with the effect PreferNoSchedule that is not
// tolerated, or nil. kube-scheduler avoids such a node where it has another. Karpenter makes such a
// node only after the pod's other preferences are dropped.
func PreferredUntolerated(taints []corev1.Taint, tolerations []corev1.Toleration) *corev1.Taint {
	return untoleratedOf(
		taints, tolerations,
		func(effect corev1.TaintEffect) bool { return effect == corev1.TaintEffectPreferNoSchedule },
	)
}

// DaemonSetTolerations returns the tolerations that Kubernetes adds to every pod of a DaemonSet.
// https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations
func DaemonSetTolerations() []corev1.Toleration {
	exists := func(key string, effect corev1.TaintEffect) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
	}
	return []corev1.Toleration{
		exists(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute),
		exists(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute),
		exists(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule),
		exists(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule),
		exists(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule),
		exists(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule),
		exists(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule),
	}
}
