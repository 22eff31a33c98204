package cluster_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestTemplateOf reads the templates of all kinds that have one.
func TestTemplateOf(t *testing.T) {
	labels := map[string]string{"app": "template"}
	template := func(image string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
		}
	}
	meta := metav1.ObjectMeta{Namespace: "default", Name: "template"}
	selector, two := &metav1.LabelSelector{MatchLabels: labels}, int32(2)
	job := batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: meta}
	job.Spec.Template = template("job")
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	apps := func(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "apps/v1", Kind: kind} }
	for _, test := range []struct {
		kind     string
		at       schema.GroupVersionResource
		object   any
		replicas int32
	}{
		{"Job", schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, &job, 1},
		{
			"ReplicaSet", schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"},
			&appsv1.ReplicaSet{TypeMeta: apps("ReplicaSet"), ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{
				Replicas: &two, Selector: selector, Template: template("set"),
			}}, 2,
		},
		{
			"StatefulSet", schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"},
			&appsv1.StatefulSet{TypeMeta: apps("StatefulSet"), ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
				Selector: selector, Template: template("stateful"),
			}}, 1,
		},
		{
			"Deployment", schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
			&appsv1.Deployment{TypeMeta: apps("Deployment"), ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
				Replicas: &two, Selector: selector, Template: template("deployed"),
			}}, 2,
		},
		{
			"PodTemplate", schema.GroupVersionResource{Version: "v1", Resource: "podtemplates"},
			&corev1.PodTemplate{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodTemplate"}, ObjectMeta: meta, Template: template("plain"),
			}, 1,
		},
	} {
		if read, err := client(t).TemplateOf(t.Context(), test.kind, "default", "template"); read != nil || err != nil {
			t.Errorf("%s: %+v, %v before it exists", test.kind, read, err)
		}
		create(t, test.at, test.object)
		read, err := client(t).TemplateOf(t.Context(), test.kind, "default", "template")
		if err != nil || read == nil || read.Replicas != test.replicas || len(read.Pod.Spec.Containers) != 1 {
			t.Errorf("%s: %+v, %v", test.kind, read, err)
		}
	}
	if read, err := client(t).TemplateOf(t.Context(), "CronJob", "default", "template"); read != nil || err != nil {
		t.Errorf("a kind that is not read: %+v, %v", read, err)
	}
}
