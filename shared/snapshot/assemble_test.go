package snapshot

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// leaving reports whether the pods of the node need other places.
func leaving(n *plan.Node) bool { return scheduling.IsLeaving(n.NodeClaim, n.Node) }

func noTypes(*api.NodePool) []catalog.InstanceType { return nil }

func pod(name, node string, changes ...func(*corev1.Pod)) corev1.Pod {
	made := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{"app": name},
		},
		Spec: corev1.PodSpec{NodeName: node},
	}
	for _, change := range changes {
		change(&made)
	}
	return made
}

func unschedulable(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
	}
}

// unseenFor makes a pod of the default scheduler's that it has not come to since.
func unseenFor(age time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.SchedulerName, p.CreationTimestamp = corev1.DefaultSchedulerName, metav1.NewTime(now.Add(-age))
	}
}

func ofManifest(p *corev1.Pod) { p.UID = "" }

func terminating(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} }

func ownedBy(kind string) func(*corev1.Pod) {
	controller := true
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "owner", Controller: &controller}}
	}
}

func keep(value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{api.DoNotDisruptAnnotationKey: value} }
}

func node(name, providerID string, changes ...func(*corev1.Node)) corev1.Node {
	made := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
	for _, change := range changes {
		change(&made)
	}
	return made
}

func deleted(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: now} }

func claim(name, providerID string, changes ...func(*api.NodeClaim)) api.NodeClaim {
	made := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: api.NodeClaimStatus{ProviderID: providerID}}
	for _, change := range changes {
		change(&made)
	}
	return made
}

func ending(c *api.NodeClaim) { c.DeletionTimestamp = &metav1.Time{Time: now} }

func terminatingInstance(status metav1.ConditionStatus) func(*api.NodeClaim) {
	return func(c *api.NodeClaim) {
		c.Status.Conditions = []metav1.Condition{{Type: api.ConditionTypeInstanceTerminating, Status: status}}
	}
}

func names(pods []corev1.Pod) string {
	var names []string
	for _, p := range pods {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestWaitingPods(t *testing.T) {
	s := Assemble(&Objects{Pods: []corev1.Pod{
		pod("unschedulable", "", unschedulable),
		pod("unseen", "", unseenFor(0)),
		pod("unseen-in-a-storm", "", unseenFor(4*time.Minute)),
		pod("forgotten", "", unseenFor(5*time.Minute)),
		pod(
			"unseen-gated", "", unseenFor(time.Minute),
			func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}} },
		),
		pod("unseen-daemon", "", unseenFor(time.Minute), ownedBy("DaemonSet")),
		pod(
			"unseen-elsewhere", "", unseenFor(time.Minute),
			func(p *corev1.Pod) { p.Spec.SchedulerName = "fargate-scheduler" },
		),
		pod("unseen-nominated", "", unseenFor(time.Minute), func(p *corev1.Pod) { p.Status.NominatedNodeName = "n" }),
		pod("seen-otherwise", "", unseenFor(time.Minute), func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulerError},
			}
		}),
		pod("manifest", "", ofManifest),
		pod(
			"gated", "", ofManifest,
			func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}} },
		),
		pod("nominated", "", unschedulable, func(p *corev1.Pod) { p.Status.NominatedNodeName = "n" }),
		pod("daemon", "", ofManifest, ownedBy("DaemonSet")),
		pod("static", "", ofManifest, ownedBy("Node")),
		pod("finished", "", ofManifest, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		pod("terminating", "", unschedulable, terminating),
		pod("replica", "", unschedulable, ownedBy("ReplicaSet")),
		pod("bound", "n", unschedulable),
	}}, noTypes, nil, now)
	if got := names(s.Pods); got != "manifest replica unschedulable unseen unseen-in-a-storm" {
		t.Errorf("waiting: %s", got)
	}
}

// Pods of a node that leaves get their new place before they are evicted; pods that
// will not be evicted would leave a node for them empty, to be removed and launched
// again without end.
func TestPodsOfALeavingNode(t *testing.T) {
	budget := func(app string, change func(*policyv1.PodDisruptionBudgetSpec)) policyv1.PodDisruptionBudget {
		made := policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app},
			Spec: policyv1.PodDisruptionBudgetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			},
		}
		change(&made.Spec)
		return made
	}
	value := func(text string) *intstr.IntOrString { v := intstr.Parse(text); return &v }
	always := policyv1.AlwaysAllow
	s := Assemble(&Objects{
		Pods: []corev1.Pod{
			pod("active", "going"),
			pod("ending", "going", terminating, ownedBy("ReplicaSet")),
			pod("ending-set", "going", terminating, ownedBy("StatefulSet")),
			pod("ending-kept", "going", terminating, ownedBy("StatefulSet"), keep("true")),
			pod("kept", "going", keep("true")),
			pod(
				"kept-no-more", "going", keep("10m"),
				func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: now.Add(-11 * time.Minute)} },
			),
			pod(
				"kept-still", "going", keep("10m"),
				func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: now.Add(-9 * time.Minute)} },
			),
			pod("kept-wrongly", "going", keep("yes")),
			pod("none-away", "going"), pod("none-away-percent", "going"), pod("all-there", "going"),
			pod("one-away", "going"), pod("some-there", "going"),
			pod("none-away-set", "going", terminating, ownedBy("StatefulSet")),
			pod("sick", "going"),
			pod("daemon", "going", ownedBy("DaemonSet")), pod("static", "going", ownedBy("Node")),
			pod("finished", "going", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }),
			pod("elsewhere", "staying"), pod("lost", "gone"),
		},
		PodDisruptionBudgets: []policyv1.PodDisruptionBudget{
			budget("none-away", func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = value("0") }),
			budget("none-away-percent", func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = value("0%") }),
			budget("none-away-set", func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = value("0") }),
			budget("all-there", func(s *policyv1.PodDisruptionBudgetSpec) { s.MinAvailable = value("100%") }),
			budget("one-away", func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = value("1") }),
			budget("some-there", func(s *policyv1.PodDisruptionBudgetSpec) { s.MinAvailable = value("99%") }),
			budget("sick", func(s *policyv1.PodDisruptionBudgetSpec) {
				s.MaxUnavailable, s.UnhealthyPodEvictionPolicy = value("0"), &always
			}),
		},
		Nodes:      []corev1.Node{node("going", "aws:///a/i-1"), node("staying", "aws:///a/i-2")},
		NodeClaims: []api.NodeClaim{claim("going", "aws:///a/i-1", ending), claim("staying", "aws:///a/i-2")},
	}, noTypes, nil, now)
	want := "active ending-kept ending-set kept-no-more kept-wrongly none-away-set one-away sick some-there"
	if got := names(s.Pods); got != want {
		t.Errorf("planned for: %s\nwant:        %s", got, want)
	}
	for _, p := range s.Pods {
		if p.Spec.NodeName != "" || p.DeletionTimestamp != nil {
			t.Errorf(
				"pod %s is planned for as if it were bound to %q or going at %v", p.Name, p.Spec.NodeName,
				p.DeletionTimestamp,
			)
		}
	}
	if len(s.Nodes) != 2 || len(s.Nodes[0].Pods) != 17 || names(s.Nodes[1].Pods) != "elsewhere" {
		t.Errorf(
			"nodes have the pods %q and %q: all that have not finished count where they are", names(s.Nodes[0].Pods),
			names(s.Nodes[1].Pods),
		)
	}
	for _, p := range s.Nodes[0].Pods {
		if p.Spec.NodeName != "going" {
			t.Errorf("pod %s on the node is bound to %q", p.Name, p.Spec.NodeName)
		}
	}
}

// TestANodeThatIsRebootedKeepsItsPods holds that nothing is launched for pods that stay on the node, and
// that no pod is planned for it.
func TestANodeThatIsRebootedKeepsItsPods(t *testing.T) {
	for name, initialized := range map[string]string{"ordered": "true", "issued": ""} {
		rebooting := claim("a", "aws:///z/i-a", func(c *api.NodeClaim) {
			c.Status.Conditions = []metav1.Condition{{Type: api.ConditionTypeRebooting, Status: metav1.ConditionTrue}}
		})
		fenced := node("a", "aws:///z/i-a", func(n *corev1.Node) {
			n.Labels = map[string]string{api.NodeRegisteredLabelKey: "true", api.NodeInitializedLabelKey: initialized}
			n.Spec.Taints = []corev1.Taint{
				api.RebootingNoScheduleTaint(), {Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule},
			}
		})
		made := Assemble(&Objects{
			Nodes: []corev1.Node{fenced}, NodeClaims: []api.NodeClaim{rebooting},
			Pods: []corev1.Pod{pod("stays", "a"), pod("ends", "a", terminating), pod("evicted", "", unschedulable)},
		}, noTypes, nil, now)
		if got := names(made.Pods); got != "evicted" {
			t.Errorf("%s: pods %s are planned", name, got)
		}
		if taints := made.Nodes[0].Taints(); !slices.Contains(taints, api.RebootingNoScheduleTaint()) {
			t.Errorf("%s: taints %v", name, taints)
		}
	}
}

func TestLeaving(t *testing.T) {
	tests := []struct {
		name  string
		node  []corev1.Node
		claim []api.NodeClaim
		want  bool
	}{
		{"a claim's deletion", []corev1.Node{node("n", "id")}, []api.NodeClaim{claim("c", "id", ending)}, true},
		{"a claim's deletion before its node has joined", nil, []api.NodeClaim{claim("c", "id", ending)}, true},
		{
			"a terminating instance", []corev1.Node{node("n", "id")},
			[]api.NodeClaim{claim("c", "id", terminatingInstance(metav1.ConditionTrue))}, true,
		},
		{
			"an instance not terminating", []corev1.Node{node("n", "id")},
			[]api.NodeClaim{claim("c", "id", terminatingInstance(metav1.ConditionFalse))}, false,
		},
		{"a deleted node without a claim", []corev1.Node{node("n", "id", deleted)}, nil, true},
		{
			"a deleted node whose claim stands", []corev1.Node{node("n", "id", deleted)},
			[]api.NodeClaim{claim("c", "id")}, false,
		},
		{
			"a deleted node with another's claim", []corev1.Node{node("n", "id", deleted)},
			[]api.NodeClaim{claim("c", "")}, true,
		},
		{"nothing of it", []corev1.Node{node("n", "id")}, []api.NodeClaim{claim("c", "id")}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := Assemble(&Objects{Nodes: test.node, NodeClaims: test.claim, Pods: []corev1.Pod{pod("p", "n")}}, noTypes, nil, now)
			if len(s.Nodes) != 1 || leaving(&s.Nodes[0]) != test.want {
				t.Fatalf("nodes %+v, leaving should be %v", s.Nodes, test.want)
			}
			if planned := len(s.Pods) == 1; planned != (test.want && len(test.node) > 0) {
				t.Errorf("its pod is planned for: %v", planned)
			}
		})
	}
}

func TestNodesAndClaimsJoinByProviderID(t *testing.T) {
	o := &Objects{
		Nodes: []corev1.Node{node("joined", "id-1"), node("alone", "id-9"), node("no-cloud", "")},
		NodeClaims: []api.NodeClaim{
			claim("joined", "id-1"), claim("on-its-way", "id-2"), claim("unlaunched-b", ""), claim("unlaunched-a", "", ending),
			claim("twice", "id-2"), claim("joined-too", "id-1"),
		},
	}
	s := Assemble(o, noTypes, nil, now)
	var got []string
	for _, n := range s.Nodes {
		text := "-"
		if n.Node != nil {
			text = n.Node.Name
		}
		if n.NodeClaim != nil {
			text += "/" + n.NodeClaim.Name
		}
		got = append(got, text)
	}
	if want := []string{"joined/joined", "alone", "no-cloud", "-/on-its-way"}; !slices.Equal(got, want) {
		t.Errorf("nodes %q, want %q", got, want)
	}
	var unlaunched []string
	for _, c := range Unlaunched(o) {
		unlaunched = append(unlaunched, c.Name)
	}
	if want := []string{"unlaunched-a", "unlaunched-b"}; !slices.Equal(unlaunched, want) {
		t.Errorf("unlaunched %q, want %q", unlaunched, want)
	}
	AddUnlaunched(s, o)
	if len(s.Nodes) != 6 || s.Nodes[4].NodeClaim.Name != "unlaunched-a" || !leaving(&s.Nodes[4]) ||
		s.Nodes[5].NodeClaim.Name != "unlaunched-b" || leaving(&s.Nodes[5]) {
		t.Errorf("with the unlaunched claims the nodes are %+v", s.Nodes)
	}
}

// TestOrderDoesNotMatter shuffles the objects: the same pods and nodes come out.
func TestOrderDoesNotMatter(t *testing.T) {
	o := &Objects{}
	for i := range 60 {
		o.Pods = append(
			o.Pods, pod(fmt.Sprintf("p%02d", i), fmt.Sprintf("n%d", i%7)),
			pod(fmt.Sprintf("w%02d", i), "", unschedulable),
		)
	}
	for i := range 6 {
		id := fmt.Sprintf("id-%d", i)
		o.Nodes = append(o.Nodes, node(fmt.Sprintf("n%d", i), id))
		o.NodeClaims = append(o.NodeClaims, claim("c"+id, id), claim("d"+id, id), claim("e"+id, ""))
	}
	o.NodeClaims[3].DeletionTimestamp = &metav1.Time{Time: now}
	describe := func(s *plan.Snapshot) []string {
		lines := []string{names(s.Pods)}
		for i := range s.Nodes {
			line := names(s.Nodes[i].Pods)
			if s.Nodes[i].NodeClaim != nil {
				line += " of " + s.Nodes[i].NodeClaim.Name
			}
			lines = append(lines, line)
		}
		slices.Sort(lines)
		return lines
	}
	want := describe(Assemble(o, noTypes, nil, now))
	random := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		random.Shuffle(len(o.Pods), func(i, j int) { o.Pods[i], o.Pods[j] = o.Pods[j], o.Pods[i] })
		random.Shuffle(len(o.Nodes), func(i, j int) { o.Nodes[i], o.Nodes[j] = o.Nodes[j], o.Nodes[i] })
		random.Shuffle(
			len(o.NodeClaims), func(i, j int) { o.NodeClaims[i], o.NodeClaims[j] = o.NodeClaims[j], o.NodeClaims[i] },
		)
		before := slices.Clone(o.Pods)
		if got := describe(Assemble(o, noTypes, nil, now)); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		if !reflect.DeepEqual(before, o.Pods) {
			t.Fatal("the objects were changed")
		}
	}
}

func TestOverlaysAreApplied(t *testing.T) {
	price := "0.5"
	o := &Objects{
		NodePools: []api.NodePool{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, {ObjectMeta: metav1.ObjectMeta{Name: "b"}}},
		NodeOverlays: []api.NodeOverlay{
			{
				ObjectMeta: metav1.ObjectMeta{Name: "o"},
				Spec: api.NodeOverlaySpec{
					Price: &price,
					Requirements: []corev1.NodeSelectorRequirement{
						{Key: api.NodePoolLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}},
					},
				},
			},
		},
	}
	types := []catalog.InstanceType{
		{Name: "m5.large", Offerings: []catalog.Offering{{CapacityType: "spot", Zone: "z", Price: 1, Available: true}}},
	}
	s := Assemble(o, func(*api.NodePool) []catalog.InstanceType { return types }, nil, now)
	if a, b := s.InstanceTypes["a"][0].Offerings[0], s.InstanceTypes["b"][0].Offerings[0]; a.Price != 0.5 ||
		!a.PriceOverlay || b.Price != 1 || b.PriceOverlay {
		t.Errorf("prices %+v and %+v", a, b)
	}
}

// BenchmarkAssemble puts together 5,000 nodes with 100,000 running pods and 1,000 that wait.
func BenchmarkAssemble(b *testing.B) {
	o := &Objects{}
	for i := range 5000 {
		id := fmt.Sprintf("id-%d", i)
		o.Nodes = append(o.Nodes, node(fmt.Sprintf("n%d", i), id))
		o.NodeClaims = append(o.NodeClaims, claim("c"+id, id))
	}
	for i := range 100000 {
		o.Pods = append(o.Pods, pod(fmt.Sprintf("p%d", i), fmt.Sprintf("n%d", i%5000)))
	}
	for i := range 1000 {
		o.Pods = append(o.Pods, pod(fmt.Sprintf("w%d", i), "", unschedulable))
	}
	b.ReportAllocs()
	for b.Loop() {
		if s := Assemble(o, noTypes, nil, now); len(s.Pods) != 1000 || len(s.Nodes) != 5000 {
			b.Fatal("the snapshot is another")
		}
	}
}
