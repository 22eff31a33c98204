package nodeclaim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/binding"
)

// joiningToBind is a node that has just joined for one pod of a ReplicaSet.
func joiningToBind() nodeclaim.View {
	claim, pod := planned("a", time.Minute, "x"), pending("x")
	claim.Status.ProviderID = "aws:///us-east-1a/i-1"
	controller := true
	pod.ResourceVersion = "3"
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", Controller: &controller}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	node.Spec.ProviderID = claim.Status.ProviderID
	node.Spec.Taints = []corev1.Taint{api.UnregisteredNoExecuteTaint()}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")}
	return nodeclaim.View{
		Claim: &claim, HostName: "node-1", Nodes: []*corev1.Node{node}, Expected: []*corev1.Pod{&pod}, Binds: true,
	}
}

// reserved changes the view to one whose node was reserved so long ago, and was read.
func reserved(ago time.Duration) func(*nodeclaim.View) {
	return func(v *nodeclaim.View) {
		v.Nodes[0].Spec.Taints = []corev1.Taint{api.Reservation{Since: noon.Add(-ago)}.Taint()}
		v.Place = &binding.Place{Node: v.Nodes[0]}
	}
}

// taintsOf are the effects of the unregistered taint that the patch leaves.
func taintsOf(patch map[string]any) string {
	spec, _ := patch["spec"].(map[string]any)
	taints, _ := spec["taints"].([]corev1.Taint)
	var effects []string
	for _, taint := range taints {
		if taint.Key == api.UnregisteredTaintKey {
			effects = append(effects, string(taint.Effect))
		}
	}
	return strings.Join(effects, " ")
}

// TestANodeIsReservedUntilItsPodsAreBound walks a node through its states: it joins, is reserved, gets its pods
// and is registered.
func TestANodeIsReservedUntilItsPodsAreBound(t *testing.T) {
	const reserve, register = "PatchNode NoSchedule", "PatchNode registered"
	uninitialized := func(v *nodeclaim.View) {
		v.Nodes[0].Spec.Taints = append(v.Nodes[0].Spec.Taints,
			corev1.Taint{Key: api.ExternalCloudProviderTaintKey, Value: "true", Effect: corev1.TaintEffectNoSchedule})
	}
	after := func(changes ...func(*nodeclaim.View)) []func(*nodeclaim.View) { return changes }
	unread := func(v *nodeclaim.View) { v.Place = nil }
	gone := func(v *nodeclaim.View) { v.Expected = nil }
	off := func(v *nodeclaim.View) { v.Binds = false }
	foreign := func(v *nodeclaim.View) {
		v.Nodes[0].Spec.Taints = []corev1.Taint{{Key: api.UnregisteredTaintKey, Effect: corev1.TaintEffectNoSchedule}}
		v.Place = &binding.Place{Node: v.Nodes[0]}
	}
	const bind, nominate = "Bind x, " + register, "Nominate x, " + register
	for name, test := range map[string]struct {
		changes []func(*nodeclaim.View)
		want    string
	}{
		"a node that joins":                              {nil, reserve},
		"a kubelet that may not have seen the taint go":  {after(reserved(499 * time.Millisecond)), ""},
		"a kubelet that has seen it":                     {after(reserved(500 * time.Millisecond)), bind},
		"a clock that is late":                           {after(reserved(-time.Second)), bind},
		"a pass that died between two bindings":          {after(reserved(time.Hour)), bind},
		"a node without addresses":                       {after(reserved(time.Second), uninitialized), ""},
		"a node that gets none":                          {after(reserved(time.Minute), uninitialized), nominate},
		"a node that was not read":                       {after(reserved(time.Second), unread), nominate},
		"pods that have gone, before":                    {after(gone), register},
		"pods that have gone, after":                     {after(reserved(0), gone), register},
		"the scheduler binds":                            {after(off), nominate},
		"the scheduler binds since the node is reserved": {after(reserved(0), off), nominate},
		"somebody else's taint":                          {after(foreign), bind},
	} {
		t.Run(name, func(t *testing.T) {
			view := joiningToBind()
			for _, f := range test.changes {
				f(&view)
			}
			outcome := nodeclaim.Next(view, noon)
			var did []string
			for _, step := range outcome.Steps {
				switch step := step.(type) {
				case nodeclaim.Bind:
					did = append(did, "Bind "+step.Pods[0].Name)
				case nodeclaim.Nominate:
					did = append(did, "Nominate "+step.Pods[0].Name)
				case nodeclaim.PatchNode:
					labels, _ := step.Patch["metadata"].(map[string]any)["labels"].(map[string]any)
					what := taintsOf(step.Patch)
					if labels[api.NodeRegisteredLabelKey] == "true" {
						what = strings.TrimSpace(what + " registered")
					}
					did = append(did, "PatchNode "+what)
				}
			}
			if got := strings.Join(did, ", "); got != test.want {
				t.Errorf("did %q, want %q", got, test.want)
			}
			waits := !slices.Contains(did, register)
			if waits != (outcome.Again == time.Second) {
				t.Errorf("looks again after %s", outcome.Again)
			}
		})
	}
}

// TestANodeThatChangesWhileItJoinsIsReadAgain has a kubelet write its node, and others do more, between a pass's
// reading of the node and its patch.
func TestANodeThatChangesWhileItJoinsIsReadAgain(t *testing.T) {
	none := func(*corev1.Node) {}
	ready := func(n *corev1.Node) {
		n.ResourceVersion = "8"
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	}
	counted := func(attempts int) func(*corev1.Node) {
		return func(n *corev1.Node) {
			reservation, _ := api.ReservationOf(n.Spec.Taints)
			reservation.Attempts = attempts
			n.Spec.Taints = []corev1.Taint{reservation.Taint()}
		}
	}
	free := func(n *corev1.Node) { n.Spec.Taints = nil }
	leaves := func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{} }
	for name, test := range map[string]struct {
		reserved bool // before the pass
		bound    bool
		change   func(*corev1.Node)
		want     bool
	}{
		"a kubelet writes the node that joins":           {false, false, ready, true},
		"another pass reserves it":                       {false, false, counted(0), false},
		"a kubelet writes the reserved node":             {true, false, ready, true},
		"another pass begins to bind":                    {true, false, counted(1), false},
		"another pass registers it":                      {true, false, free, false},
		"a kubelet writes the node after the bindings":   {true, true, counted(1), true},
		"another pass begins to bind after the bindings": {true, true, counted(2), false},
		"another pass registers it after the bindings":   {true, true, free, false},
		"the taint says nothing of the bindings":         {true, true, none, false},
		"another node of the name":                       {true, false, func(n *corev1.Node) { n.UID = "other" }, false},
		"a node that leaves":                             {true, false, leaves, false},
	} {
		t.Run(name, func(t *testing.T) {
			view := joiningToBind()
			if test.reserved {
				reserved(time.Second)(&view)
			}
			node := view.Nodes[0].DeepCopy()
			test.change(node)
			fresh, is := view.Again(node, test.bound)
			if is != test.want {
				t.Fatalf("it is worked on again: %t", is)
			}
			if !is {
				return
			}
			if fresh.Nodes[0] != node || fresh.Place != nil && fresh.Place.Node != node {
				t.Error("the view has the node as it was")
			}
			for _, step := range nodeclaim.Next(fresh, noon).Steps {
				if _, binds := step.(nodeclaim.Bind); binds && test.bound {
					t.Error("pods are bound twice")
				}
			}
		})
	}
}

// TestPodsThatAreNotUnderstoodAreNominated binds one pod and leaves the other to the scheduler, with a word in the log.
func TestPodsThatAreNotUnderstoodAreNominated(t *testing.T) {
	view := joiningToBind()
	other := *view.Expected[0]
	other.Name, other.UID = "y", "y"
	other.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{}
	view.Expected = append(view.Expected, &other)
	reserved(time.Second)(&view)
	text := fmt.Sprint(nodeclaim.Next(view, noon).Steps)
	var bound, nominated []*corev1.Pod
	for _, step := range nodeclaim.Next(view, noon).Steps {
		switch step := step.(type) {
		case nodeclaim.Bind:
			bound = step.Pods
		case nodeclaim.Nominate:
			nominated = step.Pods
		}
	}
	if len(bound) != 1 || bound[0].Name != "x" || len(nominated) != 1 || nominated[0].Name != "y" ||
		!strings.Contains(text, "its scheduler places its group as a whole") {
		t.Errorf("bound %v, nominated %v, steps %s", bound, nominated, text)
	}
}
