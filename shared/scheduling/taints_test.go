package scheduling

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

func TestPreferredUntolerated(t *testing.T) {
	taint := func(key string, effect corev1.TaintEffect) corev1.Taint {
		return corev1.Taint{Key: key, Value: "1", Effect: effect}
	}
	const hard, soft, evict = corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute
	for _, test := range []struct {
		name        string
		taints      []corev1.Taint
		tolerations []corev1.Toleration
		want        string
	}{
		{"no taint", nil, nil, ""},
		{"taints that forbid", []corev1.Taint{taint("a", hard), taint("b", evict)}, nil, ""},
		{"one that prefers", []corev1.Taint{taint("a", hard), taint("b", soft)}, nil, "b"},
		{"the first of two", []corev1.Taint{taint("b", soft), taint("a", soft)}, nil, "b"},
		{
			"one tolerated", []corev1.Taint{taint("b", soft), taint("a", soft)},
			[]corev1.Toleration{{Key: "b", Operator: corev1.TolerationOpExists}}, "a",
		},
		{
			"tolerated by effect", []corev1.Taint{taint("b", soft)},
			[]corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: soft}}, "",
		},
		{
			"tolerated for another effect", []corev1.Taint{taint("b", soft)},
			[]corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: hard}}, "b",
		},
		{
			"tolerated by number", []corev1.Taint{taint("b", soft)},
			[]corev1.Toleration{{Key: "b", Operator: corev1.TolerationOpLt, Value: "2"}}, "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if taint := PreferredUntolerated(test.taints, test.tolerations); taint != nil {
				got = taint.Key
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestToleratesAsKubernetes compares each toleration of a small universe with each taint of it, as
// k8s.io/api decides it.
func TestToleratesAsKubernetes(t *testing.T) {
	values := []string{
		"", "1", "2", "-1", "0", "01", "+1", "-0", "1.5", "x", "9223372036854775807", "9223372036854775808",
		"-9223372036854775808",
	}
	effects := []corev1.TaintEffect{
		corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute,
	}
	logger := klog.LoggerWithName(klog.Logger{}, "silent")
	for _, operator := range []corev1.TolerationOperator{
		"", corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt,
		"Near",
	} {
		for _, key := range []string{"", "a", "b"} {
			for _, effect := range append(effects, "") {
				for _, value := range values {
					toleration := corev1.Toleration{Key: key, Operator: operator, Value: value, Effect: effect}
					for _, taintEffect := range effects {
						for _, taintValue := range values {
							taint := corev1.Taint{Key: "a", Value: taintValue, Effect: taintEffect}
							want := toleration.ToleratesTaint(logger, &taint, true)
							if got := ToleratesTaint(&toleration, &taint); got != want {
								t.Fatalf("%+v tolerates %s: got %t", toleration, taint.ToString(), got)
							}
							tolerated := ToleratesAll([]corev1.Taint{taint}, []corev1.Toleration{toleration})
							if tolerated != (want || taintEffect == corev1.TaintEffectPreferNoSchedule) {
								t.Fatalf("%+v lets a pod run on %s: got %t", toleration, taint.ToString(), tolerated)
							}
						}
					}
				}
			}
		}
	}
}
