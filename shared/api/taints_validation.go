package api

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// validateTaints checks taints and startup taints together. Each pair of key and effect may occur
// once in both lists.
func (f *findings) validateTaints(path string, taints, startupTaints []corev1.Taint) {
	type keyEffect struct {
		key    string
		effect corev1.TaintEffect
	}
	seen := map[keyEffect]string{}
	check := func(list string, taints []corev1.Taint) {
		for i, taint := range taints {
			at := fmt.Sprintf("%s.%s[%d]", path, list, i)
			f.validateTaint(at, taint)
			pair := keyEffect{taint.Key, taint.Effect}
			if first, ok := seen[pair]; ok {
				f.add(at, taint.ToString(), "has the key and effect of %s: remove one of them", first)
				continue
			}
			seen[pair] = at
		}
	}
	check("taints", taints)
	check("startupTaints", startupTaints)
}

func (f *findings) validateTaint(path string, taint corev1.Taint) {
	if taint.Key == "" {
		f.addField(path+".key", "is empty: a taint needs a key")
	} else {
		for _, problem := range validation.IsQualifiedName(taint.Key) {
			f.add(path+".key", taint.Key, "is not a taint's key: %s", problem)
		}
	}
	if taint.Value != "" {
		for _, problem := range validation.IsQualifiedName(taint.Value) {
			f.add(path+".value", taint.Value, "is not a taint's value: %s", problem)
		}
	}
	switch taint.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
	default:
		f.add(path+".effect", string(taint.Effect), "is not an effect: use NoSchedule, PreferNoSchedule or NoExecute")
	}
}
