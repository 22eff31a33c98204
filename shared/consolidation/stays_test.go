package consolidation_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/consolidation/settings"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// TestWhyANodeStays gives a node that would be deleted one reason to stay at a time. Its one small
// pod fits beside others.
func TestWhyANodeStays(t *testing.T) {
	types := someTypes(t, 8)
	pool := func(change func(*api.NodePool)) func(*plan.Snapshot, *plan.Node) {
		return func(s *plan.Snapshot, _ *plan.Node) { change(&s.NodePools[0]) }
	}
	node := func(change func(*plan.Node)) func(*plan.Snapshot, *plan.Node) {
		return func(_ *plan.Snapshot, n *plan.Node) { change(n) }
	}
	annotatedPod := func(key, value string) func(*plan.Snapshot, *plan.Node) {
		return node(func(n *plan.Node) { n.Pods[0].Annotations = map[string]string{key: value} })
	}
	annotatedNode := func(key, value string) func(*plan.Snapshot, *plan.Node) {
		return node(func(n *plan.Node) { n.Node.Annotations = map[string]string{key: value} })
	}
	for _, test := range []struct {
		name    string
		change  func(*plan.Snapshot, *plan.Node)
		because consolidation.Because
		message string
	}{
		{"nothing keeps it", func(*plan.Snapshot, *plan.Node) {}, "", ""},
		{
			"a pod may not be disrupted", annotatedPod(api.DoNotDisruptAnnotationKey, "true"), consolidation.Protected,
			"low-pod-0 has the annotation",
		},
		{
			"a pod may not be disrupted for a time that runs", annotatedPod(api.DoNotDisruptAnnotationKey, "48h"),
			consolidation.Protected, "low-pod-0 has the annotation",
		},
		{"a pod's time has run out", annotatedPod(api.DoNotDisruptAnnotationKey, "1h"), "", ""},
		{
			"a pod is not safe to evict", annotatedPod("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
			consolidation.Protected, "safe-to-evict",
		},
		{
			"its last replacement failed", node(func(n *plan.Node) {
				n.NodeClaim.Annotations = map[string]string{
					api.ReplaceAfterAnnotationKey: now.Add(time.Minute).Format(time.RFC3339),
				}
			}), consolidation.Unsettled, "its last replacement failed",
		},
		{
			"nobody has read what a pod comes back with", node(func(n *plan.Node) {
				n.Pods[0].OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "low", Controller: new(true)}}
				scheduling.NoteUnreadTemplate(&n.Pods[0])
			}), consolidation.Protected, `the template of its ReplicaSet "low" was not read`,
		},
		{
			"a pod comes back with more than the others have room for", node(func(n *plan.Node) {
				n.Pods[0].OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "low", Controller: new(true)}}
				template := n.Pods[0].Spec.DeepCopy()
				template.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("64")
				scheduling.NoteTemplate(&n.Pods[0], template)
			}), consolidation.Needed, "",
		},
		{
			"the node may not be disrupted", annotatedNode(api.DoNotDisruptAnnotationKey, "true"), consolidation.Protected,
			"the node has the annotation",
		},
		{
			"the node may not be disrupted for a time that runs", annotatedNode(api.DoNotDisruptAnnotationKey, "48h"),
			consolidation.Protected, "do-not-disrupt: 48h",
		},
		{"the node's time has run out", annotatedNode(api.DoNotDisruptAnnotationKey, "1h"), "", ""},
		{
			"the node may not be scaled down", annotatedNode("cluster-autoscaler.kubernetes.io/scale-down-disabled", "true"),
			consolidation.Protected, "scale-down-disabled",
		},
		{
			"its pool wants empty nodes gone only",
			pool(func(p *api.NodePool) { p.Spec.Disruption.ConsolidationPolicy = api.ConsolidationPolicyWhenEmpty }),
			consolidation.Policy, "WhenEmpty",
		},
		{
			"its pool never consolidates",
			pool(func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = api.NeverDuration() }), consolidation.Policy,
			"Never",
		},
		{
			"its pool has a number of nodes", pool(func(p *api.NodePool) { two := int64(2); p.Spec.Replicas = &two }),
			consolidation.Policy, "spec.replicas",
		},
		{
			"its pool waits longer",
			pool(func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = api.DurationOf(48 * time.Hour) }),
			consolidation.Unsettled, "consolidateAfter 48h0m0s runs until 2026-06-02T13:00:00Z",
		},
		{"its pool lets it settle for longer", pool(func(p *api.NodePool) {
			p.Annotations = map[string]string{settings.SettleTimeAnnotationKey: "48h"}
		}), consolidation.Unsettled, "settles until"},
		{"its pool asks for more", pool(func(p *api.NodePool) {
			p.Annotations = map[string]string{settings.MinimumSavingsAnnotationKey: "5"}
		}), consolidation.TooLittle, "less than the $5.0000"},
		{"its pool asks for what cannot be read", pool(func(p *api.NodePool) {
			p.Annotations = map[string]string{settings.MinimumSavingsAnnotationKey: "much"}
		}), consolidation.Policy, `is "much": write US dollars`},
		{
			"pods have come of late", node(func(n *plan.Node) { n.Pods[0].Status.StartTime.Time = now.Add(-time.Minute) }),
			consolidation.Unsettled, "settles until 2026-06-01T12:09:00Z",
		},
		{
			"it is not initialized", node(func(n *plan.Node) { delete(n.Node.Labels, api.NodeInitializedLabelKey) }),
			consolidation.Unsettled, "not initialized",
		},
		{
			"it is not ready", node(func(n *plan.Node) { n.Node.Status.Conditions[0].Status = corev1.ConditionUnknown }),
			consolidation.Unsettled, "not ready",
		},
		{
			"it is leaving", node(func(n *plan.Node) { n.Node.Spec.Taints = []corev1.Taint{api.DisruptedNoScheduleTaint()} }),
			consolidation.Unsettled, "leaving",
		},
		{"another waits for it", func(s *plan.Snapshot, n *plan.Node) {
			s.Nodes[0].NodeClaim.Annotations = map[string]string{disruption.ReplacedByAnnotationKey: n.NodeClaim.Name}
		}, consolidation.Unsettled, "replaces a node"},
		{
			"its price is not known", node(func(n *plan.Node) { n.Node.Labels[corev1.LabelInstanceTypeStable] = "m1.gone" }),
			consolidation.Unpriced, "m1.gone",
		},
		{
			"commitments pay for it", node(func(n *plan.Node) { n.Paid = 1 }), consolidation.TooLittle, "commitments pay for it",
		},
		{"pods that it was launched for wait", func(s *plan.Snapshot, n *plan.Node) {
			waiting := *n.Pods[0].DeepCopy()
			waiting.Name, waiting.UID, waiting.Spec.NodeName = "waiting", "uid-waiting", ""
			s.Pods = []corev1.Pod{waiting}
			n.NodeClaim.Annotations = map[string]string{api.NominatedPodsAnnotationKey: "uid-waiting"}
		}, consolidation.Unsettled, "on their way"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := cluster(types, api.CapacityTypeOnDemand)
			addNode(t, s, "high", "m5.xlarge", api.CapacityTypeOnDemand, 1500, 1200)
			addNode(t, s, "low", "m5.large", api.CapacityTypeOnDemand, 100)
			test.change(s, &s.Nodes[1])
			p := solve(s)
			if test.because == "" {
				if len(p.Moves) == 0 {
					t.Fatalf("nothing moves: %+v", p.Stays)
				}
				return
			}
			if stay := stayOf(t, p, "low"); stay.Because != test.because || !strings.Contains(stay.Message, test.message) {
				t.Errorf("it stays because %s: %s; want %s: %s", stay.Because, stay.Message, test.because, test.message)
			}
		})
	}
}

// TestAPausedPoolLosesNodesAndGetsNone has a pool that gets no node for a while. A node goes whose pods have
// room elsewhere. One that only a cheaper node could replace stays.
func TestAPausedPoolLosesNodesAndGetsNone(t *testing.T) {
	for name, test := range map[string]struct {
		paused, alone bool
		moves         int
	}{
		"a node that is not needed":         {moves: 1},
		"a node that is not needed, paused": {paused: true, moves: 1},
		"a node that is too large":          {alone: true, moves: 1},
		"a node that is too large, paused":  {alone: true, paused: true},
	} {
		s := cluster(someTypes(t, 8), api.CapacityTypeOnDemand)
		if !test.alone {
			addNode(t, s, "high", "m5.xlarge", api.CapacityTypeOnDemand, 1000)
		}
		addNode(t, s, "low", "m5.2xlarge", api.CapacityTypeOnDemand, 500)
		if test.paused {
			s.NodePools, s.PausedPools = nil, s.NodePools
		}
		p := solve(s)
		if len(p.Moves) != test.moves {
			t.Errorf("%s: %d moves, stays %+v", name, len(p.Moves), p.Stays)
		}
		if test.paused && p.PricePerHour == 0 {
			t.Errorf("%s: the nodes have no price", name)
		}
	}
}

func TestADisruptionBudgetOfPodsKeepsTheirNode(t *testing.T) {
	s := cluster(someTypes(t, 8), api.CapacityTypeOnDemand)
	addNode(t, s, "high", "m5.xlarge", api.CapacityTypeOnDemand, 1500)
	addNode(t, s, "low", "m5.large", api.CapacityTypeOnDemand, 100)
	budget := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	for allowed, want := range []int{0, 1} {
		budget.Status.DisruptionsAllowed = int32(allowed)
		p := consolidation.Solve(
			&consolidation.Input{Cluster: s, Budgets: []policyv1.PodDisruptionBudget{budget}, Now: now},
		)
		if len(p.Moves) < want || want == 0 && len(p.Moves) > 0 {
			t.Errorf("with %d disruptions allowed there are %d moves", allowed, len(p.Moves))
		}
		if want == 0 && stayOf(t, p, "low").Because != consolidation.Protected {
			t.Errorf("low stays because %+v", stayOf(t, p, "low"))
		}
	}
}
