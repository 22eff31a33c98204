package placement_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
)

const (
	zone, host   = corev1.LabelTopologyZone, corev1.LabelHostname
	instanceType = corev1.LabelInstanceTypeStable
)

// divided reads a snapshot and makes its demands. New nodes have 4 cores.
func divided(nodes []plan.Node, pods ...corev1.Pod) *stagetest.Stages {
	s := stagetest.Snapshot([]catalog.InstanceType{stagetest.Type("medium", 4, 16, 0.2, "a", "b")}, pods...)
	s.Nodes = nodes
	stages := stagetest.Read(s)
	stages.Domain.Divide(stages.Work.Groups)
	return stages
}

// app returns pods of an app that ask for 1 core each. Apps ask for different amounts of memory, so
// that they are different pod groups.
func app(name string, count int, changes ...func(*corev1.Pod)) []corev1.Pod {
	var list []corev1.Pod
	memory := 1000
	for _, letter := range name {
		memory += int(letter - 'a')
	}
	for i := range count {
		changes := append([]func(*corev1.Pod){stagetest.App(name)}, changes...)
		list = append(list, stagetest.Pod(fmt.Sprintf("%s-%02d", name, i), "1", fmt.Sprintf("%dMi", memory), changes...))
	}
	return list
}

// running returns pods of an app for a node. They are other pods than those of app.
func running(name string, count int, changes ...func(*corev1.Pod)) []corev1.Pod {
	list := app(name, count, changes...)
	for i := range list {
		list[i].Name, list[i].UID = "running-"+list[i].Name, "running-"+list[i].UID
	}
	return list
}

func usingPort(port int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: port, Protocol: corev1.ProtocolTCP}}
	}
}

// fills counts the pods that the plan puts on existing nodes, by node and app.
func fills(stages *stagetest.Stages) map[string]int {
	counts := map[string]int{}
	for _, e := range stages.State.Existing {
		for _, f := range e.Fills {
			d := stages.State.Demands[f.Demand]
			counts[e.Node.Name()+":"+d.Group.Pod().Labels["app"]] += f.Count * d.PodsPerUnit()
		}
	}
	return counts
}

// inFlight is a claim for one of the instance types, in one of the zones.
func inFlight(name string, types, zones []string) plan.Node {
	claim := &api.NodeClaim{}
	claim.Name, claim.Labels = name, map[string]string{api.NodePoolLabelKey: "default"}
	claim.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
	claim.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
		{Key: instanceType, Operator: corev1.NodeSelectorOpIn, Values: types},
		{Key: zone, Operator: corev1.NodeSelectorOpIn, Values: zones},
	}
	return plan.Node{NodeClaim: claim}
}

// TestFillExisting checks which units get places on existing nodes, and that all others wait.
func TestFillExisting(t *testing.T) {
	tainted := stagetest.Node("n", "a", 4)
	tainted.Node.Spec.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
	deleted := stagetest.Node("gone", "a", 4)
	deleted.Node.DeletionTimestamp = &metav1.Time{}
	second := stagetest.Node("second", "a", 4)
	second.Rank = 1
	tests := []struct {
		name  string
		nodes []plan.Node
		pods  []corev1.Pod
		want  map[string]int
	}{
		{"as many as fit", []plan.Node{stagetest.Node("n", "a", 4)}, app("web", 6), map[string]int{"n:web": 4}},
		{"beside running pods", []plan.Node{stagetest.Node("n", "a", 4, running("old", 3)...)}, app("web", 6),
			map[string]int{"n:web": 1}},
		{"by rank", []plan.Node{second, stagetest.Node("third", "a", 2), stagetest.Node("first", "a", 4)}, app("web", 7),
			map[string]int{"first:web": 4, "third:web": 2, "second:web": 1}},
		{"not on a node that is being deleted", []plan.Node{deleted}, app("web", 1), map[string]int{}},
		{"not on a tainted node", []plan.Node{tainted}, app("web", 1), map[string]int{}},
		{"in the right zone", []plan.Node{stagetest.Node("n", "a", 4), stagetest.Node("m", "b", 4)},
			app("web", 2, stagetest.InZone("b")), map[string]int{"m:web": 2}},
		{"one host port", []plan.Node{stagetest.Node("n", "a", 4)}, app("web", 3, usingPort(80)),
			map[string]int{"n:web": 1}},
		{"a host port in use", []plan.Node{stagetest.Node("n", "a", 4, running("old", 1, usingPort(80))...)},
			append(app("web", 3, usingPort(80)), app("api", 1, usingPort(81))...), map[string]int{"n:api": 1}},
		{"anti-affinity", []plan.Node{stagetest.Node("n", "a", 4), stagetest.Node("m", "a", 4)},
			app("web", 3, stagetest.Away(host, "web")), map[string]int{"n:web": 1, "m:web": 1}},
		{"anti-affinity to running pods", []plan.Node{stagetest.Node("n", "a", 4, running("web", 1)...)},
			app("api", 1, stagetest.Away(host, "web")), map[string]int{}},
		{"anti-affinity of running pods", []plan.Node{stagetest.Node("n", "a", 4, running("old", 1, stagetest.Away(host, "web"))...)},
			append(app("web", 1), app("api", 1)...), map[string]int{"n:api": 1}},
		{"spread over hosts", []plan.Node{stagetest.Node("n", "a", 8, running("web", 1)...)},
			app("web", 5, stagetest.Spread(host, 3, "web")), map[string]int{"n:web": 2}},
		{"on a node in flight", []plan.Node{inFlight("claim", []string{"medium"}, []string{"a"})}, app("web", 5),
			map[string]int{"claim:web": 4}},
		{"in a zone that is not chosen yet", []plan.Node{inFlight("claim", []string{"medium"}, []string{"a", "b"})},
			append(app("web", 1, stagetest.InZone("a")), app("api", 1)...), map[string]int{"claim:api": 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			stages := divided(test.nodes, test.pods...)
			stages.State.FillExisting(0)
			got := fills(stages)
			if !maps.Equal(got, test.want) {
				t.Errorf("placed %v, want %v", got, test.want)
			}
			placed, waiting := 0, 0
			for _, n := range got {
				placed += n
			}
			for _, d := range stages.State.Demands {
				waiting += d.Waiting * d.PodsPerUnit()
			}
			if placed+waiting != len(test.pods) {
				t.Errorf("%d pods are placed and %d wait, of %d", placed, waiting, len(test.pods))
			}
			for _, e := range stages.State.Existing {
				for r, amount := range e.Free {
					if amount < 0 {
						t.Errorf("node %s has %d of resource %d left", e.Node.Name(), amount, r)
					}
				}
			}
		})
	}
}

// TestDaemonSetsOnExistingNodes checks that pods of DaemonSets keep their room until they run.
func TestDaemonSetsOnExistingNodes(t *testing.T) {
	var agent appsv1.DaemonSet
	agent.Namespace, agent.Name = "default", "agent"
	agent.Spec.Template.Spec = stagetest.Pod("agent", "1", "1Gi").Spec
	pods := running("agent", 1)
	pods[0].OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "agent"}}
	s := stagetest.Snapshot([]catalog.InstanceType{stagetest.Type("medium", 4, 16, 0.2, "a")}, app("web", 8)...)
	s.Nodes = []plan.Node{stagetest.Node("missing", "a", 4), stagetest.Node("runs", "a", 4, pods...)}
	s.DaemonSets = []appsv1.DaemonSet{agent}
	stages := stagetest.Read(s)
	stages.Domain.Divide(stages.Work.Groups)
	stages.State.FillExisting(0)
	if got, want := fills(stages), map[string]int{"missing:web": 3, "runs:web": 3}; !maps.Equal(got, want) {
		t.Errorf("placed %v, want %v", got, want)
	}
}

// TestNominations checks that pods go to the node in flight that an earlier plan nominated for them,
// although other pods come first, and that Nominate lists each placed pod once.
func TestNominations(t *testing.T) {
	node := inFlight("claim", []string{"medium"}, []string{"a"})
	node.NodeClaim.Annotations = map[string]string{api.NominatedPodsAnnotationKey: "uid-small-00,uid-small-01,uid-unknown"}
	large := app("large", 6)
	for i := range large {
		// Demands with more memory come first.
		large[i].Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("2Gi")
	}
	stages := divided([]plan.Node{node, stagetest.Node("n", "a", 1)}, append(large, app("small", 3)...)...)
	stages.State.FillExisting(0)
	want := map[string]int{"n:large": 1, "claim:large": 2, "claim:small": 2}
	if got := fills(stages); !maps.Equal(got, want) {
		t.Fatalf("placed %v, want %v", got, want)
	}
	var nominated []string
	for _, n := range stages.State.Nominate() {
		nominated = append(nominated, n.Pod.Name)
		if want := map[bool]string{true: "claim", false: ""}[n.NodeName == ""]; n.NodeClaimName != want {
			t.Errorf("pod %s is nominated for node %q and claim %q", n.Pod.Name, n.NodeName, n.NodeClaimName)
		}
	}
	slices.Sort(nominated)
	if got := strings.Join(nominated, " "); got != "large-00 large-01 large-02 small-00 small-01" {
		t.Errorf("nominated are %s", got)
	}
	for _, d := range stages.State.Demands {
		if len(d.Units) != d.Waiting {
			t.Errorf("%d units are left, and %d wait", len(d.Units), d.Waiting)
		}
	}
}

// TestTakeBack takes units off an existing node again, and wants their room and their turn back.
func TestTakeBack(t *testing.T) {
	s := stagetest.Snapshot(nil, stagetest.Pods(5, "web", "1", "1Gi")...)
	s.Nodes = []plan.Node{stagetest.Node("node", "a", 8)}
	stages := stagetest.Read(s)
	stages.Domain.Divide(stages.Work.Groups)
	stages.State.PrepareDemands()
	e, d := stages.State.Existing[0], stages.State.Demands[0]
	before := slices.Clone(e.Free)
	if taken := stages.State.TakeBack(e, d, 1); taken != 0 {
		t.Errorf("%d units came off an empty node", taken)
	}
	stages.State.FillNode(e, d, 4)
	for _, step := range []struct{ most, taken, waiting, fills int }{{1, 1, 2, 1}, {9, 3, 5, 0}} {
		if taken := stages.State.TakeBack(e, d, step.most); taken != step.taken || d.Waiting != step.waiting ||
			len(e.Fills) != step.fills {
			t.Errorf("%d units came off, %d wait, %d demands stay: want %+v", taken, d.Waiting, len(e.Fills), step)
		}
	}
	if !slices.Equal(e.Free, before) {
		t.Errorf("the node has %v free, and had %v", e.Free, before)
	}
}
