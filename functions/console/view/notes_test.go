package view

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/nodestate"
)

// leaving is a cluster with one node that drains since the time, and two pods on it.
func leaving(since time.Duration) *Cluster {
	deleted := metav1.NewTime(now.Add(-since))
	claim := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "default-1", DeletionTimestamp: &deleted}}
	claim.Status.ProviderID, claim.Status.NodeName = "aws:///us-east-1a/i-1", "n1"
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: corev1.NodeSpec{ProviderID: "aws:///us-east-1a/i-1"}}
	pods := make([]corev1.Pod, 2)
	for i, name := range []string{"front-0", "front-1"} {
		pods[i].Namespace, pods[i].Name, pods[i].Spec.NodeName = "shop", name, "n1"
		pods[i].Labels = map[string]string{"app": "front"}
		pods[i].Status.Phase = corev1.PodRunning
		pods[i].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return &Cluster{NodeClaims: []api.NodeClaim{claim}, Nodes: []corev1.Node{node}, Pods: pods}
}

func storefront(allowed int32) policyv1.PodDisruptionBudget {
	eight := intstr.FromInt32(8)
	return policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "storefront"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &eight, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "front"}},
		},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, CurrentHealthy: 6, DesiredHealthy: 8},
	}
}

// TestADrainIsHeldUpWherePodsMayNotLeave holds that an ordinary drain is no problem, and that a real one
// names the budget with its numbers.
func TestADrainIsHeldUpWherePodsMayNotLeave(t *testing.T) {
	for name, test := range map[string]struct {
		since   time.Duration
		change  func(*Cluster)
		note    string
		problem string
	}{
		"ordinary": {since: 5 * time.Minute, note: "2 pods stay"},
		"budget allows one": {
			since:  5 * time.Minute,
			change: func(c *Cluster) { c.Budgets = []policyv1.PodDisruptionBudget{storefront(1)} }, note: "2 pods stay",
		},
		"budget allows none": {
			since:  5 * time.Minute,
			change: func(c *Cluster) { c.Budgets = []policyv1.PodDisruptionBudget{storefront(0)} },
			note:   "held up; 2 pods stay; PDB shop/storefront allows 0 evictions (6 pods healthy, 8 needed)",
			problem: "a drain is held up: n1 (2 pods stay; PDB shop/storefront allows 0 evictions (6 pods healthy, 8 " +
				"needed))",
		},
		"for a minute": {
			since:  time.Minute,
			change: func(c *Cluster) { c.Budgets = []policyv1.PodDisruptionBudget{storefront(0)} },
			note:   "2 pods stay; PDB shop/storefront allows 0 evictions (6 pods healthy, 8 needed)",
		},
		"one left a minute ago": {
			since: 5 * time.Minute,
			change: func(c *Cluster) {
				c.Budgets = []policyv1.PodDisruptionBudget{storefront(0)}
				c.NodeClaims[0].Status.LastPodEventTime = metav1.NewTime(now.Add(-time.Minute))
			},
			note: "2 pods stay; PDB shop/storefront allows 0 evictions (6 pods healthy, 8 needed)",
		},
		"an annotation": {
			since: 5 * time.Minute,
			change: func(c *Cluster) {
				c.Pods[1].Annotations = map[string]string{api.DoNotDisruptAnnotationKey: "true"}
			},
			note:    "held up; 2 pods stay; pod shop/front-1 has the annotation karpenter.sh/do-not-disrupt",
			problem: "a drain is held up: n1 (2 pods stay; pod shop/front-1 has the annotation karpenter.sh/do-not-disrupt)",
		},
	} {
		objects := leaving(test.since)
		if test.change != nil {
			test.change(objects)
		}
		shown := Of(objects, now)
		if got := shown.Nodes[0]; got.State != nodestate.Draining || got.Reason != test.note {
			t.Errorf("%s: the node is %s, %q, want %q", name, got.State, got.Reason, test.note)
		}
		drains := ""
		for _, problem := range shown.Problems {
			if strings.Contains(problem, "drain") {
				drains = problem
			}
		}
		if drains != test.problem {
			t.Errorf("%s: the problem is %q, want %q", name, drains, test.problem)
		}
	}
}

// TestWhatIsToHappenToANodeIsSaid has a drifted node whose replacement boots.
func TestWhatIsToHappenToANodeIsSaid(t *testing.T) {
	objects := leaving(0)
	claim := &objects.NodeClaims[0]
	claim.DeletionTimestamp = nil
	is := func(kind, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason}
	}
	claim.Status.Conditions = []metav1.Condition{
		is(api.ConditionTypeLaunched, "Launched"), is(api.ConditionTypeRegistered, "Registered"),
		is(api.ConditionTypeInitialized, "Initialized"), is(api.ConditionTypeDrifted, "AMIDrift"),
		is(api.ConditionTypeDisruptionReason, "Drifted"),
	}
	claim.Annotations = map[string]string{
		api.ReplacedByAnnotationKey: "default-2", api.RebalanceRecommendedAnnotationKey: "2026-03-01T11:00:00Z",
	}
	objects.Nodes[0].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	other := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "default-2", Annotations: map[string]string{api.ReplacesAnnotationKey: "default-1"},
	}}
	other.Status.Conditions = []metav1.Condition{is(api.ConditionTypeLaunched, "Launched")}
	objects.NodeClaims = append(objects.NodeClaims, other)
	shown := Of(objects, now)
	const want = "rebalance recommended; drifted (AMIDrift); is to go (Drifted); replacement default-2 is launched"
	if got := shown.Nodes[0]; got.State != nodestate.Ready || got.Reason != want {
		t.Errorf("the node is %s, %q, want %q", got.State, got.Reason, want)
	}
}

// TestUnreadyPoolsHaveALineEach holds that an AWS request id and other pools do not hide the reason.
func TestUnreadyPoolsHaveALineEach(t *testing.T) {
	v := &View{Time: now}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		v.NodePools = append(v.NodePools, NodePool{Name: name, Reasons: []string{
			"NodeClassNotReady: operation error EC2: RunInstances, https response error StatusCode: 403, RequestID: " +
				"0f4e6f6b-52a8, api error UnauthorizedOperation: " + strings.Repeat("long ", 100), "another reason",
		}})
	}
	got := poolProblems(v)
	if len(got) != 4 || got[3] != "2 other NodePools are not ready" {
		t.Fatalf("%q", got)
	}
	if !strings.HasPrefix(got[0], "NodePool a is not ready: NodeClassNotReady: operation error EC2: RunInstances, api error "+
		"UnauthorizedOperation") || strings.Contains(got[0], "another") || len([]rune(got[0])) > 300 {
		t.Errorf("%q", got[0])
	}
}

// TestAFrozenPoolSaysSo has budgets of no node, of one reason, and of some nodes.
func TestAFrozenPoolSaysSo(t *testing.T) {
	for name, test := range map[string]struct {
		budgets []api.Budget
		frozen  bool
	}{
		"no node":       {[]api.Budget{{Nodes: "0"}}, true},
		"of a reason":   {[]api.Budget{{Nodes: "0", Reasons: []api.DisruptionReason{api.DisruptionReasonEmpty}}}, false},
		"a tenth":       {[]api.Budget{{Nodes: "10%"}}, false},
		"beside others": {[]api.Budget{{Nodes: "10%"}, {Nodes: "0%"}}, true},
	} {
		objects := leaving(0)
		objects.NodeClaims[0].DeletionTimestamp = nil
		objects.NodeClaims[0].Labels = map[string]string{api.NodePoolLabelKey: "default"}
		pool := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		pool.Spec.Disruption.Budgets = test.budgets
		objects.NodePools = []api.NodePool{pool}
		says := strings.Contains(strings.Join(Of(objects, now).NodePools[0].Reasons, "; "), "its budgets let no node go now")
		if says != test.frozen {
			t.Errorf("%s: the pool says so: %t", name, says)
		}
	}
}

// TestPodsOfDaemonSetsThatStartDoNotWait holds for two minutes.
func TestPodsOfDaemonSetsThatStartDoNotWait(t *testing.T) {
	objects, yes := &Cluster{}, true
	for name, age := range map[string]time.Duration{"agent-new": time.Minute, "agent-old": 3 * time.Minute} {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, CreationTimestamp: metav1.NewTime(now.Add(-age)),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", Controller: &yes}},
		}}
		objects.Pods = append(objects.Pods, pod)
	}
	if shown := Of(objects, now); len(shown.Waiting) != 1 || shown.Waiting[0].Name != "agent-old" {
		t.Errorf("%+v wait", shown.Waiting)
	}
}
