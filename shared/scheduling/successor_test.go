package scheduling_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

func TestASuccessorIsUnbound(t *testing.T) {
	deleted := metav1.Now()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", DeletionTimestamp: &deleted}}
	pod.Spec.NodeName, pod.Status.NominatedNodeName = "node-a", "node-b"
	made := scheduling.Successor(pod)
	if made.Spec.NodeName != "" || made.Status.NominatedNodeName != "" || made.DeletionTimestamp != nil ||
		made.Name != "web" {
		t.Errorf("successor %+v", made)
	}
	if pod.Spec.NodeName != "node-a" || pod.DeletionTimestamp == nil {
		t.Error("the pod itself has changed")
	}
}

// resized is a pod on a node that its ReplicaSet made, and that was changed since.
func resized(change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 2, OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: new(true),
	}}}}
	pod.Spec.NodeName = "node-a"
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: amounts("200m", "1Gi")}}}
	for _, change := range change {
		change(pod)
	}
	return pod
}

func amounts(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}
}

// TestASuccessorAsksForItsTemplate has pods that were resized in place, downwards and upwards.
func TestASuccessorAsksForItsTemplate(t *testing.T) {
	for _, test := range []struct{ cpu, memory, wantCPU, wantMemory string }{
		{"3", "512Mi", "3", "1Gi"}, {"100m", "2Gi", "200m", "2Gi"}, {"200m", "1Gi", "200m", "1Gi"},
	} {
		pod := resized()
		template := corev1.PodSpec{Containers: []corev1.Container{
			{Resources: corev1.ResourceRequirements{Requests: amounts(test.cpu, test.memory)}},
		}}
		scheduling.NoteTemplate(pod, &template)
		made := scheduling.Successor(pod)
		for _, of := range []struct {
			pod         *corev1.Pod
			cpu, memory string
		}{{pod, "200m", "1Gi"}, {&made, test.wantCPU, test.wantMemory}} {
			requests := scheduling.PodRequests(of.pod)
			if got := requests[corev1.ResourceCPU]; got.Cmp(resource.MustParse(of.cpu)) != 0 {
				t.Errorf("template %v: cpu %s, want %s", test, got.String(), of.cpu)
			}
			if got := requests[corev1.ResourceMemory]; got.Cmp(resource.MustParse(of.memory)) != 0 {
				t.Errorf("template %v: memory %s, want %s", test, got.String(), of.memory)
			}
		}
		again := scheduling.Successor(&made)
		if len(made.Annotations) > 0 || len(again.Spec.Overhead) != len(made.Spec.Overhead) {
			t.Errorf("template %v: the successor of the successor asks for more", test)
		}
	}
}

// TestWhoseTemplateCounts has pods that may come back with other requests than they have.
func TestWhoseTemplateCounts(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"resized":                  {func(*corev1.Pod) {}, true},
		"unchanged":                {func(pod *corev1.Pod) { pod.Generation = 1 }, false},
		"of an old cluster":        {func(pod *corev1.Pod) { pod.Generation = 0 }, false},
		"waiting":                  {func(pod *corev1.Pod) { pod.Spec.NodeName = "" }, false},
		"ended":                    {func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }, false},
		"without a controller":     {func(pod *corev1.Pod) { pod.OwnerReferences = nil }, false},
		"of a DaemonSet":           {func(pod *corev1.Pod) { pod.OwnerReferences[0].Kind = "DaemonSet" }, false},
		"of a custom controller":   {func(pod *corev1.Pod) { pod.OwnerReferences[0].APIVersion = "example.com/v1" }, false},
		"resized by an autoscaler": {func(pod *corev1.Pod) { pod.Annotations = map[string]string{"vpaInPlaceUpdated": "true"} }, false},
		"made by an autoscaler":    {func(pod *corev1.Pod) { pod.Annotations = map[string]string{"vpaUpdates": "by web"} }, false},
	} {
		if owner := scheduling.TemplateOwner(resized(test.change)); (owner != nil) != test.want {
			t.Errorf("%s: owner %v, want one: %t", name, owner, test.want)
		}
	}
}

// TestAnUnreadTemplateIsNotAbsent has a pod whose successor's requests nobody knows.
func TestAnUnreadTemplateIsNotAbsent(t *testing.T) {
	pod := resized()
	if why := scheduling.UnreadTemplate(pod); why != "" {
		t.Errorf("nothing is marked: %s", why)
	}
	scheduling.NoteUnreadTemplate(pod)
	if why := scheduling.UnreadTemplate(pod); why == "" {
		t.Error("the mark is lost")
	}
	if made := scheduling.Successor(pod); len(made.Spec.Overhead) > 0 || len(made.Annotations) > 0 {
		t.Errorf("successor %+v", made)
	}
}
