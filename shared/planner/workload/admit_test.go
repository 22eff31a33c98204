package workload_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/planner/stagetest"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// selecting gives a pod node terms that no other pod has.
func selecting(value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"example.com/key": value} }
}

// TestNamespacesTakeTurns checks that a namespace with more constraints than a plan has time for
// keeps no pod of another namespace from being planned, although its pods are as old.
func TestNamespacesTakeTurns(t *testing.T) {
	var pods []corev1.Pod
	for i := range 5000 {
		p := stagetest.Pod(fmt.Sprintf("a-%d", i), "1", "1Gi", selecting(fmt.Sprint(i)))
		p.Namespace = "a-greedy"
		pods = append(pods, p)
	}
	for i := range 50 {
		p := stagetest.Pod(fmt.Sprintf("b-%d", i), "1", "1Gi", selecting(fmt.Sprintf("b-%d", i)))
		p.Namespace = "b-modest"
		pods = append(pods, p)
	}
	refused := map[string]int{}
	for _, g := range workload.Read(stagetest.Snapshot(nil, pods...)).Groups {
		if g.Problem != "" {
			refused[g.Pod().Namespace]++
			if !strings.Contains(g.Problem, "the next plan tries again") {
				t.Fatalf("the reason is %q", g.Problem)
			}
		}
	}
	if refused["a-greedy"] == 0 || refused["a-greedy"] == 5000 || refused["b-modest"] > 0 {
		t.Errorf("refused groups by namespace: %v", refused)
	}
}

// TestExpensivePodsComeLast checks that a pod with very many constraints is refused before many pods
// with few, and that a relaxed group stays refused.
func TestExpensivePodsComeLast(t *testing.T) {
	expensive := stagetest.Pod("expensive", "1", "1Gi", func(p *corev1.Pod) {
		for i := range 1000 {
			stagetest.Spread(corev1.LabelTopologyZone, 1, fmt.Sprint(i))(p)
		}
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			TopologyKey: corev1.LabelHostname, MaxSkew: 1, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: stagetest.Selecting("x"),
		})
	})
	pods := []corev1.Pod{expensive}
	for i := range 1000 {
		pods = append(pods, stagetest.Pod(fmt.Sprint("pod-", i), "1", "1Gi", selecting(fmt.Sprint(i))))
	}
	w := workload.Read(stagetest.Snapshot(nil, pods...))
	for _, g := range w.Groups {
		if (g.Problem != "") != (g.Pod().Name == "expensive") {
			t.Errorf("%s: the problem is %q", g.Pod().Name, g.Problem)
		}
		if g.Problem == "" {
			continue
		}
		if relaxed := w.Relax(g, g.Pods); relaxed == nil || relaxed.Problem != g.Problem {
			t.Errorf("the relaxed group is %+v", relaxed)
		}
	}
}

// TestUnknownResources checks that pods cannot lengthen every vector by names that nothing has.
func TestUnknownResources(t *testing.T) {
	var pods []corev1.Pod
	for i := range 200 {
		pods = append(pods, stagetest.Pod(fmt.Sprint("pod-", i), "1", "1Gi", func(p *corev1.Pod) {
			name := corev1.ResourceName(fmt.Sprintf("example.com/r%d", i))
			p.Spec.Containers[0].Resources.Requests[name] = resource.MustParse("1")
		}))
	}
	w := workload.Read(stagetest.Snapshot(nil, pods...))
	if count := len(w.Axes.Names); count > 10 {
		t.Errorf("%d axes", count)
	}
	for _, g := range w.Groups {
		if !strings.Contains(g.Problem, "example.com/r") {
			t.Errorf("%s: the problem is %q", g.Pod().Name, g.Problem)
		}
	}
}

// TestOnlyTheHeaviestPreferences checks which preferences count if a pod has too many.
func TestOnlyTheHeaviestPreferences(t *testing.T) {
	pod := stagetest.Pod("pod", "1", "1Gi", func(p *corev1.Pod) {
		var terms []corev1.PreferredSchedulingTerm
		for i := range 100 {
			terms = append(terms, corev1.PreferredSchedulingTerm{Weight: int32(1 + i), Preference: corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: "example.com/key", Operator: corev1.NodeSelectorOpIn, Values: []string{fmt.Sprint(i)}},
				},
			}})
		}
		p.Spec.Affinity = &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms},
		}
	})
	w := workload.Read(stagetest.Snapshot(nil, pod))
	rounds, g := 0, w.Groups[0]
	for next := g; next != nil; next = w.Relax(next, next.Pods) {
		g, rounds = next, rounds+1
		if preferred := g.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution; len(preferred) > 0 &&
			preferred[0].Weight < 85 {
			t.Fatalf("a preference of weight %d counts", preferred[0].Weight)
		}
	}
	if rounds != 17 {
		t.Errorf("%d rounds, want 16 preferences and none", rounds)
	}
	if fully := w.RelaxFully(w.Groups[0], w.Groups[0].Pods); fully == nil || w.Relax(fully, fully.Pods) != nil {
		t.Errorf("RelaxFully leaves preferences: %+v", fully)
	}
}
