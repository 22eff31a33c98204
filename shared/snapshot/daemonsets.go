package snapshot

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// daemonSets returns the DaemonSets with the pods that they really make. LimitRanges, webhooks and
// vertical autoscalers change a pod after the template, and a plan by the template would launch the
// same too small node again and again. As in Karpenter the newest live pod shows the changes, with
// the template's affinity: the controller overwrites it by the pod's own node. Where no pod lives,
// the defaults of the namespace's LimitRanges count.
func daemonSets(o *Objects) []appsv1.DaemonSet {
	newest := newestPods(o.Pods)
	sets := slices.Clone(o.DaemonSets)
	for i := range sets {
		set := &sets[i]
		template := &set.Spec.Template
		if pod := newest[key(set.Namespace, set.Name)]; pod != nil && isOf(pod, set) {
			affinity := template.Spec.Affinity
			template.Spec = pod.Spec
			template.Spec.NodeName, template.Spec.Affinity = "", affinity
			continue
		}
		SetDefaultRequests(&template.Spec, set.Namespace, o.LimitRanges)
	}
	return sets
}

// newestPods are the newest pods of DaemonSets that neither ended nor end, by the DaemonSet.
func newestPods(pods []corev1.Pod) map[string]*corev1.Pod {
	newest := map[string]*corev1.Pod{}
	for i := range pods {
		pod := &pods[i]
		if !scheduling.IsOwnedByDaemonSet(pod) || scheduling.IsTerminal(pod) || pod.DeletionTimestamp != nil {
			continue
		}
		of := key(pod.Namespace, metav1.GetControllerOf(pod).Name)
		if other := newest[of]; other == nil || cmp.Or(
			pod.CreationTimestamp.Compare(other.CreationTimestamp.Time), strings.Compare(pod.Name, other.Name),
		) > 0 {
			newest[of] = pod
		}
	}
	return newest
}

// isOf reports whether the pod is the DaemonSet's, and not one of an earlier DaemonSet of its name.
func isOf(pod *corev1.Pod, set *appsv1.DaemonSet) bool {
	return set.UID == "" || metav1.GetControllerOf(pod).UID == set.UID
}

func key(namespace, name string) string { return namespace + "/" + name }

// SetDefaultRequests gives the containers the requests that LimitRanges set. As in the API server a limit
// without a request comes first, and of several LimitRanges the first that sets a resource counts.
// https://kubernetes.io/docs/concepts/policy/limit-range/#constraints-on-resource-limits-and-requests
func SetDefaultRequests(spec *corev1.PodSpec, namespace string, ranges []corev1.LimitRange) {
	defaults := corev1.ResourceList{}
	for _, limits := range rangesOf(namespace, ranges) {
		for _, item := range limits.Spec.Limits {
			if item.Type != corev1.LimitTypeContainer {
				continue
			}
			for name, quantity := range item.DefaultRequest {
				if _, ok := defaults[name]; !ok {
					defaults[name] = quantity
				}
			}
		}
	}
	if len(defaults) == 0 {
		return
	}
	spec.Containers, spec.InitContainers = slices.Clone(spec.Containers), slices.Clone(spec.InitContainers)
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			resources := containers[i].Resources
			requests := resources.Requests.DeepCopy()
			if requests == nil {
				requests = corev1.ResourceList{}
			}
			for name, quantity := range defaults {
				_, requested := requests[name]
				_, limited := resources.Limits[name]
				if !requested && !limited {
					requests[name] = quantity
				}
			}
			containers[i].Resources.Requests = requests
		}
	}
}

// rangesOf are the namespace's LimitRanges by name. The API server has no order of its own.
func rangesOf(namespace string, ranges []corev1.LimitRange) []*corev1.LimitRange {
	var of []*corev1.LimitRange
	for i := range ranges {
		if ranges[i].Namespace == namespace {
			of = append(of, &ranges[i])
		}
	}
	slices.SortFunc(of, func(a, b *corev1.LimitRange) int { return strings.Compare(a.Name, b.Name) })
	return of
}
