package topology_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
)

const zone, host = corev1.LabelTopologyZone, corev1.LabelHostname

// types are sold in the zones a, b and c. A node takes 10 pods.
func types() []catalog.InstanceType {
	return []catalog.InstanceType{stagetest.Type("medium", 4, 16, 0.2, "a", "b", "c")}
}

// app returns pods of an app, by its name and a number.
func app(name string, count int, changes ...func(*corev1.Pod)) []corev1.Pod {
	var list []corev1.Pod
	for i := range count {
		changes := append([]func(*corev1.Pod){stagetest.App(name)}, changes...)
		list = append(list, stagetest.Pod(fmt.Sprintf("%s-%02d", name, i), "100m", "128Mi", changes...))
	}
	return list
}

// pods joins lists of pods.
func pods(lists ...[]corev1.Pod) []corev1.Pod {
	var all []corev1.Pod
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// bindings counts the pods of demands by app and zone, as "web:a". A demand may have no zone.
func bindings(stages *stagetest.Stages) map[string]int {
	counts := map[string]int{}
	for _, d := range stages.State.Demands {
		counts[d.Group.Pod().Labels["app"]+":"+d.Domains[zone]] += len(d.Units) * d.PodsPerUnit()
	}
	return counts
}

// leftovers counts the pods without a demand by app, and returns the last reason.
func leftovers(stages *stagetest.Stages) (counts map[string]int, reason string) {
	counts = map[string]int{}
	for _, l := range stages.State.Leftovers {
		counts[l.Group.First.Labels["app"]] += len(l.Pods)
		reason = l.Reason
	}
	return counts, reason
}

func inZones(zones ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: zone, Operator: corev1.NodeSelectorOpIn, Values: zones},
		}}
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{term},
			},
		}}
	}
}

func minDomains(count int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.TopologySpreadConstraints[0].MinDomains = &count }
}

func ignoringAffinity(p *corev1.Pod) {
	ignore := corev1.NodeInclusionPolicyIgnore
	p.Spec.TopologySpreadConstraints[0].NodeAffinityPolicy = &ignore
}

// TestDivide checks which zones pods are bound to, and which pods no zone may take.
func TestDivide(t *testing.T) {
	node := func(name, inZone string, running ...corev1.Pod) plan.Node {
		for i := range running {
			running[i].Name, running[i].UID = "running-"+running[i].Name, "running-"+running[i].UID
		}
		return stagetest.Node(name, inZone, 4, running...)
	}
	spread := stagetest.Spread(zone, 1, "web")
	tests := []struct {
		name   string
		nodes  []plan.Node
		pods   []corev1.Pod
		want   map[string]int
		left   map[string]int
		reason string
	}{
		{name: "no constraint", pods: app("web", 5), want: map[string]int{"web:": 5}},
		{
			name: "spread", pods: app("web", 7, spread),
			want: map[string]int{"web:a": 3, "web:b": 2, "web:c": 2},
		},
		{
			name: "spread levels what runs", nodes: []plan.Node{node("n", "a", app("web", 2)...)},
			pods: app("web", 3, spread), want: map[string]int{"web:b": 2, "web:c": 1},
		},
		{
			name: "spread does not count another app", nodes: []plan.Node{node("n", "a", app("db", 2)...)},
			pods: app("web", 3, spread), want: map[string]int{"web:a": 1, "web:b": 1, "web:c": 1},
		},
		{
			name: "spread of pods that it does not count", nodes: []plan.Node{node("n", "a", app("web", 2)...)},
			pods: app("db", 3, spread), want: map[string]int{"db:": 3},
		},
		{
			// The pods of the spread are larger, so they would come first.
			name: "spread levels what waits without a spread",
			pods: pods(app("web", 4, spread, func(p *corev1.Pod) {
				p.Name, p.UID = "spread-"+p.Name, "spread-"+p.UID
				p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("200m")
			}), app("web", 2, stagetest.InZone("a"))),
			want: map[string]int{"web:a": 2, "web:b": 2, "web:c": 2},
		},
		{
			name: "spread over fewer zones than minDomains", pods: app("web", 7, spread, minDomains(4)),
			want: map[string]int{"web:a": 1, "web:b": 1, "web:c": 1}, left: map[string]int{"web": 4},
			reason: "spec.topologySpreadConstraints[0] allows no more",
		},
		{
			name: "spread over the zones of node affinity", pods: app("web", 4, spread, inZones("a", "b")),
			want: map[string]int{"web:a": 2, "web:b": 2},
		},
		{
			name:  "spread that counts zones outside node affinity",
			nodes: []plan.Node{node("n", "c")},
			pods:  app("web", 4, spread, inZones("a", "b"), ignoringAffinity),
			want:  map[string]int{"web:a": 1, "web:b": 1}, left: map[string]int{"web": 2},
			reason: "spec.topologySpreadConstraints[0] allows no more",
		},
		{
			name: "affinity to pods that run", nodes: []plan.Node{node("n", "b", app("cache", 1)...)},
			pods: app("web", 3, stagetest.Near(zone, "cache")), want: map[string]int{"web:b": 3},
		},
		{
			name: "affinity to pods that wait",
			pods: pods(app("web", 3, stagetest.Near(zone, "cache")), app("cache", 1, stagetest.InZone("c"))),
			want: map[string]int{"web:c": 3, "cache:c": 1},
		},
		{
			// The web pods are largest, so they would come first.
			name: "affinity to pods that have affinity to others",
			pods: pods(app("web", 3, stagetest.Near(zone, "cache"), func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("200m")
			}), app("cache", 1, stagetest.Near(zone, "db")), app("db", 1, stagetest.InZone("c"))),
			want: map[string]int{"web:c": 3, "cache:c": 1, "db:c": 1},
		},
		{
			name: "affinity to the own app", pods: app("web", 3, stagetest.Near(zone, "web")),
			want: map[string]int{"web:a": 3},
		},
		{
			name: "affinity to nothing", pods: app("web", 3, stagetest.Near(zone, "cache")), want: map[string]int{},
			left: map[string]int{"web": 3}, reason: "spec.affinity.podAffinity",
		},
		{
			name: "anti-affinity to the own app", pods: app("web", 4, stagetest.Away(zone, "web")),
			want: map[string]int{"web:a": 1, "web:b": 1, "web:c": 1}, left: map[string]int{"web": 1},
			reason: "spec.affinity.podAntiAffinity",
		},
		{
			name: "anti-affinity of pods that run",
			nodes: []plan.Node{
				node("n", "a", app("db", 1, stagetest.Away(zone, "web"))...),
				node("m", "b", app("db", 1, stagetest.Away(zone, "web"))...),
			},
			pods: app("web", 3, stagetest.InZone("a")), want: map[string]int{}, left: map[string]int{"web": 3},
			reason: "required anti-affinity",
		},
		{
			name: "a problem of the group",
			pods: app("web", 2, func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} }),
			want: map[string]int{}, left: map[string]int{"web": 2}, reason: "spec.resourceClaims",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := stagetest.Snapshot(types(), test.pods...)
			s.Nodes = test.nodes
			stages := stagetest.Read(s)
			stages.Domain.Divide(stages.Work.Groups)
			if got := bindings(stages); !maps.Equal(got, test.want) {
				t.Errorf("the demands are %v, want %v", got, test.want)
			}
			left, reason := leftovers(stages)
			if !maps.Equal(left, test.left) || !strings.Contains(reason, test.reason) {
				t.Errorf("left are %v because %q, want %v because %q", left, reason, test.left, test.reason)
			}
		})
	}
}

// TestForbiddenZone checks that demands leave out the one zone that a constraint forbids.
func TestForbiddenZone(t *testing.T) {
	tests := []struct {
		name    string
		running []corev1.Pod
		waiting []corev1.Pod
	}{
		{"anti-affinity of a running pod", app("db", 1, stagetest.Away(zone, "web")), app("web", 3)},
		{"anti-affinity to a running pod", app("db", 1), app("web", 3, stagetest.Away(zone, "db"))},
		{"a spread of other pods", app("db", 2), app("web", 3, stagetest.Spread(zone, 1, "db"))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := stagetest.Snapshot(types(), test.waiting...)
			s.Nodes = []plan.Node{stagetest.Node("n", "a", 4, test.running...)}
			stages := stagetest.Read(s)
			stages.Domain.Divide(stages.Work.Groups)
			if len(stages.State.Demands) == 0 {
				t.Fatal("the pods have no demand")
			}
			for _, d := range stages.State.Demands {
				for _, a := range d.Alternatives.List() {
					if a[zone].Has("a") || !a[zone].Has("b") {
						t.Errorf("the demand allows the zones %s, want all but a", a[zone])
					}
				}
			}
		})
	}
}

// TestAffinityOverHosts checks units and followed pods of affinity over hosts.
func TestAffinityOverHosts(t *testing.T) {
	t.Run("the own app makes one unit", func(t *testing.T) {
		stages := stagetest.Read(stagetest.Snapshot(types(), app("web", 12, stagetest.Near(host, "web"))...))
		stages.Domain.Divide(stages.Work.Groups)
		d := stages.State.Demands[0]
		if len(stages.State.Demands) != 1 || len(d.Units) != 1 || d.PodsPerUnit() != 10 {
			t.Errorf("got %d demands, the first of %d units with %d pods, want one unit with the 10 pods that a node takes",
				len(stages.State.Demands), len(d.Units), d.PodsPerUnit())
		}
		if want := 10 * d.Group.Need[0]; d.Need[0] != want {
			t.Errorf("the unit needs %d of %s, want %d", d.Need[0], stages.Work.Axes.Names[0], want)
		}
		left, reason := leftovers(stages)
		if left["web"] != 2 || !strings.Contains(reason, "the largest has room for 10 of the 12") {
			t.Errorf("left are %v because %q, want 2 pods", left, reason)
		}
	})
	t.Run("another app is followed", func(t *testing.T) {
		list := pods(app("web", 3, stagetest.Near(host, "cache")), app("cache", 1))
		stages := stagetest.Read(stagetest.Snapshot(types(), list...))
		stages.Domain.Divide(stages.Work.Groups)
		for _, d := range stages.State.Demands {
			follows := len(d.Follows) == 1 && d.Follows[0].Matches(&list[3])
			if name := d.Group.Pod().Labels["app"]; follows != (name == "web") {
				t.Errorf("the demand of %s follows %d selectors", name, len(d.Follows))
			}
		}
	})
}
