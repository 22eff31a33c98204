package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// preferences are apps of ten pods, each of one of five kinds. Some preferences can be met by every
// pod, some by a few, some by none.
func preferences(count int) []corev1.Pod {
	const replicas = 10
	random := newRandom()
	kinds := []func(pod *corev1.Pod, labels map[string]string){
		preferNodes, preferSpread(corev1.LabelTopologyZone), preferApart, preferTogether, preferSpread(corev1.LabelHostname),
	}
	pods := make([]corev1.Pod, 0, count)
	for app := 0; len(pods) < count; app++ {
		name := fmt.Sprintf("app-%02d", app)
		labels := map[string]string{"app": name}
		size := diverseRequests(random)
		for i := range min(replicas, count-len(pods)) {
			pod := newPod(podName(name, i), size, labels)
			kinds[app%len(kinds)](&pod, labels)
			pods = append(pods, pod)
		}
	}
	return pods
}

// preferNodes wants a zone, which can be had, and more than that nodes of three cpus, which do not
// exist.
func preferNodes(pod *corev1.Pod, _ map[string]string) {
	prefer := func(weight int32, key, value string) corev1.PreferredSchedulingTerm {
		return corev1.PreferredSchedulingTerm{
			Weight: weight,
			Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}},
			}},
		}
	}
	pod.Spec.Affinity = &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
			prefer(1, corev1.LabelTopologyZone, zones[1]), prefer(10, api.LabelInstanceCPU, "3"),
		}},
	}
}

func preferSpread(key string) func(*corev1.Pod, map[string]string) {
	return func(pod *corev1.Pod, labels map[string]string) {
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{spread(key, corev1.ScheduleAnyway, labels)}
	}
}

// preferApart wants a zone of its own for each pod, which three can have, and less than that a host
// of its own.
func preferApart(pod *corev1.Pod, labels map[string]string) {
	pod.Spec.Affinity = &corev1.Affinity{
		PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
				{
					Weight:          10,
					PodAffinityTerm: term(corev1.LabelTopologyZone, labels),
				}, {Weight: 1, PodAffinityTerm: term(corev1.LabelHostname, labels)},
			},
		},
	}
}

func preferTogether(pod *corev1.Pod, labels map[string]string) {
	pod.Spec.Affinity = &corev1.Affinity{
		PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: 5, PodAffinityTerm: term(corev1.LabelTopologyZone, labels)},
		}},
	}
}
