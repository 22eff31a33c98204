package disruption_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// monday is Monday, 2 March 2026, 12:00 UTC.
var monday = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// pod has run for an hour.
func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	started := metav1.NewTime(monday.Add(-time.Hour))
	made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, CreationTimestamp: started, Labels: map[string]string{"app": name},
	}}
	made.Status.Phase, made.Status.StartTime = corev1.PodRunning, &started
	for _, f := range change {
		f(made)
	}
	return made
}

func doNotDisrupt(value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{api.DoNotDisruptAnnotationKey: value} }
}

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

func ending(p *corev1.Pod) { now := metav1.NewTime(monday); p.DeletionTimestamp = &now }

func ownedBy(kind string) func(*corev1.Pod) {
	yes := true
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "owner", Controller: &yes}}
	}
}
