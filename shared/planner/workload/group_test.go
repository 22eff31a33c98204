package workload_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const zone, host = corev1.LabelTopologyZone, corev1.LabelHostname

// namesOf are the names of a group's pods, in order.
func namesOf(g *workload.Group) []string {
	var names []string
	for _, pod := range g.Pods {
		names = append(names, pod.Name)
	}
	return names
}

func tolerating(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key}) }
}

func onPort(number int32, protocol corev1.Protocol, address string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports,
			corev1.ContainerPort{HostPort: number, Protocol: protocol, HostIP: address})
	}
}

func inNamespace(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Namespace = name }
}

func requesting(name corev1.ResourceName, amount string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests[name] = resource.MustParse(amount) }
}

// nodeAffinity sets required node affinity: one term for each expression.
func nodeAffinity(expressions ...corev1.NodeSelectorRequirement) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		required := &corev1.NodeSelector{}
		for _, e := range expressions {
			required.NodeSelectorTerms = append(required.NodeSelectorTerms,
				corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{e}})
		}
		p.Spec.Affinity = &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required},
		}
	}
}

// prefersZone adds preferred node affinity to a zone.
func prefersZone(weight int32, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if p.Spec.Affinity == nil {
			p.Spec.Affinity = &corev1.Affinity{}
		}
		if p.Spec.Affinity.NodeAffinity == nil {
			p.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
		}
		a := p.Spec.Affinity.NodeAffinity
		a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.PreferredSchedulingTerm{Weight: weight, Preference: corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: zone, Operator: "In", Values: []string{name}}}}})
	}
}

// prefersSpread adds a ScheduleAnyway spread.
func prefersSpread(key, app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			TopologyKey: key, MaxSkew: 1, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: stagetest.Selecting(app),
		})
	}
}

func TestEqualPodsAreOneGroup(t *testing.T) {
	created := func(minute int) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.CreationTimestamp = metav1.NewTime(time.Date(2026, 3, 1, 10, minute, 0, 0, time.UTC))
		}
	}
	s := stagetest.Snapshot(nil,
		stagetest.Pod("b", "1", "1Gi", created(2), stagetest.App("web")),
		stagetest.Pod("c", "1", "1Gi", created(2), inNamespace("other")),
		stagetest.Pod("a", "1", "1Gi", created(2), stagetest.App("db")),
		stagetest.Pod("oldest", "1000m", "1024Mi", created(1)),
	)
	groups := workload.Read(s).Groups
	if len(groups) != 1 {
		t.Fatalf("got %d groups, want 1: no selector tells these pods apart", len(groups))
	}
	if got, want := strings.Join(namesOf(groups[0]), " "), "oldest a b c"; got != want {
		t.Errorf("the pods are %q, want %q: by age, then namespace, then name", got, want)
	}
	if groups[0].First != groups[0].Pods[0] {
		t.Errorf("First is %q, want the first of the pods", groups[0].First.Name)
	}
}

// TestWhatSeparatesGroups changes one of two equal pods, and counts the groups.
func TestWhatSeparatesGroups(t *testing.T) {
	in := func(values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: zone, Operator: "In", Values: values}
	}
	ignored := func(s *plan.Snapshot) { s.PreferencePolicy = plan.PreferencesIgnored }
	// selected adds a pod with a selector. It is too large to be in a group with the others.
	selected := func(s *plan.Snapshot) {
		s.Pods = append(s.Pods, stagetest.Pod("large", "9", "9Gi", stagetest.Spread(zone, 1, "web")))
	}
	tests := []struct {
		name   string
		change func(*corev1.Pod)
		setup  func(*plan.Snapshot)
		want   int
	}{
		{name: "a smaller request", change: requesting("cpu", "900m"), want: 2},
		{name: "another resource", change: requesting("example.com/card", "1"), want: 2},
		{name: "a request of zero", change: requesting("example.com/card", "0"), want: 1},
		{name: "a node selector", change: stagetest.InZone("a"), want: 2},
		{name: "required node affinity", change: nodeAffinity(in("a")), want: 2},
		{name: "required node affinity without terms", change: nodeAffinity(), want: 2},
		{name: "a toleration", change: tolerating("gpu"), want: 2},
		{name: "a host port", change: onPort(80, "", ""), want: 2},
		{name: "a container port", change: onPort(0, "", ""), want: 1},
		{name: "preferred node affinity", change: prefersZone(1, "a"), want: 2},
		{name: "ignored preferred node affinity", change: prefersZone(1, "a"), setup: ignored, want: 1},
		{name: "a spread", change: stagetest.Spread(zone, 1, "web"), want: 2},
		{name: "a preferred spread", change: prefersSpread(zone, "web"), want: 2},
		{name: "an ignored preferred spread", change: prefersSpread(zone, "web"), setup: ignored, want: 1},
		{name: "affinity", change: stagetest.Near(zone, "web"), want: 2},
		{name: "anti-affinity", change: stagetest.Away(zone, "web"), want: 2},
		{name: "a label", change: stagetest.App("web"), want: 1},
		{name: "a label that a selector mentions", change: stagetest.App("web"), setup: selected, want: 2},
		{name: "a namespace", change: inNamespace("other"), want: 1},
		{name: "a namespace beside a selector", change: inNamespace("other"), setup: selected, want: 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := stagetest.Snapshot(nil, stagetest.Pod("a", "1", "1Gi"), stagetest.Pod("b", "1", "1Gi", test.change))
			if test.setup != nil {
				test.setup(s)
			}
			got := 0
			for _, g := range workload.Read(s).Groups {
				if slices.Contains(namesOf(g), "a") || slices.Contains(namesOf(g), "b") {
					got++
				}
			}
			if got != test.want {
				t.Errorf("got %d groups, want %d", got, test.want)
			}
		})
	}
}

// describe says all of a group that later stages read, except for numbers of selector classes.
func describe(g *workload.Group) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%v %s %v avoids=%v bound=%v problem=%q\n", namesOf(g), g.First.Name, g.Need, g.AvoidsTaints,
		g.VolumeBound, g.Problem)
	for _, list := range []*workload.Alternatives{g.Required, g.Alternatives} {
		for _, a := range list.List() {
			fmt.Fprintln(&text, " alternative", a)
		}
	}
	for _, s := range g.Topology.Spread {
		fmt.Fprintln(&text, " spread", s.PodSelector.Key(), s.Key, s.MaxSkew, s.MinDomains, s.Preferred)
	}
	for _, list := range [][]workload.AffinityTerm{g.Topology.Affinity, g.Topology.AntiAffinity} {
		for _, a := range list {
			fmt.Fprintln(&text, " affinity", a.PodSelector.Key(), a.Key, a.Preferred)
		}
	}
	return text.String()
}

// TestOrderOfPodsChangesNoGroup reads random clusters with their pods in two orders.
func TestOrderOfPodsChangesNoGroup(t *testing.T) {
	several := 0
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 11))
		s := plantest.Random(seed)
		shuffled := plantest.Clone(s)
		random.Shuffle(len(shuffled.Pods), func(i, j int) {
			shuffled.Pods[i], shuffled.Pods[j] = shuffled.Pods[j], shuffled.Pods[i]
		})
		groups, other := workload.Read(s).Groups, workload.Read(shuffled).Groups
		if len(groups) != len(other) {
			t.Fatalf("seed %d: %d groups, and %d in another order", seed, len(groups), len(other))
		}
		for i := range groups {
			if a, b := describe(groups[i]), describe(other[i]); a != b {
				t.Fatalf("seed %d: group %d is\n%s\nand in another order\n%s", seed, i, a, b)
			}
			if len(groups[i].Pods) > 1 {
				several++
			}
		}
	}
	if several < 200 {
		t.Errorf("only %d groups have several pods: the clusters test too little", several)
	}
}

func TestGroupsAreSortedBySize(t *testing.T) {
	s := stagetest.Snapshot(nil,
		stagetest.Pod("small", "1", "1Gi"),
		stagetest.Pod("large", "2", "1Gi"),
		stagetest.Pod("roomy", "1", "2Gi"),
	)
	var got []string
	for _, g := range workload.Read(s).Groups {
		got = append(got, g.Pod().Name)
	}
	if want := "large roomy small"; strings.Join(got, " ") != want {
		t.Errorf("the groups are %v, want %s: by cpu, then by memory", got, want)
	}
}

func TestMostPerNode(t *testing.T) {
	tests := []struct {
		name    string
		changes []func(*corev1.Pod)
		want    int
	}{
		{name: "no constraint", want: 5},
		{name: "a host port", changes: []func(*corev1.Pod){onPort(80, "", "")}, want: 1},
		{name: "anti-affinity to itself", changes: []func(*corev1.Pod){stagetest.Away(host, "web")}, want: 1},
		{name: "anti-affinity to others", changes: []func(*corev1.Pod){stagetest.Away(host, "db")}, want: 5},
		{name: "anti-affinity over zones", changes: []func(*corev1.Pod){stagetest.Away(zone, "web")}, want: 5},
		{name: "spread over hosts", changes: []func(*corev1.Pod){stagetest.Spread(host, 2, "web")}, want: 2},
		{name: "spread over zones", changes: []func(*corev1.Pod){stagetest.Spread(zone, 2, "web")}, want: 5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := stagetest.Snapshot(nil)
			for i := range 5 {
				changes := append([]func(*corev1.Pod){stagetest.App("web")}, test.changes...)
				s.Pods = append(s.Pods, stagetest.Pod(fmt.Sprint("pod-", i), "1", "1Gi", changes...))
			}
			groups := workload.Read(s).Groups
			if len(groups) != 1 || groups[0].MostPerNode() != test.want {
				t.Errorf("got %d in %d groups, want %d in one", groups[0].MostPerNode(), len(groups), test.want)
			}
		})
	}
}
