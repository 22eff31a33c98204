package stagetest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pod returns a waiting pod of one container in the namespace "default", with the changes applied.
func Pod(name, cpu, memory string, changes ...func(*corev1.Pod)) corev1.Pod {
	requests := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "app", Resources: corev1.ResourceRequirements{Requests: requests},
		}}},
	}
	for _, change := range changes {
		change(&pod)
	}
	return pod
}

// Pods returns so many equal pods with numbered names.
func Pods(count int, name, cpu, memory string, changes ...func(*corev1.Pod)) []corev1.Pod {
	list := make([]corev1.Pod, count)
	for i := range list {
		list[i] = Pod(fmt.Sprintf("%s-%d", name, i), cpu, memory, changes...)
	}
	return list
}

// App sets the label app, by which the constraints below select pods.
func App(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels["app"] = name }
}

// Selecting selects the pods of an app.
func Selecting(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

// InZone sets a node selector for a zone.
func InZone(zone string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: zone} }
}

// Spread adds a required spread of an app over a topology key.
func Spread(key string, maxSkew int32, app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			TopologyKey: key, MaxSkew: maxSkew, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: Selecting(app),
		})
	}
}

// Near sets required affinity to the pods of an app.
func Near(key, app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		terms := []corev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: Selecting(app)}}
		p.Spec.Affinity = &corev1.Affinity{
			PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms},
		}
	}
}

// Away sets required anti-affinity to the pods of an app.
func Away(key, app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		terms := []corev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: Selecting(app)}}
		p.Spec.Affinity = &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms},
		}
	}
}
