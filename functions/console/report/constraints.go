package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/spread"
)

// nodeTerms returns the pod's requirements on its node's labels. One of them must hold.
func nodeTerms(pod *corev1.Pod) []scheduling.Requirements {
	selector := scheduling.FromLabels(pod.Spec.NodeSelector)
	required := requiredNodeTerms(pod)
	if len(required) == 0 {
		return []scheduling.Requirements{selector}
	}
	var terms []scheduling.Requirements
	for _, term := range required {
		if requirements, err := scheduling.FromNodeSelectorTerm(term); err == nil {
			requirements.Merge(selector)
			terms = append(terms, requirements)
		}
	}
	return terms
}

func requiredNodeTerms(pod *corev1.Pod) []corev1.NodeSelectorTerm {
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil &&
		a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	}
	return nil
}

// known returns the requirements on labels that instance types or offerings have.
func known(requirements scheduling.Requirements, types []catalog.InstanceType) scheduling.Requirements {
	kept := scheduling.Requirements{}
	for key, requirement := range requirements {
		if slices.ContainsFunc(types, func(t catalog.InstanceType) bool {
			_, ok := t.Requirements[key]
			return ok ||
				slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool { _, ok := o.Requirements[key]; return ok })
		}) {
			kept[key] = requirement
		}
	}
	return kept
}

// constraints describes the pod's constraints besides resources.
func constraints(pod *corev1.Pod) []string {
	found := []string{}
	add := func(format string, arguments ...any) { found = append(found, fmt.Sprintf(format, arguments...)) }
	nodeConstraints(pod, add)
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		origin := ""
		if spread.IsDefault(c) {
			origin = "by " + spread.Setting + ": "
		}
		add(
			"%sspread over %s, maxSkew %d (%s), of pods with %s", origin, c.TopologyKey, c.MaxSkew, c.WhenUnsatisfiable,
			metav1.FormatLabelSelector(c.LabelSelector),
		)
	}
	podTerms(pod, add)
	for _, volume := range pod.Spec.Volumes {
		switch {
		case volume.PersistentVolumeClaim != nil:
			add("volume %q of claim %q", volume.Name, volume.PersistentVolumeClaim.ClaimName)
		case volume.Ephemeral != nil:
			add("volume %q of a claim of its own", volume.Name)
		}
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, port := range container.Ports {
			if port.HostPort > 0 {
				add("host port %d", port.HostPort)
			}
		}
	}
	return found
}

// nodeConstraints describes the node selector, the node affinity and the tolerations.
func nodeConstraints(pod *corev1.Pod, add func(string, ...any)) {
	for _, key := range slices.Sorted(maps.Keys(pod.Spec.NodeSelector)) {
		add("nodeSelector: %s is %s", key, pod.Spec.NodeSelector[key])
	}
	var terms []string
	for _, term := range requiredNodeTerms(pod) {
		if requirements, err := scheduling.FromNodeSelectorTerm(term); err == nil {
			terms = append(terms, requirements.String())
		}
	}
	if len(terms) > 0 {
		add("required node affinity: %s", strings.Join(terms, "; or "))
	}
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		for _, preferred := range a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			if requirements, err := scheduling.FromNodeSelectorTerm(preferred.Preference); err == nil {
				add("preferred node affinity (weight %d): %s", preferred.Weight, requirements)
			}
		}
	}
	for _, t := range pod.Spec.Tolerations {
		// Every pod has tolerations with seconds. They decide when it is evicted, not where it runs.
		if t.TolerationSeconds == nil && (t.Key != "" || t.Operator == corev1.TolerationOpExists) {
			add("tolerates taints %s", tolerationText(&t))
		}
	}
}

func tolerationText(t *corev1.Toleration) string {
	text := t.Key
	if text == "" {
		text = "of any key"
	}
	if t.Value != "" {
		text += "=" + t.Value
	}
	if t.Effect != "" {
		text += ":" + string(t.Effect)
	}
	return text
}

func podTerms(pod *corev1.Pod, add func(string, ...any)) {
	a := pod.Spec.Affinity
	if a == nil {
		return
	}
	terms := func(what string, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			add("required pod %s: %s", what, termText(&required[i]))
		}
		for i := range preferred {
			add("preferred pod %s (weight %d): %s", what, preferred[i].Weight, termText(&preferred[i].PodAffinityTerm))
		}
	}
	if near := a.PodAffinity; near != nil {
		terms(
			"affinity", near.RequiredDuringSchedulingIgnoredDuringExecution,
			near.PreferredDuringSchedulingIgnoredDuringExecution,
		)
	}
	if away := a.PodAntiAffinity; away != nil {
		terms(
			"anti-affinity", away.RequiredDuringSchedulingIgnoredDuringExecution,
			away.PreferredDuringSchedulingIgnoredDuringExecution,
		)
	}
}

func termText(t *corev1.PodAffinityTerm) string {
	return fmt.Sprintf("pods with %s, by %s", metav1.FormatLabelSelector(t.LabelSelector), t.TopologyKey)
}
