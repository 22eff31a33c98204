package snapshot

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/plan"
)

// NeedsVolumes reports whether a pod to be placed mounts a claim, so that the plan needs the
// cluster's claims, volumes, storage classes and CSI nodes.
func NeedsVolumes(s *plan.Snapshot) bool {
	return slices.ContainsFunc(s.Pods, func(pod corev1.Pod) bool {
		return slices.ContainsFunc(pod.Spec.Volumes, func(volume corev1.Volume) bool {
			return volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil
		})
	})
}

// NeedsNamespaces reports whether the plan needs the namespaces' labels: a pod to be placed selects
// other pods by them, or a running pod's anti-affinity might select a pod to be placed.
func NeedsNamespaces(s *plan.Snapshot) bool {
	if len(s.Pods) == 0 {
		return false
	}
	if slices.ContainsFunc(
		s.Pods, func(pod corev1.Pod) bool { return slices.ContainsFunc(terms(&pod), selectsNamespaces) },
	) {
		return true
	}
	return slices.ContainsFunc(s.Nodes, func(node plan.Node) bool {
		return slices.ContainsFunc(node.Pods, func(pod corev1.Pod) bool {
			affinity := pod.Spec.Affinity
			return affinity != nil && affinity.PodAntiAffinity != nil &&
				slices.ContainsFunc(affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, selectsNamespaces)
		})
	})
}

func selectsNamespaces(term corev1.PodAffinityTerm) bool { return term.NamespaceSelector != nil }

// terms returns all affinity and anti-affinity terms of the pod.
func terms(pod *corev1.Pod) []corev1.PodAffinityTerm {
	affinity := pod.Spec.Affinity
	if affinity == nil {
		return nil
	}
	var all []corev1.PodAffinityTerm
	var preferred []corev1.WeightedPodAffinityTerm
	if near := affinity.PodAffinity; near != nil {
		all = append(all, near.RequiredDuringSchedulingIgnoredDuringExecution...)
		preferred = append(preferred, near.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	if away := affinity.PodAntiAffinity; away != nil {
		all = append(all, away.RequiredDuringSchedulingIgnoredDuringExecution...)
		preferred = append(preferred, away.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	for _, term := range preferred {
		all = append(all, term.PodAffinityTerm)
	}
	return all
}
