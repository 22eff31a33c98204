package snapshot_test

import (
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

func cpu(amount string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
}

// container has these requests and limits; empty for none.
func container(requests, limits string) corev1.Container {
	var made corev1.Container
	if requests != "" {
		made.Resources.Requests = cpu(requests)
	}
	if limits != "" {
		made.Resources.Limits = cpu(limits)
	}
	return made
}

func onNode(name string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{name}}},
		}}},
	}}
}

// agentPod is a pod of the DaemonSet agent, bound to a node.
func agentPod(name, requests string, age time.Duration, changes ...func(*corev1.Pod)) corev1.Pod {
	made := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "agents", Name: name, CreationTimestamp: metav1.NewTime(noon.Add(-age)),
		OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet", Name: "agent", UID: "u", Controller: new(true)}},
	}}
	made.Spec.Containers = []corev1.Container{container(requests, "")}
	made.Spec.NodeName, made.Spec.Affinity = "node", onNode("node")
	for _, change := range changes {
		change(&made)
	}
	return made
}

func limitRange(namespace, name, request string, kind corev1.LimitType) corev1.LimitRange {
	made := corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	made.Spec.Limits = []corev1.LimitRangeItem{{Type: kind, DefaultRequest: cpu(request), Default: cpu("9")}}
	return made
}

func TestDaemonSetsHaveThePodsThatTheyMake(t *testing.T) {
	pending := func(p *corev1.Pod) { p.Spec.NodeName = "" }
	ended := func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }
	ending := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: noon} }
	ofAnother := func(p *corev1.Pod) { p.OwnerReferences[0].UID = "before" }
	elsewhere := func(p *corev1.Pod) { p.Namespace = "other" }
	of := corev1.LimitTypeContainer
	for _, test := range []struct {
		name       string
		containers []corev1.Container // of the template
		pods       []corev1.Pod
		ranges     []corev1.LimitRange
		want       string
	}{
		{name: "the template", containers: []corev1.Container{container("1", "")}, want: "1"},
		{name: "the live pod", containers: []corev1.Container{container("1", "")},
			pods: []corev1.Pod{agentPod("a", "2", 0)}, want: "2"},
		{name: "the newest pod, although it is pending", containers: []corev1.Container{container("1", "")},
			pods: []corev1.Pod{agentPod("b", "2", time.Hour), agentPod("a", "3", time.Minute, pending)}, want: "3"},
		{name: "no pod that has ended or ends", containers: []corev1.Container{container("1", "")},
			pods: []corev1.Pod{agentPod("a", "2", time.Hour), agentPod("b", "3", 0, ended), agentPod("c", "4", 0, ending)},
			want: "2"},
		{name: "no pod of another", containers: []corev1.Container{container("1", "")},
			pods: []corev1.Pod{agentPod("a", "2", 0, ofAnother), agentPod("b", "3", 0, elsewhere)}, want: "1"},
		{name: "the default of the namespace", containers: []corev1.Container{container("", "")},
			ranges: []corev1.LimitRange{limitRange("agents", "a", "2", of)}, want: "2"},
		{name: "the default for each container that lacks one",
			containers: []corev1.Container{container("", ""), container("", ""), container("1", ""), container("", "3")},
			ranges:     []corev1.LimitRange{limitRange("agents", "a", "2", of)}, want: "8"},
		{name: "the default of the first by name", containers: []corev1.Container{container("", "")},
			ranges: []corev1.LimitRange{limitRange("agents", "b", "2", of), limitRange("agents", "a", "1", of)}, want: "1"},
		{name: "no default of others, or for whole pods", containers: []corev1.Container{container("", "")},
			ranges: []corev1.LimitRange{
				limitRange("other", "a", "2", of), limitRange("agents", "a", "2", corev1.LimitTypePod),
			}, want: "0"},
		{name: "a live pod has its defaults", containers: []corev1.Container{container("", "")},
			pods:   []corev1.Pod{agentPod("a", "1", 0)},
			ranges: []corev1.LimitRange{limitRange("agents", "a", "2", of)}, want: "1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "agent", UID: types.UID("u")}}
			set.Spec.Template.Spec.Containers = test.containers
			set.Spec.Template.Spec.Affinity = onNode("template")
			objects := &snapshot.Objects{
				DaemonSets: []appsv1.DaemonSet{set}, Pods: test.pods, LimitRanges: test.ranges,
			}
			before := set.DeepCopy()
			made := snapshot.Assemble(objects, func(*api.NodePool) []catalog.InstanceType { return nil }, nil, noon)
			template := &made.DaemonSets[0].Spec.Template
			requests := scheduling.DaemonPodRequests(template)
			if want := resource.MustParse(test.want); requests.Cpu().Cmp(want) != 0 {
				t.Errorf("a pod requests %s cpu, want %s", requests.Cpu(), test.want)
			}
			if template.Spec.NodeName != "" || !reflect.DeepEqual(template.Spec.Affinity, onNode("template")) {
				t.Errorf("node %q, affinity %v, want the template's", template.Spec.NodeName, template.Spec.Affinity)
			}
			if !reflect.DeepEqual(&objects.DaemonSets[0], before) {
				t.Error("the DaemonSet was changed")
			}
		})
	}
}
