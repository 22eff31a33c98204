package planner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

func app(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels["app"] = name }
}

func selecting(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

func spreadOver(key string, maxSkew int32, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			TopologyKey: key, MaxSkew: maxSkew, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selecting(name),
		})
	}
}

func near(key, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{
			PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
				{TopologyKey: key, LabelSelector: selecting(name)}}},
		}
	}
}

func awayFrom(key, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
				{TopologyKey: key, LabelSelector: selecting(name)}}},
		}
	}
}

func zoneOf(zone string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: zone} }
}

// standingNode returns an initialized node with four vCPUs and the pods on it.
func standingNode(name, zone string, pods ...corev1.Pod) plan.Node {
	node := &corev1.Node{}
	node.Name = name
	node.Labels = map[string]string{
		corev1.LabelHostname:     name,
		corev1.LabelTopologyZone: zone,
		corev1.LabelArchStable:   api.ArchitectureAmd64,
	}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU:    *resource.QuantityOf(corev1.ResourceCPU, 4000),
		corev1.ResourceMemory: *resource.QuantityOf(corev1.ResourceMemory, 16<<30),
		corev1.ResourcePods:   *resource.QuantityOf(corev1.ResourcePods, 58),
	}
	for i := range pods {
		pods[i].Spec.NodeName = name
	}
	return plan.Node{Node: node, Pods: pods}
}

// TestTopology checks how many waiting pods go to each zone, and the most that go to one node.
func TestTopology(t *testing.T) {
	const zone, host = corev1.LabelTopologyZone, corev1.LabelHostname
	for _, test := range []struct {
		name string
		// count is the number of waiting pods of each kind in pods.
		count int
		pods  [][]func(*corev1.Pod)
		nodes []plan.Node
		// perZone has the waiting pods of each zone. -1 allows any number.
		perZone   map[string]int
		mostANode int
		unplaced  int
		reason    string
	}{
		{name: "spread over zones", count: 7, pods: [][]func(*corev1.Pod){{app("web"), spreadOver(zone, 1, "web")}},
			perZone: map[string]int{"us-east-1a": -1, "us-east-1b": -1, "us-east-1c": -1}, mostANode: 3},
		{name: "spread evens out what runs", count: 4, pods: [][]func(*corev1.Pod){{app("web"), spreadOver(zone, 1, "web")}},
			nodes: []plan.Node{standingNode("a", "us-east-1a", newPod("r1", "3500m", "1Gi", app("web")),
				newPod("r2", "400m", "1Gi", app("web")))},
			perZone: map[string]int{"us-east-1b": 2, "us-east-1c": 2}, mostANode: 2},
		{name: "spread kept from a full zone", count: 9,
			pods: [][]func(*corev1.Pod){{app("web"), spreadOver(zone, 2, "web"), func(p *corev1.Pod) {
				p.Spec.NodeSelector = map[string]string{corev1.LabelArchStable: api.ArchitectureAmd64}
				inZones := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: zone, Operator: corev1.NodeSelectorOpIn, Values: []string{"us-east-1a", "us-east-1z"}},
				}}
				p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
						NodeSelectorTerms: []corev1.NodeSelectorTerm{inZones},
					},
				}}
			}}},
			nodes:   []plan.Node{standingNode("z", "us-east-1z", newPod("r1", "3900m", "1Gi"))},
			perZone: map[string]int{"us-east-1a": 2}, mostANode: 2, unplaced: 7, reason: "spec.topologySpreadConstraints[0]"},
		{name: "spread over hosts", count: 6, pods: [][]func(*corev1.Pod){{app("web"), spreadOver(host, 2, "web")}},
			mostANode: 2},
		{name: "alone on its host", count: 5, pods: [][]func(*corev1.Pod){{app("db"), awayFrom(host, "db")}}, mostANode: 1},
		{name: "alone on an existing host too", count: 2, pods: [][]func(*corev1.Pod){{app("db"), awayFrom(host, "db")}},
			nodes: []plan.Node{standingNode("a", "us-east-1a"),
				standingNode("b", "us-east-1b", newPod("r", "1", "1Gi", app("db")))}, mostANode: 1},
		{name: "alone in its zone", count: 4, pods: [][]func(*corev1.Pod){{app("db"), awayFrom(zone, "db")}},
			perZone: map[string]int{"us-east-1a": 1, "us-east-1b": 1, "us-east-1c": 1}, mostANode: 1, unplaced: 1,
			reason: "spec.affinity.podAntiAffinity"},
		{name: "kept away by what runs", count: 1, pods: [][]func(*corev1.Pod){{app("web"), zoneOf("us-east-1a")}},
			nodes:    []plan.Node{standingNode("a", "us-east-1a", newPod("r", "1", "1Gi", awayFrom(zone, "web")))},
			unplaced: 1, reason: "us-east-1a"},
		{name: "near what runs", count: 3, pods: [][]func(*corev1.Pod){{app("web"), near(zone, "cache")}},
			nodes:   []plan.Node{standingNode("b", "us-east-1b", newPod("r", "3900m", "1Gi", app("cache")))},
			perZone: map[string]int{"us-east-1b": 3}, mostANode: 3},
		{name: "near each other", count: 30, pods: [][]func(*corev1.Pod){{app("web"), near(zone, "web")}},
			perZone: map[string]int{"": 30}, mostANode: 30},
		{name: "all on one host", count: 8, pods: [][]func(*corev1.Pod){{app("web"), near(host, "web")}}, mostANode: 8},
		{name: "near what is nowhere", count: 2, pods: [][]func(*corev1.Pod){{app("web"), near(zone, "cache")}},
			unplaced: 2, reason: "spec.affinity.podAffinity"},
		{name: "zone anti-affinity among the batch", count: 3,
			pods:    [][]func(*corev1.Pod){{app("red"), awayFrom(zone, "blue")}, {app("blue")}},
			perZone: map[string]int{"us-east-1a": 3, "us-east-1b": 3}, mostANode: 3},
		{name: "on the host of another that waits", count: 2,
			pods: [][]func(*corev1.Pod){{app("web"), near(host, "cache")}, {app("cache")}}, mostANode: 4},
		{name: "one host port a node", count: 3, pods: [][]func(*corev1.Pod){{func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 8080}}
		}}}, mostANode: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := realSnapshot(t, newPool("default"))
			s.Nodes = test.nodes
			for i, changes := range test.pods {
				for j := range test.count {
					s.Pods = append(s.Pods, newPod(fmt.Sprintf("p%d-%02d", i, j), "500m", "512Mi", changes...))
				}
			}
			plan := planner.Solve(s)
			verify(t, s, plan)
			perZone, most := placesOf(s, plan)
			for zone, want := range test.perZone {
				got, ok := perZone[zone]
				if zone == "" && len(perZone) == 1 {
					for _, got = range perZone {
						ok = true
					}
				}
				if !ok || want >= 0 && got != want {
					t.Errorf("pods by zone %v, want %v", perZone, test.perZone)
				}
			}
			if most > test.mostANode {
				t.Errorf("%d pods on one node, want at most %d", most, test.mostANode)
			}
			if len(plan.Unplaced) != test.unplaced {
				t.Fatalf("%d unplaced, want %d: %v", len(plan.Unplaced), test.unplaced, plan.Unplaced)
			}
			if test.unplaced > 0 && !strings.Contains(plan.Unplaced[0].Reasons[0].Message, test.reason) {
				t.Errorf("reason %q does not name %q", plan.Unplaced[0].Reasons[0].Message, test.reason)
			}
		})
	}
}

// placesOf counts the placed pods of each zone, as far as claims are bound to one. It also returns
// the most pods on one node.
func placesOf(s *plan.Snapshot, plan *plan.Plan) (perZone map[string]int, most int) {
	perZone = map[string]int{}
	for _, claim := range plan.NodeClaims {
		if zone, ok := claim.NodeClaim.Labels[corev1.LabelTopologyZone]; ok {
			perZone[zone] += len(claim.Pods)
		}
		most = max(most, len(claim.Pods))
	}
	onNode := map[string]int{}
	for _, n := range plan.Nominations {
		onNode[n.NodeName]++
		most = max(most, onNode[n.NodeName])
	}
	for i := range s.Nodes {
		perZone[s.Nodes[i].Node.Labels[corev1.LabelTopologyZone]] += onNode[s.Nodes[i].Node.Name]
	}
	for zone, n := range perZone {
		if n == 0 {
			delete(perZone, zone)
		}
	}
	return perZone, most
}

// TestSpreadUnderLimits checks spread within a limit that allows nodes for only some of the pods.
func TestSpreadUnderLimits(t *testing.T) {
	for cpu := int64(2); cpu <= 24; cpu += 2 {
		s := realSnapshot(t, newPool("default", limited(corev1.ResourceCPU, fmt.Sprint(cpu))))
		for i := range 12 {
			s.Pods = append(
				s.Pods,
				newPod(fmt.Sprintf("p-%02d", i), "1500m", "1Gi", app("web"), spreadOver(corev1.LabelTopologyZone, 1, "web")),
			)
		}
		solved := planner.Solve(s)
		verify(t, s, solved)
		perZone, _ := placesOf(s, solved)
		least, most := 12, 0
		for _, zone := range []string{"us-east-1a", "us-east-1b", "us-east-1c"} {
			least, most = min(least, perZone[zone]), max(most, perZone[zone])
		}
		if most-least > 1 || len(solved.Unplaced) == 12 {
			t.Errorf("limit %d cpu: by zone %v, %d unplaced", cpu, perZone, len(solved.Unplaced))
		}
	}
}

// TestASpreadOverHostsFillsNodesUpToMaxSkew has one type of nodes, so that the spread alone sets the price of
// a pod. The plan then costs what the bound proves.
func TestASpreadOverHostsFillsNodesUpToMaxSkew(t *testing.T) {
	for _, test := range []struct{ maxSkew, pods, nodes int }{
		{1, 20, 20}, {2, 20, 10}, {5, 20, 4}, {7, 20, 3}, {10, 200, 20},
	} {
		s := realSnapshot(t, newPool("default"))
		s.InstanceTypes["default"] = slices.DeleteFunc(s.InstanceTypes["default"], func(typ catalog.InstanceType) bool {
			return typ.Name != "m5.large"
		})
		for i := range test.pods {
			s.Pods = append(s.Pods, newPod(fmt.Sprintf("p-%03d", i), "180m", "256Mi", app("web"),
				spreadOver(corev1.LabelHostname, int32(test.maxSkew), "web")))
		}
		solved := planner.Solve(s)
		verify(t, s, solved)
		if len(solved.NodeClaims) != test.nodes {
			t.Errorf("maxSkew %d: %d nodes, want %d", test.maxSkew, len(solved.NodeClaims), test.nodes)
		}
	}
}

// TestNamespaceSelector checks anti-affinity to pods in namespaces that a term selects by label.
func TestNamespaceSelector(t *testing.T) {
	s := realSnapshot(t, newPool("default"))
	s.Namespaces = []corev1.Namespace{
		{
			ObjectMeta: metav1.ObjectMeta{Name: "prod", Labels: map[string]string{"stage": "prod"}},
		}, {ObjectMeta: metav1.ObjectMeta{Name: "test", Labels: map[string]string{"stage": "test"}}},
	}
	for i, namespace := range []string{"prod", "test"} {
		zone := "us-east-1" + string(rune('a'+i))
		running := newPod("r-"+namespace, "3900m", "1Gi", app("db"))
		running.Namespace = namespace
		s.Nodes = append(s.Nodes, standingNode("n-"+zone, zone, running))
	}
	s.Pods = []corev1.Pod{
		newPod("p", "1", "1Gi", awayFrom(corev1.LabelTopologyZone, "db"), zoneOf("us-east-1a"), func(p *corev1.Pod) {
			terms := p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
			terms[0].NamespaceSelector = &metav1.LabelSelector{
				MatchLabels: map[string]string{"stage": "test"},
			}
		}),
	}
	if solved := planner.Solve(s); len(solved.Unplaced) != 0 {
		t.Errorf("unplaced: %v", solved.Unplaced)
	}
	s.Pods[0].Spec.NodeSelector[corev1.LabelTopologyZone] = "us-east-1b"
	if solved := planner.Solve(s); len(solved.Unplaced) != 1 {
		t.Errorf("planned beside what it must not be near: %+v", solved)
	}
}
