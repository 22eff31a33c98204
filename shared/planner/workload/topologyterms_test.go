package workload_test

import (
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// groupOf returns the only group of a snapshot with this pod.
func groupOf(t *testing.T, s *plan.Snapshot, pod corev1.Pod) *workload.Group {
	t.Helper()
	s.Pods = []corev1.Pod{pod}
	groups := workload.Read(s).Groups
	if len(groups) != 1 {
		t.Fatalf("got %d groups, want 1", len(groups))
	}
	return groups[0]
}

func TestSpreadTerm(t *testing.T) {
	ignore, honor, three := corev1.NodeInclusionPolicyIgnore, corev1.NodeInclusionPolicyHonor, int32(3)
	pod := stagetest.Pod("a", "1", "1Gi",
		stagetest.App("web"), stagetest.Spread(zone, 2, "web"), prefersSpread(host, "web"))
	pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
		TopologyKey: "failure-domain.beta.kubernetes.io/zone", MaxSkew: 1, MinDomains: &three,
		WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: stagetest.Selecting("db"),
		NodeAffinityPolicy: &ignore, NodeTaintsPolicy: &honor,
	})
	got := groupOf(t, stagetest.Snapshot(nil), pod).Topology.Spread
	want := []workload.SpreadTerm{
		{Field: "spec.topologySpreadConstraints[0]", Key: zone, MaxSkew: 2, MinDomains: 1},
		{Field: "spec.topologySpreadConstraints[1]", Key: host, MaxSkew: 1, MinDomains: 1, Preferred: true},
		{
			Field: "spec.topologySpreadConstraints[2]", Key: zone, MaxSkew: 1, MinDomains: 3,
			IgnoreAffinity: true, HonorTaints: true,
		},
	}
	if len(got) != len(want) {
		t.Fatalf("got %d terms, want %d", len(got), len(want))
	}
	for i := range want {
		if want[i].PodSelector = got[i].PodSelector; got[i] != want[i] {
			t.Errorf("term %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	if !got[0].Matches(&pod) || got[2].Matches(&pod) {
		t.Error("the pod's app is web, so the first term selects it and the last does not")
	}
	if got[0].PodSelector != got[1].PodSelector || got[0].PodSelector == got[2].PodSelector {
		t.Error("terms that select the same pods share one PodSelector, and others do not")
	}
	other := pod
	other.Namespace = "other"
	if got[0].Matches(&other) {
		t.Error("a spread selects pods of another namespace")
	}
}

// TestAffinityNamespaces checks the namespaces of an affinity term against pods of each namespace.
func TestAffinityNamespaces(t *testing.T) {
	tests := []struct {
		name     string
		list     []string
		selector *metav1.LabelSelector
		want     string
	}{
		{name: "the pod's own", want: "default"},
		{name: "a list", list: []string{"red", "blue"}, want: "red blue"},
		{name: "an empty selector selects all", selector: &metav1.LabelSelector{}, want: "default red blue"},
		{
			name:     "a selector",
			selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "blue"}},
			want:     "blue",
		},
		{
			name:     "a selector with a list",
			selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "blue"}},
			list:     []string{"red"},
			want:     "red blue",
		},
		{
			name:     "a selector by name",
			selector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: "red"}},
			want:     "red",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := stagetest.Snapshot(nil)
			for _, name := range []string{"default", "red", "blue"} {
				s.Namespaces = append(s.Namespaces, corev1.Namespace{
					ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": name}},
				})
			}
			pod := stagetest.Pod("a", "1", "1Gi", stagetest.App("web"), stagetest.Near(zone, "web"))
			term := &pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
			term.Namespaces, term.NamespaceSelector = test.list, test.selector
			g := groupOf(t, s, pod)
			if len(g.Topology.Affinity) != 1 {
				t.Fatalf("got %d terms (problem %q), want 1", len(g.Topology.Affinity), g.Problem)
			}
			var got []string
			for _, name := range []string{"default", "red", "blue"} {
				other := stagetest.Pod("b", "1", "1Gi", stagetest.App("web"), inNamespace(name))
				if g.Topology.Affinity[0].Matches(&other) {
					got = append(got, name)
				}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("the term selects pods of %v, want %s", got, test.want)
			}
		})
	}
}

// TestMatchLabelKeys narrows a selector by the pod's own labels.
func TestMatchLabelKeys(t *testing.T) {
	pod := stagetest.Pod("a", "1", "1Gi", stagetest.App("web"), stagetest.Near(zone, "web"))
	pod.Labels["version"], pod.Labels["tenant"] = "2", "red"
	term := &pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
	term.MatchLabelKeys, term.MismatchLabelKeys = []string{"version", "absent"}, []string{"tenant"}
	affinity := groupOf(t, stagetest.Snapshot(nil), pod).Topology.Affinity[0]
	tests := []struct {
		version, tenant string
		want            bool
	}{{"2", "blue", true}, {"2", "red", false}, {"1", "blue", false}}
	for _, test := range tests {
		other := stagetest.Pod("b", "1", "1Gi", stagetest.App("web"))
		other.Labels["version"], other.Labels["tenant"] = test.version, test.tenant
		if got := affinity.Matches(&other); got != test.want {
			t.Errorf("version %s of tenant %s: got %v, want %v", test.version, test.tenant, got, test.want)
		}
	}
}

// TestProblemNamesTheField breaks one term, and expects its path in the group's problem.
func TestProblemNamesTheField(t *testing.T) {
	broken := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Is"}}}
	tests := []struct {
		want   string
		change func(*corev1.Pod)
	}{
		{
			"spec.topologySpreadConstraints[1]: labelSelector",
			func(p *corev1.Pod) {
				stagetest.Spread(zone, 1, "web")(p)
				stagetest.Spread(zone, 1, "web")(p)
				p.Spec.TopologySpreadConstraints[1].LabelSelector = broken
			},
		},
		{
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]: labelSelector",
			func(p *corev1.Pod) {
				stagetest.Near(zone, "web")(p)
				p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = broken
			},
		},
		{
			"spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector",
			func(p *corev1.Pod) {
				stagetest.Away(zone, "web")(p)
				p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].NamespaceSelector = broken
			},
		},
		{
			"spec.resourceClaims",
			func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} },
		},
	}
	for _, test := range tests {
		g := groupOf(t, stagetest.Snapshot(nil), stagetest.Pod("a", "1", "1Gi", test.change))
		if !strings.HasPrefix(g.Problem, test.want) {
			t.Errorf("the problem is %q, want it to begin with %q", g.Problem, test.want)
		}
	}
}

// TestSelectorClasses compares the answers for selector classes with those for each pod, in random
// clusters.
func TestSelectorClasses(t *testing.T) {
	matched, running := 0, 0
	for seed := range uint64(200) {
		s := plantest.Random(seed)
		w := workload.Read(s)
		for _, selector := range selectorsOf(w) {
			for _, g := range w.Groups {
				for _, pod := range g.Pods {
					want := selector.Matches(pod)
					if got := selector.MatchesClass(w.Classes, g.Class); got != want {
						t.Fatalf("seed %d: %q and pod %q: got %v, want %v", seed, selector.Key(), pod.Name, got, want)
					}
					if want {
						matched++
					}
				}
			}
			for i := range s.Nodes {
				want := 0
				for j := range s.Nodes[i].Pods {
					if pod := &s.Nodes[i].Pods[j]; w.CountsInDomain(pod) && selector.Matches(pod) {
						want++
					}
				}
				if got := w.RunningOn(i, selector); got != want {
					t.Fatalf("seed %d: %d pods of %q on node %d, want %d", seed, got, selector.Key(), i, want)
				}
				running += want
			}
		}
	}
	if matched < 1000 || running < 100 {
		t.Errorf("selectors match %d waiting and %d running pods: the clusters test too little", matched, running)
	}
}

// selectorsOf are the selectors of all groups' terms.
func selectorsOf(w *workload.Workload) []*workload.PodSelector {
	var list []*workload.PodSelector
	for _, g := range w.Groups {
		for _, term := range g.Topology.Spread {
			list = append(list, term.PodSelector)
		}
		for _, terms := range [][]workload.AffinityTerm{g.Topology.Affinity, g.Topology.AntiAffinity} {
			for _, term := range terms {
				list = append(list, term.PodSelector)
			}
		}
	}
	return list
}

// TestCountsInDomain checks which pods on a node constraints count.
func TestCountsInDomain(t *testing.T) {
	deleted := metav1.Now()
	running := stagetest.Pod("running", "1", "1Gi", stagetest.App("web"))
	ended := stagetest.Pod("ended", "1", "1Gi", stagetest.App("web"))
	ended.Status.Phase = corev1.PodSucceeded
	leaving := stagetest.Pod("leaving", "1", "1Gi", stagetest.App("web"))
	leaving.DeletionTimestamp = &deleted
	moving := stagetest.Pod("moving", "1", "1Gi", stagetest.App("web"), stagetest.Spread(zone, 1, "web"))
	s := stagetest.Snapshot(nil, moving)
	s.Nodes = []plan.Node{stagetest.Node("node", "a", 8, running, ended, leaving, moving)}
	w := workload.Read(s)
	for i, want := range []bool{true, false, false, false} {
		pod := &s.Nodes[0].Pods[i]
		if got := w.CountsInDomain(pod); got != want {
			t.Errorf("pod %s counts: %v, want %v", pod.Name, got, want)
		}
	}
	if got := w.RunningOn(0, w.Groups[0].Topology.Spread[0].PodSelector); got != 1 {
		t.Errorf("%d pods run on the node, want 1", got)
	}
}

// TestSelectorsOfNothingAndEverything: a term without a selector selects no pod, and one with an empty
// selector selects all of them, also where both are in one snapshot.
func TestSelectorsOfNothingAndEverything(t *testing.T) {
	pods := []corev1.Pod{
		stagetest.Pod("a", "1", "1Gi", stagetest.Away(host, "web")), stagetest.Pod("b", "1", "1Gi", stagetest.Away(host, "web")),
	}
	for i, selector := range []*metav1.LabelSelector{nil, {}} {
		pods[i].Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = selector
	}
	for _, g := range workload.Read(stagetest.Snapshot(nil, pods...)).Groups {
		if name, matches := g.Pod().Name, g.Topology.AntiAffinity[0].Matches(g.Pod()); matches != (name == "b") {
			t.Errorf("the term of pod %s selects the pod: %v", name, matches)
		}
	}
}
