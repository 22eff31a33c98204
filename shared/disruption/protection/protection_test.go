package protection_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
)

// monday is Monday, 2 March 2026, 12:00 UTC.
var monday = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

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

// tolerant is a pod that stays on a node that is drained, as those of agents do.
func tolerant(p *corev1.Pod) {
	p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
}

func TestPodProtection(t *testing.T) {
	for _, test := range []struct {
		name   string
		pod    *corev1.Pod
		active bool
		until  time.Time
		wrong  bool
	}{
		{name: "a pod without the annotation is not protected", pod: pod("a")},
		{name: "true protects without end", pod: pod("a", doNotDisrupt("true")), active: true},
		{name: "false does not protect and is no mistake", pod: pod("a", doNotDisrupt("false"))},
		{
			name: "a duration protects from the pod's start", pod: pod("a", doNotDisrupt("90m")), active: true,
			until: monday.Add(30 * time.Minute),
		},
		{name: "a duration that is over protects no more", pod: pod("a", doNotDisrupt("60m")), until: monday},
		{
			name: "a duration protects a pod that has not started",
			pod:  pod("a", doNotDisrupt("1s"), func(p *corev1.Pod) { p.Status.StartTime = nil }), active: true,
		},
		{name: "anything else is a mistake that does not protect", pod: pod("a", doNotDisrupt("yes")), wrong: true},
		{name: "a pod that has ended is past protecting", pod: pod("a", doNotDisrupt("true"), phase(corev1.PodSucceeded))},
		{name: "a pod that is ending is past protecting", pod: pod("a", doNotDisrupt("true"), ending)},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := protection.OfPod(test.pod, monday)
			if got.Active != test.active || !got.Until.Equal(test.until) {
				t.Errorf("got %+v", got)
			}
			if (err != nil) != test.wrong || err != nil && !strings.Contains(err.Error(), "default/a") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestBlocked(t *testing.T) {
	budget := func(name, app string, allowed int32) policyv1.PodDisruptionBudget {
		made := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		made.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
		made.Status.DisruptionsAllowed = allowed
		return made
	}
	always := policyv1.AlwaysAllow
	lenient := budget("lenient", "a", 0)
	lenient.Spec.UnhealthyPodEvictionPolicy = &always
	elsewhere := budget("elsewhere", "a", 0)
	elsewhere.Namespace = "other"
	ready := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	for _, test := range []struct {
		name    string
		pods    []*corev1.Pod
		budgets []policyv1.PodDisruptionBudget
		want    string
	}{
		{name: "nothing blocks an empty node"},
		{name: "a protected pod blocks", pods: []*corev1.Pod{pod("a", doNotDisrupt("true"))}, want: "do-not-disrupt"},
		{
			name: "a budget that allows none blocks", pods: []*corev1.Pod{pod("a")},
			budgets: []policyv1.PodDisruptionBudget{budget("tight", "a", 0)}, want: "default/tight",
		},
		{
			name: "a budget that allows one does not", pods: []*corev1.Pod{pod("a")},
			budgets: []policyv1.PodDisruptionBudget{budget("wide", "a", 1)},
		},
		{
			name: "a budget for other pods does not", pods: []*corev1.Pod{pod("a")},
			budgets: []policyv1.PodDisruptionBudget{budget("tight", "b", 0)},
		},
		{
			name: "a budget of another namespace does not", pods: []*corev1.Pod{pod("a")},
			budgets: []policyv1.PodDisruptionBudget{elsewhere},
		},
		{
			name: "two budgets for a pod block whatever they allow", pods: []*corev1.Pod{pod("a")},
			budgets: []policyv1.PodDisruptionBudget{budget("one", "a", 1), budget("two", "a", 1)},
			want:    "2 pod disruption budgets",
		},
		{
			name: "a static pod is not evicted, no budget holds it", pods: []*corev1.Pod{pod("a", ownedBy("Node"))},
			budgets: []policyv1.PodDisruptionBudget{budget("tight", "a", 0)},
		},
		{
			name: "a pod that tolerates the mark of leaving nodes is not evicted either", pods: []*corev1.Pod{pod("a", tolerant)},
			budgets: []policyv1.PodDisruptionBudget{budget("tight", "a", 0), budget("other", "a", 0)},
		},
		{
			name: "a budget holds a pod of a daemon set that a drain evicts", pods: []*corev1.Pod{pod("a", ownedBy("DaemonSet"))},
			budgets: []policyv1.PodDisruptionBudget{budget("tight", "a", 0)}, want: "default/tight",
		},
		{
			name: "an annotation protects a pod that is not evicted", want: "do-not-disrupt",
			pods: []*corev1.Pod{pod("a", tolerant, doNotDisrupt("true"))},
		},
		{
			name: "a pod that has ended holds nothing",
			pods: []*corev1.Pod{pod("a", phase(corev1.PodFailed), doNotDisrupt("true"))},
		},
		{
			name: "a budget that lets unready pods go does not hold one", pods: []*corev1.Pod{pod("a")},
			budgets: []policyv1.PodDisruptionBudget{lenient},
		},
		{
			name: "a budget that lets unready pods go holds a ready one", pods: []*corev1.Pod{pod("a", ready)},
			budgets: []policyv1.PodDisruptionBudget{lenient}, want: "lenient",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := protection.Blocked(test.pods, test.budgets, monday)
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("blocked by %q, want %q", got, test.want)
			}
		})
	}
}

func TestImmovable(t *testing.T) {
	none, percent, some, all := intstr.FromInt32(
		0,
	), intstr.FromString(
		"0%",
	), intstr.FromInt32(
		1,
	), intstr.FromString(
		"100%",
	)
	budget := func(spec policyv1.PodDisruptionBudgetSpec) policyv1.PodDisruptionBudget {
		spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
		return policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}, Spec: spec}
	}
	always := policyv1.AlwaysAllow
	for _, test := range []struct {
		name    string
		pod     *corev1.Pod
		budgets []policyv1.PodDisruptionBudget
		want    bool
	}{
		{name: "a pod that nothing keeps", pod: pod("a")},
		{name: "a protected pod", pod: pod("a", doNotDisrupt("true")), want: true},
		{name: "a pod whose protection is over", pod: pod("a", doNotDisrupt("1s"))},
		{
			name: "a budget that lets none be unavailable", pod: pod("a"),
			budgets: []policyv1.PodDisruptionBudget{budget(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none})}, want: true,
		},
		{
			name: "a budget that lets no part be unavailable", pod: pod("a"),
			budgets: []policyv1.PodDisruptionBudget{budget(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &percent})},
			want:    true,
		},
		{
			name: "a budget that wants all available", pod: pod("a"),
			budgets: []policyv1.PodDisruptionBudget{budget(policyv1.PodDisruptionBudgetSpec{MinAvailable: &all})}, want: true,
		},
		{
			name: "a budget that allows none at this moment", pod: pod("a"),
			budgets: []policyv1.PodDisruptionBudget{budget(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &some})},
		},
		{
			name: "a budget over a pod that no drain evicts", pod: pod("a", tolerant),
			budgets: []policyv1.PodDisruptionBudget{budget(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none})},
		},
		{
			name: "a budget of other pods", pod: pod("b"),
			budgets: []policyv1.PodDisruptionBudget{budget(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none})},
		},
		{
			name: "two budgets, which the eviction API refuses", pod: pod("a"), want: true,
			budgets: []policyv1.PodDisruptionBudget{
				budget(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &some}),
				budget(policyv1.PodDisruptionBudgetSpec{MinAvailable: &some}),
			},
		},
		{
			name: "a budget that always lets an unhealthy pod go", pod: pod("a"),
			budgets: []policyv1.PodDisruptionBudget{
				budget(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none, UnhealthyPodEvictionPolicy: &always}),
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := protection.Immovable(test.pod, test.budgets, monday); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestClusterAutoscalersAnnotations(t *testing.T) {
	annotated := func(pairs ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Annotations = map[string]string{}
			for i := 0; i < len(pairs); i += 2 {
				p.Annotations[pairs[i]] = pairs[i+1]
			}
		}
	}
	none := intstr.FromInt32(0)
	budget := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "budget"}}
	budget.Spec = policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: &none,
		Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
	}
	for _, test := range []struct {
		name    string
		pod     *corev1.Pod
		budgets []policyv1.PodDisruptionBudget
		blocked string
	}{
		{
			name: "a pod that is not safe to evict keeps its node",
			pod:  pod("a", annotated(api.SafeToEvictAnnotationKey, "false")), blocked: "safe-to-evict: false",
		},
		{
			name: "one of a daemon set does not: it goes with its node",
			pod:  pod("a", annotated(api.SafeToEvictAnnotationKey, "false"), ownedBy("DaemonSet")),
		},
		{
			name: "one that has ended does not",
			pod:  pod("a", annotated(api.SafeToEvictAnnotationKey, "false"), phase(corev1.PodSucceeded)),
		},
		{name: "nor one that is ending", pod: pod("a", annotated(api.SafeToEvictAnnotationKey, "false"), ending)},
		{name: "one that is safe to evict keeps nothing", pod: pod("a", annotated(api.SafeToEvictAnnotationKey, "true"))},
		{
			name:    "and lifts no do-not-disrupt",
			pod:     pod("a", annotated(api.SafeToEvictAnnotationKey, "true", api.DoNotDisruptAnnotationKey, "true")),
			blocked: api.DoNotDisruptAnnotationKey,
		},
		{
			name: "and no budget", pod: pod("a", annotated(api.SafeToEvictAnnotationKey, "true")),
			budgets: []policyv1.PodDisruptionBudget{budget}, blocked: "budget",
		},
		{
			name:    "a duration that is over does not make a pod safe",
			pod:     pod("a", annotated(api.SafeToEvictAnnotationKey, "false", api.DoNotDisruptAnnotationKey, "1s")),
			blocked: "safe-to-evict: false",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			why := protection.Blocked([]*corev1.Pod{test.pod}, test.budgets, monday)
			if (why == "") != (test.blocked == "") || !strings.Contains(why, test.blocked) {
				t.Errorf("blocked by %q, want %q", why, test.blocked)
			}
			// A drain that somebody has ordered evicts it all the same.
			protection, err := protection.OfPod(test.pod, monday)
			if err != nil || protection.Active != (test.blocked == api.DoNotDisruptAnnotationKey) {
				t.Errorf("protection %+v, %v", protection, err)
			}
		})
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{api.ScaleDownDisabledAnnotationKey: "true"}},
	}
	if !(protection.OfNode(node, monday) != "") {
		t.Error("a node on which scale-down is disabled is not protected")
	}
	node.Annotations[api.ScaleDownDisabledAnnotationKey] = "false"
	if protection.OfNode(node, monday) != "" {
		t.Error("a node on which scale-down is enabled is protected")
	}
}
