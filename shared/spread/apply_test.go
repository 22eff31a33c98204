package spread_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/spread"
)

func defaults(t testing.TB) spread.Defaults {
	t.Helper()
	parsed, err := spread.Parse(`
- {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}
- {maxSkew: 2, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
`)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// pod is a pod of the namespace "shop". owner is apiVersion and kind of its controller, which is
// called "web"; empty for none.
func pod(owner string, labels map[string]string) corev1.Pod {
	made := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "pod", Labels: labels}}
	if owner != "" {
		var version, kind string
		if _, err := fmt.Sscan(owner, &version, &kind); err != nil {
			panic(err)
		}
		yes := true
		made.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "ReplicationController", Name: "no controller"},
			{APIVersion: version, Kind: kind, Name: "web", Controller: &yes},
		}
	}
	return made
}

func of(
	kind spread.Kind, name string, labels map[string]string, expressions ...metav1.LabelSelectorRequirement,
) spread.Selector {
	return spread.Selector{Kind: kind, Namespace: "shop", Name: name,
		Selector: &metav1.LabelSelector{MatchLabels: labels, MatchExpressions: expressions}}
}

// TestSelectorsAreDeducedAsKubeSchedulerDoes follows DefaultSelector of kube-scheduler.
func TestSelectorsAreDeducedAsKubeSchedulerDoes(t *testing.T) {
	type labels = map[string]string
	web := labels{"app": "web", "tier": "front", "hash": "1"}
	service := of(spread.Service, "web", labels{"app": "web"})
	elsewhere := service
	elsewhere.Namespace = "default"
	tier := metav1.LabelSelectorRequirement{Key: "tier", Operator: metav1.LabelSelectorOpExists}
	wrong := metav1.LabelSelectorRequirement{Key: "tier", Operator: "Like"}
	for name, test := range map[string]struct {
		pod   corev1.Pod
		known []spread.Selector
		want  string // FormatLabelSelector; empty for no constraint
	}{
		"nothing known":            {pod("apps/v1 ReplicaSet", web), nil, ""},
		"a service":                {pod("", web), []spread.Selector{service}, "app=web"},
		"a service of other pods":  {pod("", web), []spread.Selector{of(spread.Service, "db", labels{"app": "db"})}, ""},
		"another namespace":        {pod("", web), []spread.Selector{elsewhere}, ""},
		"a service without labels": {pod("", web), []spread.Selector{of(spread.Service, "all", labels{})}, ""},
		"a service without a selector": {pod("", web),
			[]spread.Selector{{Kind: spread.Service, Namespace: "shop", Name: "external"}}, ""},
		"two services": {pod("", web),
			[]spread.Selector{service, of(spread.Service, "front", labels{"tier": "front"})}, "app=web,tier=front"},
		"a replica set": {pod("apps/v1 ReplicaSet", web),
			[]spread.Selector{of(spread.ReplicaSet, "web", labels{"app": "web", "hash": "1"}, tier)}, "app=web,hash=1,tier"},
		"a replica set and a service": {pod("apps/v1 ReplicaSet", web),
			[]spread.Selector{service, of(spread.ReplicaSet, "web", labels{"hash": "1"})}, "app=web,hash=1"},
		"a stateful set": {pod("apps/v1 StatefulSet", web),
			[]spread.Selector{of(spread.StatefulSet, "web", labels{"tier": "front"})}, "tier=front"},
		"a stateful set of the replica set's name": {pod("apps/v1 ReplicaSet", web),
			[]spread.Selector{of(spread.StatefulSet, "web", labels{"tier": "front"})}, ""},
		"another replica set": {pod("apps/v1 ReplicaSet", web),
			[]spread.Selector{of(spread.ReplicaSet, "other", labels{"app": "web"})}, ""},
		"a replica set that contradicts": {pod("apps/v1 ReplicaSet", web),
			[]spread.Selector{service, of(spread.ReplicaSet, "web", labels{"app": "old"})}, "app=web,app in (old)"},
		"a replica set that cannot be read": {pod("apps/v1 ReplicaSet", web),
			[]spread.Selector{service, of(spread.ReplicaSet, "web", labels{"hash": "1"}, wrong)}, "app=web"},
		"a replication controller overwrites": {pod("v1 ReplicationController", web),
			[]spread.Selector{service, of(spread.ReplicationController, "web", labels{"app": "old", "hash": "1"})},
			"app=old,hash=1"},
		"a replica set of another group": {pod("example.com/v1 ReplicaSet", web),
			[]spread.Selector{of(spread.ReplicaSet, "web", labels{"app": "web"})}, ""},
		"a job":                       {pod("batch/v1 Job", web), nil, ""},
		"a job with a service":        {pod("batch/v1 Job", web), []spread.Selector{service}, "app=web"},
		"a daemon set with a service": {pod("apps/v1 DaemonSet", web), []spread.Selector{service}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				pods := []corev1.Pod{test.pod}
				defaults(t).Apply(pods, test.known)
				constraints := pods[0].Spec.TopologySpreadConstraints
				if test.want == "" {
					if constraints != nil {
						t.Errorf("constraints %+v, want none", constraints)
					}
					continue
				}
				if len(constraints) != 2 {
					t.Fatalf("%d constraints, want all", len(constraints))
				}
				for i := range constraints {
					c := &constraints[i]
					if got := metav1.FormatLabelSelector(c.LabelSelector); got != test.want || !spread.IsDefault(c) {
						t.Errorf("selector %s, want %s, default %t", got, test.want, spread.IsDefault(c))
					}
					if c.TopologyKey != defaults(t)[i].TopologyKey || c.MaxSkew != defaults(t)[i].MaxSkew {
						t.Errorf("constraint %d is %+v", i, c)
					}
				}
				slices.Reverse(test.known) // whose order does not matter
			}
		})
	}
}

func TestPodsWithConstraintsOrPlacesKeepWhatTheyHave(t *testing.T) {
	labels := map[string]string{"app": "web"}
	known := []spread.Selector{of(spread.Service, "web", labels)}
	own := pod("", labels)
	own.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 5, TopologyKey: "rack"}}
	ended := pod("", labels)
	ended.Status.Phase = corev1.PodSucceeded
	static := pod("v1 Node", labels)
	pods := []corev1.Pod{own, ended, static}
	if needs := defaults(t).Needs(pods); len(needs) != 0 {
		t.Errorf("they need %v", needs)
	}
	defaults(t).Apply(pods, known)
	if !reflect.DeepEqual(pods, []corev1.Pod{own, ended, static}) ||
		spread.IsDefault(&pods[0].Spec.TopologySpreadConstraints[0]) {
		t.Errorf("they became %+v", pods)
	}
	pods = []corev1.Pod{pod("", labels)}
	spread.Defaults(nil).Apply(pods, known)
	if needs := spread.Defaults(nil).Needs(pods); len(needs) != 0 || pods[0].Spec.TopologySpreadConstraints != nil {
		t.Errorf("without defaults: needs %v, constraints %v", needs, pods[0].Spec.TopologySpreadConstraints)
	}
}

func TestNeedsAreTheKindsAndNamespacesOfThePods(t *testing.T) {
	other := pod("apps/v1 StatefulSet", nil)
	other.Namespace = "bank"
	needs := defaults(t).Needs([]corev1.Pod{
		pod("", nil), other, pod("apps/v1 ReplicaSet", nil), pod("apps/v1 ReplicaSet", nil), pod("batch/v1 Job", nil),
		pod("v1 ReplicationController", nil),
	})
	want := map[spread.Kind][]string{
		spread.Service: {"bank", "shop"}, spread.ReplicaSet: {"shop"}, spread.StatefulSet: {"bank"},
		spread.ReplicationController: {"shop"},
	}
	if !reflect.DeepEqual(needs, want) {
		t.Errorf("needs %v, want %v", needs, want)
	}
}

// TestPodsOfOneWorkloadShareTheirConstraints holds that a hundred thousand pods need little memory,
// and that a selector tells apart what services tell apart.
func TestPodsOfOneWorkloadShareTheirConstraints(t *testing.T) {
	pods := []corev1.Pod{
		pod("apps/v1 StatefulSet", map[string]string{"app": "web", "index": "0"}),
		pod("apps/v1 StatefulSet", map[string]string{"app": "web", "index": "1"}),
		pod("apps/v1 StatefulSet", map[string]string{"app": "db", "index": "1"}),
	}
	shared := pods[0].Spec
	defaults(t).Apply(pods, []spread.Selector{
		of(spread.Service, "web", map[string]string{"app": "web"}),
		of(spread.StatefulSet, "web", map[string]string{"set": "a"}),
	})
	if &pods[0].Spec.TopologySpreadConstraints[0] != &pods[1].Spec.TopologySpreadConstraints[0] {
		t.Error("equal pods have constraints of their own")
	}
	if got := metav1.FormatLabelSelector(pods[2].Spec.TopologySpreadConstraints[0].LabelSelector); got != "set=a" {
		t.Errorf("the pod that no service selects has %s", got)
	}
	if shared.TopologySpreadConstraints != nil {
		t.Error("a copy of the pod has changed too")
	}
}

func BenchmarkApply(b *testing.B) {
	const workloads, replicas = 2000, 50
	var known []spread.Selector
	var pods []corev1.Pod
	for i := range workloads {
		labels := map[string]string{"app": fmt.Sprint("app-", i), "hash": fmt.Sprint(i)}
		known = append(known, of(spread.Service, fmt.Sprint("app-", i), map[string]string{"app": labels["app"]}),
			of(spread.ReplicaSet, fmt.Sprint("app-", i), labels))
		one := pod("apps/v1 ReplicaSet", labels)
		one.OwnerReferences[1].Name = fmt.Sprint("app-", i)
		pods = append(pods, slices.Repeat([]corev1.Pod{one}, replicas)...)
	}
	set := defaults(b)
	for b.Loop() {
		set.Apply(slices.Clone(pods), known)
	}
}
