package disruption_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

func pool(name string, after string, budgets ...string) api.NodePool {
	made := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if after == api.Never {
		made.Spec.Disruption.ConsolidateAfter = api.NeverDuration()
	} else {
		duration, err := time.ParseDuration(after)
		if err != nil {
			panic(err)
		}
		made.Spec.Disruption.ConsolidateAfter = api.DurationOf(duration)
	}
	for _, nodes := range budgets {
		made.Spec.Disruption.Budgets = append(made.Spec.Disruption.Budgets, api.Budget{Nodes: nodes})
	}
	made.Default()
	return made
}

// node is an initialised node of the pool "default", empty since the given time ago.
func node(name string, emptyFor time.Duration, change ...func(*disruption.Node)) disruption.Node {
	made := disruption.Node{
		Claim: &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{
			Name: name, CreationTimestamp: metav1.NewTime(monday.Add(-time.Hour)),
			Labels: map[string]string{api.NodePoolLabelKey: "default"},
		}},
		Node: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{api.NodeInitializedLabelKey: "true"}},
		},
	}
	made.Claim.Status.Conditions = []metav1.Condition{{Type: api.ConditionTypeInitialized, Status: metav1.ConditionTrue}}
	made.Node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if emptyFor > 0 {
		made.Claim.Annotations = map[string]string{
			disruption.EmptySinceAnnotationKey: monday.Add(-emptyFor).Format(time.RFC3339),
		}
	}
	for _, f := range change {
		f(&made)
	}
	return made
}

func with(pods ...*corev1.Pod) func(*disruption.Node) {
	return func(n *disruption.Node) { n.Pods = pods }
}

func tainted(n *disruption.Node) {
	n.Node.Spec.Taints = append(n.Node.Spec.Taints, api.DisruptedNoScheduleTaint())
}

func claimDeleted(n *disruption.Node) {
	now := metav1.NewTime(monday)
	n.Claim.DeletionTimestamp = &now
}

func awaiting(pod string) func(*disruption.Node) {
	return func(n *disruption.Node) { n.Claim.Annotations[api.NominatedPodsAnnotationKey] = "other," + pod }
}

func uid(value types.UID) func(*corev1.Pod) { return func(p *corev1.Pod) { p.UID = value } }

func joining(n *disruption.Node) {
	n.Claim.Status.Conditions, n.Node = nil, nil
	n.Claim.CreationTimestamp = metav1.NewTime(monday.Add(-20 * time.Second))
}

func withUID(p *corev1.Pod, uid types.UID) *corev1.Pod {
	p.UID = uid
	return p
}

// ready makes the node one that has been initialized for a while.
func ready(age time.Duration) func(*disruption.Node) {
	return func(n *disruption.Node) {
		initialized := api.GetCondition(n.Claim.Status.Conditions, api.ConditionTypeInitialized)
		initialized.LastTransitionTime = metav1.NewTime(monday.Add(-age))
	}
}

func waitingPod(age time.Duration) *corev1.Pod {
	return pod("waiting", phase(corev1.PodPending), func(p *corev1.Pod) {
		p.CreationTimestamp = metav1.NewTime(monday.Add(-age))
		p.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
		}
	})
}

func TestEmpty(t *testing.T) {
	const due = time.Minute
	for _, test := range []struct {
		name    string
		pools   []api.NodePool
		nodes   []disruption.Node
		waiting []*corev1.Pod
		needed  string // the name of a node that has room for a pod that waits

		begin, end, remove, restore string // names, by comma
		notices                     int
		again                       time.Duration // from now; zero for none
	}{
		{name: "a cluster without nodes has nothing to do"},
		{name: "a node that is seen empty for the first time is noted and looked at again",
			nodes: []disruption.Node{node("a", 0)}, begin: "a", again: disruption.EmptyAfter},
		{name: "a node is not removed before the second look, even where the pool waits for nothing",
			nodes: []disruption.Node{node("a", 3*time.Second)}, again: 2 * time.Second},
		{name: "a node that is still empty at the second look is removed",
			nodes: []disruption.Node{node("a", 5*time.Second)}, remove: "a"},
		{name: "a node waits for its pool's consolidateAfter",
			pools: []api.NodePool{pool("default", "5m")}, nodes: []disruption.Node{node("a", 2*time.Minute)},
			again: 3 * time.Minute},
		{name: "a node that waited for its pool's consolidateAfter is removed",
			pools: []api.NodePool{pool("default", "5m")}, nodes: []disruption.Node{node("a", 5*time.Minute)}, remove: "a"},
		{name: "a time that cannot be read is written anew",
			nodes: []disruption.Node{
				node("a", due, func(n *disruption.Node) { n.Claim.Annotations[disruption.EmptySinceAnnotationKey] = "yesterday" }),
			},
			begin: "a", again: disruption.EmptyAfter},
		{name: "a pod that comes makes the node not empty",
			nodes: []disruption.Node{node("a", due, with(pod("p")))}, end: "a"},
		{name: "a pod that is ending still runs",
			nodes: []disruption.Node{node("a", due, with(pod("p", ending)))}, end: "a"},
		{name: "pods of daemon sets, static pods and pods that have ended leave a node empty",
			nodes: []disruption.Node{
				node(
					"a", due,
					with(
						pod("d", ownedBy("DaemonSet")), pod("s", ownedBy("Node")), pod("f", phase(corev1.PodFailed)),
						pod("c", phase(corev1.PodSucceeded)),
					),
				),
			},
			remove: "a"},
		{name: "a pod of a job keeps its node",
			nodes: []disruption.Node{node("a", 0, with(pod("j", ownedBy("Job"))))}},
		{name: "a protected pod of a daemon set keeps the node, and a notice says so",
			nodes: []disruption.Node{node("a", due, with(pod("d", ownedBy("DaemonSet"), doNotDisrupt("true"))))}, notices: 1},
		{name: "a protected node stays",
			nodes: []disruption.Node{node("a", due, func(n *disruption.Node) {
				n.Node.Annotations = map[string]string{api.DoNotDisruptAnnotationKey: "true"}
			})}, end: "a"},
		{name: "a pool that never consolidates keeps its nodes",
			pools: []api.NodePool{pool("default", api.Never)}, nodes: []disruption.Node{node("a", due)}, end: "a"},
		{name: "a pool with replicas keeps its nodes",
			pools: []api.NodePool{
				func() api.NodePool { p := pool("default", "0s"); n := int64(1); p.Spec.Replicas = &n; return p }(),
			},
			nodes: []disruption.Node{node("a", due)}, end: "a"},
		{name: "a node of a pool that is gone is let be",
			pools: []api.NodePool{pool("other", "0s")}, nodes: []disruption.Node{node("a", due)}, end: "a"},
		{name: "a node that is not initialized is let be, and holds up no other",
			nodes: []disruption.Node{node("a", 0, joining), node("b", due)}, remove: "b"},
		{name: "a node whose claim is deleted is on its way already",
			nodes: []disruption.Node{node("a", due, claimDeleted, tainted)}},
		{name: "a new pod that waits keeps the node that has room for it, and a notice says so",
			nodes: []disruption.Node{node("a", 10*time.Second), node("b", due)}, needed: "a",
			waiting: []*corev1.Pod{waitingPod(10 * time.Second)}, remove: "b", notices: 1, again: 20 * time.Second},
		{name: "new pods keep no node for long, one after the other",
			nodes: []disruption.Node{node("a", 2*due)}, needed: "a", waiting: []*corev1.Pod{waitingPod(10 * time.Second)},
			remove: "a"},
		{name: "a new pod that has room nowhere keeps no node",
			nodes: []disruption.Node{node("a", due)}, waiting: []*corev1.Pod{waitingPod(10 * time.Second)}, remove: "a"},
		{name: "a node that has just become ready waits for the pods that it was launched for",
			nodes:   []disruption.Node{node("a", 6*time.Second, awaiting("w"), ready(10*time.Second))},
			waiting: []*corev1.Pod{withUID(waitingPod(due), "w")}, again: 20 * time.Second},
		{name: "a node that has been ready for a while waits no longer",
			nodes:   []disruption.Node{node("a", 6*time.Second, awaiting("w"), ready(due))},
			waiting: []*corev1.Pod{withUID(waitingPod(due), "w")}, remove: "a"},
		{name: "a node whose pods are still being drained from theirs stays for them",
			nodes: []disruption.Node{
				node("a", due, awaiting("moving")), node("b", 0, claimDeleted, with(pod("p", uid("moving")))),
			},
		},
		{name: "a node whose pods never came is let go",
			nodes:  []disruption.Node{node("a", due, awaiting("gone")), node("b", 0, with(pod("p", uid("moving"))))},
			remove: "a"},
		{name: "a pod that has waited for long fits none of them",
			nodes: []disruption.Node{node("a", due)}, waiting: []*corev1.Pod{waitingPod(30 * time.Second)}, remove: "a"},
		{name: "a budget lets some go, those first that have been empty for longest",
			pools: []api.NodePool{pool("default", "0s", "2")},
			nodes: []disruption.Node{node("a", due), node("b", 3*due), node("c", 2*due)}, remove: "b,c"},
		{name: "nodes on their way out use the budget up, and a notice says so",
			pools: []api.NodePool{pool("default", "0s", "1")},
			nodes: []disruption.Node{node("a", due), node("b", due, claimDeleted)}, notices: 1},
		{name: "a node that is not ready uses the budget up as well",
			pools: []api.NodePool{pool("default", "0s", "1")}, notices: 1,
			nodes: []disruption.Node{
				node("a", due), node("b", 0, with(pod("p")), func(n *disruption.Node) { n.Node.Status.Conditions = nil }),
			},
		},
		{name: "a node whose instance is ending counts no more",
			pools: []api.NodePool{pool("default", "0s", "1")}, remove: "a",
			nodes: []disruption.Node{node("a", due), node("b", 0, claimDeleted, func(n *disruption.Node) {
				n.Claim.Status.Conditions = append(
					n.Claim.Status.Conditions,
					metav1.Condition{Type: api.ConditionTypeInstanceTerminating, Status: metav1.ConditionTrue},
				)
			})}},
		{name: "the default budget lets one of ten go",
			pools: []api.NodePool{pool("default", "0s")},
			nodes: []disruption.Node{node("a", due), node("b", due), node("c", due)}, remove: "a"},
		{name: "a budget that cannot be read closes the pool, and a notice says so",
			pools: []api.NodePool{pool("default", "0s", "many")}, nodes: []disruption.Node{node("a", due)}, notices: 1},
		{name: "a run that died after the mark is finished, within its own place in the budget",
			pools: []api.NodePool{pool("default", "0s", "1")}, nodes: []disruption.Node{node("a", due, tainted), node("b", due)},
			remove: "a", notices: 1},
		{name: "a mark on a node that is in use again is taken back",
			nodes: []disruption.Node{node("a", due, tainted, with(pod("p")))}, end: "a", restore: "a"},
		{name: "a mark on a node that nobody noted as empty is taken back",
			nodes: []disruption.Node{node("a", 0, tainted)}, begin: "a", restore: "a", again: disruption.EmptyAfter},
		{name: "a reason without a mark, left by a run that died, is taken back",
			nodes: []disruption.Node{node("a", 0, with(pod("p")), func(n *disruption.Node) {
				n.Claim.Status.Conditions = append(
					n.Claim.Status.Conditions, metav1.Condition{Type: api.ConditionTypeDisruptionReason, Status: metav1.ConditionTrue},
				)
			})}, restore: "a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.pools == nil {
				test.pools = []api.NodePool{pool("default", "0s")}
			}
			seen := &disruption.Cluster{Pools: test.pools, Nodes: test.nodes, Waiting: test.waiting}
			if test.needed != "" {
				seen.Needed = map[string]*corev1.Pod{test.needed: test.waiting[0]}
			}
			got := disruption.Empty(seen, monday)
			for what, pair := range map[string][2]string{
				"begin": {names(got.Begin), test.begin}, "end": {names(got.End), test.end},
				"remove": {names(got.Remove), test.remove}, "restore": {names(got.Restore), test.restore},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s %q, want %q", what, pair[0], pair[1])
				}
			}
			if len(got.Notices) != test.notices {
				t.Errorf("notices %+v, want %d", got.Notices, test.notices)
			}
			switch {
			case test.again == 0 && !got.Again.IsZero():
				t.Errorf("looks again at %s, want never", got.Again)
			case test.again != 0 && !got.Again.Equal(monday.Add(test.again)):
				t.Errorf("looks again at %s, want after %s", got.Again, test.again)
			}
		})
	}
}

// Budgets hold however the nodes are listed, and never let more go than they allow.
func TestEmptyDoesNotDependOnTheOrderOfTheNodes(t *testing.T) {
	nodes := []disruption.Node{
		node("a", time.Minute),
		node("b", 2*time.Minute),
		node("c", time.Minute),
		node("d", 3*time.Minute, with(pod("p"))),
	}
	pools := []api.NodePool{pool("default", "0s", "2")}
	want := names(disruption.Empty(&disruption.Cluster{Pools: pools, Nodes: nodes}, monday).Remove)
	for range 20 {
		nodes = append(nodes[1:], nodes[0])
		slices.Reverse(nodes[:2])
		if got := names(disruption.Empty(&disruption.Cluster{Pools: pools, Nodes: nodes}, monday).Remove); got != want ||
			got != "b,a" {
			t.Fatalf("removes %q, want %q", got, want)
		}
	}
}

func names(nodes []*disruption.Node) string {
	var list []string
	for _, node := range nodes {
		list = append(list, node.Claim.Name)
	}
	return strings.Join(list, ",")
}
