package disruption_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

func TestWhichPodsAreMovedByARestart(t *testing.T) {
	controller := true
	made := func(name string, change ...func(*corev1.Pod)) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), Labels: map[string]string{"app": "web"},
			Annotations:     map[string]string{disruption.MoveByRestartAnnotationKey: "true"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-1", UID: "web-1", Controller: &controller}},
		}}
		for _, f := range change {
			f(pod)
		}
		return pod
	}
	says := func(value string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Annotations[disruption.MoveByRestartAnnotationKey] = value }
	}
	silent := func(p *corev1.Pod) { p.Annotations = nil }
	on := func(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }
	budget := func(allowed int32) []policyv1.PodDisruptionBudget {
		return []policyv1.PodDisruptionBudget{{
			Spec: policyv1.PodDisruptionBudgetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			},
			Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
		}}
	}
	asking := pool("default", "0s")
	asking.Annotations = map[string]string{disruption.MoveByRestartAnnotationKey: "true"}
	plain := pool("default", "0s")
	for _, test := range []struct {
		name    string
		pool    api.NodePool
		pod     *corev1.Pod
		others  []*corev1.Pod
		budgets []policyv1.PodDisruptionBudget
		want    bool
	}{
		{name: "one that asks", pool: plain, pod: made("p"), want: true},
		{name: "one that does not", pool: plain, pod: made("p", silent)},
		{name: "one whose pool asks", pool: asking, pod: made("p", silent), want: true},
		{name: "one that does not want what its pool asks", pool: asking, pod: made("p", says("false"))},
		{name: "one of two on the node", pool: plain, pod: made("p", on("n")), others: []*corev1.Pod{made("q", on("n"))},
			want: true},
		{name: "one of two", pool: plain, pod: made("p", on("n")), others: []*corev1.Pod{made("q", on("m"))}},
		{name: "one of two that waits", pool: plain, pod: made("p", on("n")), others: []*corev1.Pod{made("q")}},
		{
			name: "one of another Deployment beside it", pool: plain, pod: made("p"),
			others: []*corev1.Pod{made("q", func(p *corev1.Pod) { p.OwnerReferences[0].UID = "web-2" })}, want: true,
		},
		{
			name: "one that has ended beside it", pool: plain, pod: made("p"),
			others: []*corev1.Pod{made("q", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })}, want: true,
		},
		{
			name: "of a StatefulSet", pool: plain,
			pod: made("p", func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "StatefulSet" }),
		},
		{name: "without an owner", pool: plain, pod: made("p", func(p *corev1.Pod) { p.OwnerReferences = nil })},
		{
			name: "that tolerates what a node is marked with", pool: plain,
			pod: made(
				"p", func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} },
			),
		},
		{name: "that a budget lets go", pool: plain, pod: made("p"), budgets: budget(1)},
		{name: "that a budget keeps", pool: plain, pod: made("p"), budgets: budget(0), want: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			pods := []*corev1.Pod{test.pod}
			for _, other := range test.others {
				if other.Spec.NodeName == "n" {
					pods = append(pods, other)
				}
			}
			s := &disruption.Cluster{
				Pools:   []api.NodePool{test.pool},
				Nodes:   []disruption.Node{node("n", 0, with(pods...))},
				Running: append([]*corev1.Pod{test.pod}, test.others...),
				Budgets: test.budgets,
			}
			if got := len(s.ToRestart(&s.Nodes[0])) == 1; got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestRestartable(t *testing.T) {
	rolling := func(surge, unavailable intstr.IntOrString) appsv1.DeploymentStrategy {
		return appsv1.DeploymentStrategy{
			Type:          appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &unavailable},
		}
	}
	number, part := intstr.FromInt32, intstr.FromString
	for _, test := range []struct {
		name     string
		replicas int32
		paused   bool
		strategy appsv1.DeploymentStrategy
		want     bool
	}{
		{"the API server's defaults", 1, false, rolling(part("25%"), part("25%")), true},
		{"a surge of one", 1, false, rolling(number(1), number(0)), true},
		{"no surge", 1, false, rolling(number(0), number(1)), false},
		{"the only one may be unavailable", 1, false, rolling(number(1), number(1)), false},
		{"all may be unavailable", 1, false, rolling(part("100%"), part("100%")), false},
		{"two replicas", 2, false, rolling(number(1), number(0)), true},
		{"one of two may be unavailable", 2, false, rolling(number(1), number(1)), true},
		{"all of two may be unavailable", 2, false, rolling(number(1), part("100%")), false},
		{"no replicas", 0, false, rolling(number(1), number(0)), false},
		{"paused", 1, true, rolling(number(1), number(0)), false},
		{"recreate", 1, false, appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			deployment := &appsv1.Deployment{
				Spec: appsv1.DeploymentSpec{Replicas: &test.replicas, Paused: test.paused, Strategy: test.strategy},
			}
			if got := disruption.Restartable(deployment); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
