package workload_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"
)

// prefersPods adds preferred pod affinity and anti-affinity to an app, by weight.
func prefersPods(weight int32, app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if p.Spec.Affinity == nil {
			p.Spec.Affinity = &corev1.Affinity{}
		}
		a := p.Spec.Affinity
		if a.PodAffinity == nil {
			a.PodAffinity, a.PodAntiAffinity = &corev1.PodAffinity{}, &corev1.PodAntiAffinity{}
		}
		term := corev1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: corev1.PodAffinityTerm{
			TopologyKey: zone, LabelSelector: stagetest.Selecting(app)}}
		for _, list := range []*[]corev1.WeightedPodAffinityTerm{
			&a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
			&a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
		} {
			*list = append(*list, term)
		}
	}
}

// TestRelax drops all preferences of a pod, one after the other, and expects Karpenter's order.
func TestRelax(t *testing.T) {
	pod := stagetest.Pod("a", "1", "1Gi", stagetest.Spread(host, 1, "web"), prefersSpread(zone, "web"),
		prefersZone(2, "a"), prefersZone(3, "b"), prefersPods(4, "near"), prefersPods(5, "nearer"))
	s := stagetest.Snapshot(nil, pod)
	s.NodePools[0].Spec.Template.Spec.Taints = []corev1.Taint{{Key: "old", Effect: corev1.TaintEffectPreferNoSchedule}}
	before := pod.DeepCopy()
	w := workload.Read(s)
	// state is how many preferences of each kind are left, and the required zone.
	state := func(g *workload.Group) string {
		preferredSpreads := 0
		for _, term := range g.Topology.Spread {
			if term.Preferred {
				preferredSpreads++
			}
		}
		return fmt.Sprintf("near=%d away=%d zone=%s spread=%d avoids=%v", len(g.Topology.Affinity),
			len(g.Topology.AntiAffinity), zonesOf(g.Alternatives), preferredSpreads, g.AvoidsTaints)
	}
	g := w.Groups[0]
	got := []string{state(g)}
	for range 20 {
		relaxed := w.Relax(g, g.Pods)
		if relaxed == nil {
			break
		}
		if relaxed.First != g.First || !slices.Equal(relaxed.Pods, g.Pods) {
			t.Fatalf("the relaxed group has pods %v and First %q", namesOf(relaxed), relaxed.First.Name)
		}
		got = append(got, state(relaxed))
		g = relaxed
	}
	want := []string{
		"near=2 away=2 zone=b spread=1 avoids=true",
		"near=1 away=2 zone=b spread=1 avoids=true",
		"near=0 away=2 zone=b spread=1 avoids=true",
		"near=0 away=1 zone=b spread=1 avoids=true",
		"near=0 away=0 zone=b spread=1 avoids=true",
		"near=0 away=0 zone=a spread=1 avoids=true",
		"near=0 away=0 zone= spread=1 avoids=true",
		"near=0 away=0 zone= spread=0 avoids=true",
		"near=0 away=0 zone= spread=0 avoids=false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(g.Topology.Spread) != 1 {
		t.Errorf("%d spreads are left, want the required one", len(g.Topology.Spread))
	}
	if pod.String() != before.String() || s.Pods[0].String() != before.String() {
		t.Error("the pod in the snapshot has changed")
	}
}

// TestIgnoredPreferences checks that a group without preferences cannot be relaxed.
func TestIgnoredPreferences(t *testing.T) {
	s := stagetest.Snapshot(nil, stagetest.Pod("a", "1", "1Gi", prefersZone(1, "a"), prefersPods(1, "web")))
	s.PreferencePolicy = plan.PreferencesIgnored
	w := workload.Read(s)
	g := w.Groups[0]
	if zonesOf(g.Alternatives) != "" || len(g.Topology.Affinity)+len(g.Topology.AntiAffinity) > 0 {
		t.Errorf("the group has preferences: zones %q, %+v", zonesOf(g.Alternatives), g.Topology)
	}
	if w.Relax(g, g.Pods) != nil {
		t.Error("the group was relaxed")
	}
}

// TestTolerates checks that only pods with preferences left keep off PreferNoSchedule.
func TestTolerates(t *testing.T) {
	avoided := []corev1.Taint{{Key: "old", Effect: corev1.TaintEffectPreferNoSchedule}}
	forbidden := []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	s := stagetest.Snapshot(nil, stagetest.Pod("a", "1", "1Gi"))
	s.NodePools[0].Spec.Template.Spec.Taints = avoided
	w := workload.Read(s)
	strict := w.Groups[0]
	relaxed := w.Relax(strict, strict.Pods)
	if strict.Tolerates(avoided) || !relaxed.Tolerates(avoided) {
		t.Error("want a group to avoid PreferNoSchedule until it is relaxed")
	}
	if strict.Tolerates(forbidden) || relaxed.Tolerates(forbidden) {
		t.Error("a group tolerates NoSchedule")
	}
}
