package intent_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/functions/provision/intent"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/plan"
)

// requesting is a pod that requests so much cpu, of a DaemonSet if it is named agent.
func requesting(name, amount string) corev1.Pod {
	made := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	made.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: cpu(amount)}}}
	if name == "agent" {
		made.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: name, Controller: new(true)}}
	}
	return made
}

// launchedFor is an initialized node with four cpu that was launched for the pod web.
func launchedFor(name string, pods ...corev1.Pod) plan.Node {
	made := claim(name, "general", "i-"+name)
	made.Annotations = map[string]string{api.NominatedPodsAnnotationKey: "other,web"}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		api.NodeRegisteredLabelKey: "true", api.NodeInitializedLabelKey: "true",
	}}}
	node.Status.Allocatable = cpu("4")
	node.Status.Allocatable[corev1.ResourcePods] = cpu("10")[corev1.ResourceCPU]
	return plan.Node{NodeClaim: &made, Node: node, Pods: pods}
}

func TestPodsThatDoNotFitTheirNode(t *testing.T) {
	for _, test := range []struct {
		name    string
		pods    []corev1.Pod
		change  func(*corev1.Pod, *plan.Node)
		because string // what the reason names; empty where the pod may be planned for
	}{
		{name: "a daemon set takes more than planned", pods: []corev1.Pod{requesting("agent", "2")},
			because: "requests 3 of cpu, and the node has 2"},
		{name: "the node has room", pods: []corev1.Pod{requesting("agent", "1")}},
		{name: "other pods took the room", pods: []corev1.Pod{requesting("a", "2")}},
		{name: "the daemon set's pod has ended", pods: []corev1.Pod{requesting("agent", "2")},
			change: func(_ *corev1.Pod, n *plan.Node) { n.Pods[0].Status.Phase = corev1.PodFailed }},
		{name: "the node got a taint", because: "team=a:NoSchedule", change: func(_ *corev1.Pod, n *plan.Node) {
			n.Node.Spec.Taints = []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
		}},
		{name: "the node is not ready", pods: []corev1.Pod{requesting("agent", "2")},
			change: func(_ *corev1.Pod, n *plan.Node) {
				n.Node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
			}},
		{name: "the node is cordoned", pods: []corev1.Pod{requesting("agent", "2")},
			change: func(_ *corev1.Pod, n *plan.Node) { n.Node.Spec.Unschedulable = true }},
		{name: "the node is leaving", pods: []corev1.Pod{requesting("agent", "2")},
			change: func(_ *corev1.Pod, n *plan.Node) { n.NodeClaim.DeletionTimestamp = &metav1.Time{Time: now} }},
		{name: "the node lacks a label", because: "labels", change: func(p *corev1.Pod, _ *plan.Node) {
			p.Spec.NodeSelector = map[string]string{"disk": "fast"}
		}},
		{name: "the node is not initialized", pods: []corev1.Pod{requesting("agent", "2")},
			change: func(_ *corev1.Pod, n *plan.Node) { delete(n.Node.Labels, api.NodeInitializedLabelKey) }},
		{name: "the node was launched for others", pods: []corev1.Pod{requesting("agent", "2")},
			change: func(_ *corev1.Pod, n *plan.Node) { n.NodeClaim.Annotations = nil }},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod, node := requesting("web", "3"), launchedFor("a", test.pods...)
			if test.change != nil {
				test.change(&pod, &node)
			}
			s := &plan.Snapshot{Pods: []corev1.Pod{pod, requesting("free", "1")}, Nodes: []plan.Node{node}}
			misfits, changed := intent.Misfits(s, nil, now)
			if changed != (test.because != "") || len(misfits) > 1 {
				t.Fatalf("misfits %+v, changed %v", misfits, changed)
			}
			held := intent.Hold(s, misfits, now)
			if test.because == "" {
				if len(held) != 0 || len(s.Pods) != 2 {
					t.Errorf("held %+v", held)
				}
				return
			}
			if len(held) != 1 || held[0].Pod.Name != "web" || len(s.Pods) != 1 || s.Pods[0].Name != "free" {
				t.Fatalf("held %+v, to plan %+v", held, s.Pods)
			}
			for _, part := range []string{`nodeclaim "a"`, test.because, "after 1 such", now.Add(time.Minute).Format(time.RFC3339)} {
				if !strings.Contains(held[0].Message, part) {
					t.Errorf("message %q does not contain %q", held[0].Message, part)
				}
			}
		})
	}
}

func TestEachMisfitWaitsLonger(t *testing.T) {
	at, known := now, map[string]launch.Misfit{}
	var nodes []plan.Node
	var waits []time.Duration
	for i := range 9 {
		nodes = append(nodes, launchedFor(string(rune('a'+i)), requesting("agent", "2")))
		if i > 3 {
			nodes = nodes[1:] // empty nodes are removed meanwhile
		}
		s := &plan.Snapshot{Pods: []corev1.Pod{requesting("web", "3")}, Nodes: nodes}
		next, changed := intent.Misfits(s, known, at)
		if again, changedAgain := intent.Misfits(s, next, at); !changed || changedAgain || !maps.EqualFunc(next, again,
			func(a, b launch.Misfit) bool { return a.Until.Equal(b.Until) && slices.Equal(a.Claims, b.Claims) }) {
			t.Fatalf("the same node counts twice: %+v, then %+v", next, again)
		}
		waits = append(waits, next["web"].Until.Sub(at))
		if held := intent.Hold(s, next, next["web"].Until); len(held) != 0 {
			t.Errorf("held after its time: %+v", held)
		}
		at, known = next["web"].Until, next
	}
	want := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60}
	for i := range want {
		if waits[i] != want[i]*time.Minute {
			t.Fatalf("waits %v, want %v minutes", waits, want)
		}
	}
	if left, changed := intent.Misfits(&plan.Snapshot{}, known, at); len(left) != 0 || !changed {
		t.Errorf("a pod that does not wait any more is still known: %+v", left)
	}
}

// A pod of a leaving node runs, so that its next node may come at once.
func TestPodsOfLeavingNodesAreNotHeld(t *testing.T) {
	pod := requesting("web", "3")
	s := &plan.Snapshot{
		Pods:  []corev1.Pod{pod},
		Nodes: []plan.Node{launchedFor("a", requesting("agent", "2")), {Node: &corev1.Node{}, Pods: []corev1.Pod{pod}}},
	}
	if misfits, changed := intent.Misfits(s, nil, now); len(misfits) != 0 || changed {
		t.Errorf("misfits %+v", misfits)
	}
}
