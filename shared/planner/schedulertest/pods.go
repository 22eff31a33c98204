package schedulertest

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pauseImage is never pulled, because no kubelet runs.
const pauseImage = "registry.k8s.io/pause:3.10"

// podGroup is a number of pods that differ only in their names and in the claims that they mount.
type podGroup struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	// Count defaults to 1. The pods' names end in their numbers, from 0.
	Count    int                 `json:"count,omitempty"`
	Labels   map[string]string   `json:"labels,omitempty"`
	Requests corev1.ResourceList `json:"requests,omitempty"`
	// Claims are the names of the PersistentVolumeClaims that each pod mounts. An asterisk stands
	// for the pod's number: "data-*" is data-0 for the first pod.
	Claims []string       `json:"claims,omitempty"`
	Spec   corev1.PodSpec `json:"spec,omitempty"`
}

// expand returns the group's pods.
func (g *podGroup) expand() []*corev1.Pod {
	var made []*corev1.Pod
	for i := range cmp.Or(g.Count, 1) {
		number := fmt.Sprint(i)
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: cmp.Or(g.Namespace, metav1.NamespaceDefault),
				Name:      g.Name + "-" + number,
				Labels:    maps.Clone(g.Labels),
			},
			Spec: *podSpec(&g.Spec, g.Requests),
		}
		for j, claim := range g.Claims {
			source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
				ClaimName: strings.ReplaceAll(claim, "*", number),
			}}
			pod.Spec.Volumes = append(
				pod.Spec.Volumes,
				corev1.Volume{Name: fmt.Sprintf("claim-%d", j), VolumeSource: source},
			)
		}
		made = append(made, pod)
	}
	return made
}

// podSpec returns a copy of the spec with the fields that the API server demands. The first
// container gets the requests.
func podSpec(spec *corev1.PodSpec, requests corev1.ResourceList) *corev1.PodSpec {
	spec = spec.DeepCopy()
	if len(spec.Containers) == 0 {
		spec.Containers = []corev1.Container{{Name: "app"}}
	}
	if len(requests) > 0 {
		spec.Containers[0].Resources.Requests = requests.DeepCopy()
		spec.Containers[0].Resources.Limits = withoutOvercommit(requests)
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			containers[i].Image = pauseImage
		}
	}
	return spec
}

// withoutOvercommit returns the requests for extended resources and huge pages. The API server
// demands that their limits equal their requests.
func withoutOvercommit(requests corev1.ResourceList) corev1.ResourceList {
	limits := corev1.ResourceList{}
	for name, quantity := range requests {
		if strings.Contains(string(name), "/") || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			limits[name] = quantity
		}
	}
	return limits
}

type daemonSet struct {
	Name     string              `json:"name"`
	Requests corev1.ResourceList `json:"requests,omitempty"`
	Spec     corev1.PodSpec      `json:"spec,omitempty"`
}

// object returns the DaemonSet, which is in the namespace default.
func (d *daemonSet) object() *appsv1.DaemonSet {
	labels := map[string]string{"daemonset": d.Name}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: d.Name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       *podSpec(&d.Spec, d.Requests),
			},
		},
	}
}
