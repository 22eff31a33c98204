package podgroup_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/consolidation/podgroup"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

func requesting(cpu string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: apiresource.MustParse(cpu)},
	}}}
	for _, f := range change {
		f(pod)
	}
	return pod
}

func tolerant(pod *corev1.Pod) {
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
}

func onArm(pod *corev1.Pod) {
	pod.Spec.NodeSelector = map[string]string{corev1.LabelArchStable: "arm64"}
}

func TestPodsThatDifferInRequestsOrNodesHaveDifferentGroups(t *testing.T) {
	groups := podgroup.New(&plan.Snapshot{Pods: []corev1.Pod{*requesting("1")}})
	first := groups.Of(requesting("100m"))
	named := requesting("100m")
	named.Name, named.Labels = "other", map[string]string{"app": "other"}
	if groups.Of(named) != first {
		t.Error("a pod with another name and other labels has another group")
	}
	for name, pod := range map[string]*corev1.Pod{
		"requests": requesting("200m"), "tolerations": requesting("100m", tolerant),
		"node selector": requesting("100m", onArm),
	} {
		if groups.Of(pod) == first {
			t.Errorf("a pod with other %s has the same group", name)
		}
	}
	if groups.Len() != 4 {
		t.Errorf("%d groups, want 4", groups.Len())
	}
}

func TestTaintsAndLabelsDecideWherePodsMayRun(t *testing.T) {
	groups := podgroup.New(&plan.Snapshot{Pods: []corev1.Pod{*requesting("1")}})
	plain, tolerates, arm := groups.Of(
		requesting("1"),
	), groups.Of(
		requesting("1", tolerant),
	), groups.Of(
		requesting("1", onArm),
	)
	joined := func(labels map[string]string, taints ...corev1.Taint) *plan.Node {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
		node.Spec.Taints = taints
		return &plan.Node{Node: node}
	}
	taint := corev1.Taint{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}
	for _, test := range []struct {
		name                   string
		node                   *plan.Node
		plain, tolerates, isOn bool
	}{
		{"an ordinary node", joined(nil), true, true, false},
		{"a tainted node", joined(nil, taint), false, true, false},
		{"a node with the label", joined(map[string]string{corev1.LabelArchStable: "arm64"}), true, true, true},
	} {
		if groups.MayRun(plain, test.node) != test.plain || groups.MayRun(tolerates, test.node) != test.tolerates ||
			groups.MayRun(arm, test.node) != test.isOn {
			t.Errorf("%s admits the wrong groups", test.name)
		}
	}
}

func TestVectorsHoldWhatFits(t *testing.T) {
	groups := podgroup.New(&plan.Snapshot{Pods: []corev1.Pod{*requesting("1")}})
	requests := groups.RequestsOf(requesting("1500m"))
	free := groups.Capacity(
		corev1.ResourceList{corev1.ResourceCPU: apiresource.MustParse("2"), corev1.ResourcePods: apiresource.MustParse("10")},
	)
	if !free.Fits(requests) {
		t.Fatal("1.5 cores do not fit into 2")
	}
	free.Add(requests, -1)
	if free.Fits(requests) {
		t.Error("1.5 cores fit into half a core")
	}
	free.Add(requests, 1)
	if got := free[resource.CPU]; got != groups.RequestsOf(requesting("2"))[resource.CPU] {
		t.Errorf("%d of cpu is left, want 2 cores", got)
	}
}
