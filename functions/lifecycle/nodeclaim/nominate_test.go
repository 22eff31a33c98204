package nodeclaim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// planned is a claim that was planned for the pods so long before noon.
func planned(name string, before time.Duration, pods ...string) api.NodeClaim {
	return api.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, CreationTimestamp: metav1.NewTime(noon.Add(-before)),
		Annotations: map[string]string{api.NominatedPodsAnnotationKey: strings.Join(pods, ",")},
	}}
}

func ended(claim api.NodeClaim) api.NodeClaim {
	at := metav1.NewTime(noon)
	claim.DeletionTimestamp = &at
	return claim
}

// pending is a pod for which the scheduler has found no node.
func pending(name string, change ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	pod.Status.Phase = corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	for _, f := range change {
		f(&pod)
	}
	return pod
}

func spread(what corev1.UnsatisfiableConstraintAction) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: what,
		}}
	}
}

func TestExpectedPods(t *testing.T) {
	bound := func(pod *corev1.Pod) { pod.Spec.NodeName = "other" }
	preempting := func(pod *corev1.Pod) { pod.Status.NominatedNodeName = "other" }
	ending := func(pod *corev1.Pod) { at := metav1.NewTime(noon); pod.DeletionTimestamp = &at }
	gated := func(pod *corev1.Pod) { pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "quota"}} }
	unseen := func(pod *corev1.Pod) {
		pod.Status.Conditions, pod.Spec.SchedulerName = nil, corev1.DefaultSchedulerName
	}
	one := []api.NodeClaim{planned("a", 0, "x")}
	for name, test := range map[string]struct {
		claims  []api.NodeClaim
		unbound []corev1.Pod
		want    string
	}{
		"the pods of each claim": {
			[]api.NodeClaim{planned("a", 0, "x", "y"), planned("b", 0, "z")},
			[]corev1.Pod{pending("z"), pending("y"), pending("x")}, "a: y x; b: z",
		},
		"pods that have gone, or that nobody planned for": {
			[]api.NodeClaim{planned("a", 0, "gone"), planned("none", 0)}, []corev1.Pod{pending("new")}, "",
		},
		"a pod that was bound meanwhile":         {one, []corev1.Pod{pending("x", bound)}, ""},
		"a pod that preempts others elsewhere":   {one, []corev1.Pod{pending("x", preempting)}, ""},
		"a pod that is being deleted":            {one, []corev1.Pod{pending("x", ending)}, ""},
		"a pod that must not be scheduled yet":   {one, []corev1.Pod{pending("x", gated)}, ""},
		"a pod that the scheduler has not tried": {one, []corev1.Pod{pending("x", unseen)}, "a: x"},
		"a pod with a spread":                    {one, []corev1.Pod{pending("x", spread(corev1.DoNotSchedule))}, "a: x"},
		"a pod that was planned again": {
			[]api.NodeClaim{planned("new", time.Second, "x"), planned("old", time.Minute, "x", "y")},
			[]corev1.Pod{pending("x"), pending("y")}, "new: x; old: y",
		},
		"a pod whose newer claim has ended": {
			[]api.NodeClaim{planned("old", time.Minute, "x"), ended(planned("new", time.Second, "x"))},
			[]corev1.Pod{pending("x")}, "old: x",
		},
		"two claims of one second": {
			[]api.NodeClaim{planned("b", 0, "x"), planned("a", 0, "x")}, []corev1.Pod{pending("x")}, "b: x",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the order of a list decides nothing
				if got := text(nodeclaim.ExpectedPods(test.claims, test.unbound)); got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
				slices.Reverse(test.claims)
			}
		})
	}
}

func text(expected map[string][]*corev1.Pod) string {
	var claims []string
	for claim, pods := range expected {
		names := make([]string, len(pods))
		for i, pod := range pods {
			names[i] = pod.Name
		}
		claims = append(claims, claim+": "+strings.Join(names, " "))
	}
	slices.Sort(claims)
	return strings.Join(claims, "; ")
}

func TestPodsAreNominatedBeforeTheNodeTakesAny(t *testing.T) {
	joining := func() nodeclaim.View {
		claim, pod := planned("a", time.Minute, "x"), pending("x")
		claim.Status.ProviderID = "aws:///us-east-1a/i-1"
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
		node.Spec.ProviderID = claim.Status.ProviderID
		node.Spec.Taints = []corev1.Taint{api.UnregisteredNoExecuteTaint()}
		return nodeclaim.View{Claim: &claim, HostName: "node-1", Nodes: []*corev1.Node{node}, Expected: []*corev1.Pod{&pod}}
	}
	leavingNode := func(v *nodeclaim.View) { v.Nodes[0].DeletionTimestamp = &metav1.Time{Time: noon} }
	for name, test := range map[string]struct {
		change func(*nodeclaim.View)
		want   bool
	}{
		"a node that joins": {func(*nodeclaim.View) {}, true},
		"a pod whose spread nominations hide": {
			func(v *nodeclaim.View) { spread(corev1.DoNotSchedule)(v.Expected[0]) }, false},
		"a pod that prefers a spread":     {func(v *nodeclaim.View) { spread(corev1.ScheduleAnyway)(v.Expected[0]) }, true},
		"a node whose pods will be bound": {func(v *nodeclaim.View) { v.Binds = true }, false},
		"a node without pods":             {func(v *nodeclaim.View) { v.Expected = nil }, false},
		"no node yet":                     {func(v *nodeclaim.View) { v.Nodes = nil }, false},
		"two nodes of one instance":       {func(v *nodeclaim.View) { v.Nodes = append(v.Nodes, v.Nodes[0]) }, false},
		"a node that is leaving":          {leavingNode, false},
		"a claim that is leaving":         {func(v *nodeclaim.View) { *v.Claim = ended(*v.Claim) }, false},
		"a claim without a pod list":      {func(v *nodeclaim.View) { v.Claim.Annotations = nil }, false},
		"an initialized node": {func(v *nodeclaim.View) {
			for _, kind := range []string{api.ConditionTypeRegistered, api.ConditionTypeInitialized} {
				v.Claim.Status.Conditions = append(v.Claim.Status.Conditions,
					metav1.Condition{Type: kind, Status: metav1.ConditionTrue})
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			view := joining()
			test.change(&view)
			steps := nodeclaim.Next(view, noon).Steps
			var kinds []string
			for _, step := range steps {
				kinds = append(kinds, strings.TrimPrefix(fmt.Sprintf("%T", step), "nodeclaim."))
			}
			nominated, patched := slices.Index(kinds, "Nominate"), slices.Index(kinds, "PatchNode")
			if nominated >= 0 != test.want || test.want && patched < nominated {
				t.Errorf("steps %v", kinds)
			}
		})
	}
}
