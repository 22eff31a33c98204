package misfit_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/misfit"
	"github.com/whittle-dev/whittle/shared/plan"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func cpu(amount string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
}

// claim is a NodeClaim of a pool with an instance.
func claim(name, pool, instance string) api.NodeClaim {
	made := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{api.NodePoolLabelKey: pool}}}
	made.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
	made.Status.ProviderID = api.ProviderID("us-east-1a", instance)
	return made
}

// requesting is a pod that requests so much cpu, of a DaemonSet if it is named agent.
func requesting(name, amount string) corev1.Pod {
	made := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	made.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: cpu(amount)}}}
	if name == "agent" {
		made.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: name, Controller: new(true)}}
	}
	return made
}

// listening is a pod like requesting with the host port 9100.
func listening(name, amount string) corev1.Pod {
	made := requesting(name, amount)
	made.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 9100}}
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
		{name: "a daemon set took the host port", because: "host port", pods: []corev1.Pod{listening("agent", "0.5")},
			change: func(p *corev1.Pod, _ *plan.Node) {
				p.Spec.Containers[0].Ports = listening("web", "3").Spec.Containers[0].Ports
			}},
		{name: "another pod took the host port", pods: []corev1.Pod{listening("a", "0.5")},
			change: func(p *corev1.Pod, _ *plan.Node) {
				p.Spec.Containers[0].Ports = listening("web", "3").Spec.Containers[0].Ports
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
			misfits, changed := misfit.Note(s, nil, now)
			if changed != (test.because != "") || len(misfits) > 1 {
				t.Fatalf("misfits %+v, changed %v", misfits, changed)
			}
			held := misfit.Hold(s, misfits, now)
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

// A node that may attach fewer volumes than the pod mounts never runs it, whatever the type's limit
// says: another agent may take the interfaces.
func TestPodsWithMoreVolumesThanTheNodeAttaches(t *testing.T) {
	pod, node := requesting("web", "3"), launchedFor("a")
	s := &plan.Snapshot{Nodes: []plan.Node{node}}
	for _, name := range []string{"data", "logs"} {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
		claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		claim.Spec.VolumeName = name
		volume := corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
		volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: "vol-" + name}
		s.PersistentVolumeClaims = append(s.PersistentVolumeClaims, claim)
		s.PersistentVolumes = append(s.PersistentVolumes, volume)
	}
	s.Pods = []corev1.Pod{pod}
	for limit, want := range map[int32]string{1: "attach 2 volumes of ebs.csi.aws.com, and the node attaches 1", 2: ""} {
		s.CSINodes = []storagev1.CSINode{{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: storagev1.CSINodeSpec{
			Drivers: []storagev1.CSINodeDriver{{
				Name: "ebs.csi.aws.com", Allocatable: &storagev1.VolumeNodeResources{Count: &limit},
			}},
		}}}
		misfits, _ := misfit.Note(s, nil, now)
		if because := misfits["web"].Because; (because != "") != (want != "") || !strings.Contains(because, want) {
			t.Errorf("limit %d: misfit because %q, want %q", limit, because, want)
		}
	}
}

func TestEachMisfitWaitsLonger(t *testing.T) {
	at, known := now, map[string]misfit.Misfit{}
	var nodes []plan.Node
	var waits []time.Duration
	for i := range 9 {
		nodes = append(nodes, launchedFor(string(rune('a'+i)), requesting("agent", "2")))
		if i > 3 {
			nodes = nodes[1:] // empty nodes are removed meanwhile
		}
		s := &plan.Snapshot{Pods: []corev1.Pod{requesting("web", "3")}, Nodes: nodes}
		next, changed := misfit.Note(s, known, at)
		if again, changedAgain := misfit.Note(s, next, at); !changed || changedAgain || !maps.EqualFunc(next, again,
			func(a, b misfit.Misfit) bool { return a.Until.Equal(b.Until) && slices.Equal(a.Claims, b.Claims) }) {
			t.Fatalf("the same node counts twice: %+v, then %+v", next, again)
		}
		waits = append(waits, next["web"].Until.Sub(at))
		if held := misfit.Hold(s, next, next["web"].Until); len(held) != 0 {
			t.Errorf("held after its time: %+v", held)
		}
		at, known = next["web"].Until, next
	}
	want := []time.Duration{1, 8, 60, 60, 60, 60, 60, 60, 60}
	for i := range want {
		if waits[i] != want[i]*time.Minute {
			t.Fatalf("waits %v, want %v minutes", waits, want)
		}
	}
	if left, changed := misfit.Note(&plan.Snapshot{}, known, at); len(left) != 0 || !changed {
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
	if misfits, changed := misfit.Note(s, nil, now); len(misfits) != 0 || changed {
		t.Errorf("misfits %+v", misfits)
	}
}

// conditioned gives the node's claim a condition that changed some time ago.
func conditioned(node plan.Node, kind string, status metav1.ConditionStatus, ago time.Duration) plan.Node {
	node.NodeClaim.Status.Conditions = append(node.NodeClaim.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, LastTransitionTime: metav1.NewTime(now.Add(-ago)),
	})
	return node
}

// TestNodesThatDoNotServeTheirPods has reasons that no plan can know.
func TestNodesThatDoNotServeTheirPods(t *testing.T) {
	ready := func(ago time.Duration, pods ...corev1.Pod) plan.Node {
		return conditioned(launchedFor("a", pods...), api.ConditionTypeInitialized, metav1.ConditionTrue, ago)
	}
	givenUp := func(after time.Duration, name string) plan.Node {
		node := conditioned(launchedFor("a"), api.ConditionTypeLaunched, metav1.ConditionTrue, after)
		node.Node, node.NodeClaim.Status.NodeName = nil, name
		node.NodeClaim.DeletionTimestamp = &metav1.Time{Time: now}
		return node
	}
	for name, test := range map[string]struct {
		node plan.Node
		want string
	}{
		"the scheduler does not bind the pod":            {ready(time.Minute), "does not bind it"},
		"the scheduler has just seen the node":           {ready(20 * time.Second), ""},
		"other pods have filled the node":                {ready(time.Minute, requesting("a", "2")), ""},
		"a pod that has ended takes nothing":             {ready(time.Minute, ended(requesting("a", "2"))), "does not bind it"},
		"lifecycle gives up a node that never joined":    {givenUp(15*time.Minute, ""), "has not joined"},
		"a node that is interrupted while it boots":      {givenUp(2*time.Minute, ""), ""},
		"a node that has joined, and ends a while later": {givenUp(time.Hour, "a"), ""},
	} {
		s := &plan.Snapshot{Pods: []corev1.Pod{requesting("web", "3")}, Nodes: []plan.Node{test.node}}
		misfits, _ := misfit.Note(s, nil, now)
		if because := misfits["web"].Because; (because == "") != (test.want == "") || !strings.Contains(because, test.want) {
			t.Errorf("%s: because %q, want %q", name, because, test.want)
		}
	}
}

func ended(pod corev1.Pod) corev1.Pod {
	pod.Status.Phase = corev1.PodSucceeded
	return pod
}

// TestAnotherOriginEndsTheWait changes the pool or the class from which the node was made.
func TestAnotherOriginEndsTheWait(t *testing.T) {
	node := launchedFor("a", requesting("agent", "2"))
	node.NodeClaim.Annotations[api.NodePoolHashAnnotationKey] = "p1"
	node.NodeClaim.Annotations[api.AnnotationEC2NodeClassHash] = "c1"
	s := &plan.Snapshot{
		Pods: []corev1.Pod{requesting("web", "3")}, Nodes: []plan.Node{node},
		NodePools: []api.NodePool{{}}, NodeClasses: []api.EC2NodeClass{{}},
	}
	s.NodePools[0].Name, s.NodeClasses[0].Name = "general", "default"
	known, _ := misfit.Note(s, nil, now)
	for _, test := range []struct {
		pool, class string
		forgotten   bool
	}{{"", "", false}, {"p1", "c1", false}, {"p2", "c1", true}, {"p1", "c2", true}} {
		s.NodePools[0].Annotations = map[string]string{api.NodePoolHashAnnotationKey: test.pool}
		s.NodeClasses[0].Annotations = map[string]string{api.AnnotationEC2NodeClassHash: test.class}
		if left, changed := misfit.Note(s, known, now); (len(left) == 0) != test.forgotten || changed != test.forgotten {
			t.Errorf("pool %q, class %q: misfits %+v", test.pool, test.class, left)
		}
	}
}

// TestAGangWithoutRoomWaits returns the claims for a part of a gang, again and again.
func TestAGangWithoutRoomWaits(t *testing.T) {
	var known map[string]misfit.Misfit
	var waiting []*corev1.Pod
	for _, name := range []string{"p1", "p2", "p3"} {
		pod := requesting(name, "1")
		waiting = append(waiting, &pod)
	}
	for i, want := range []time.Duration{10 * time.Minute, 20 * time.Minute, 40 * time.Minute, time.Hour, time.Hour} {
		one, other := claim(string(rune('a'+i)), "general", "i-1"), claim(string(rune('x'+i)), "general", "i-2")
		one.Annotations = map[string]string{api.NominatedPodsAnnotationKey: "p1,p2"}
		other.Annotations = map[string]string{api.NominatedPodsAnnotationKey: "p3"}
		virtual := map[string]string{api.NominatedPodsAnnotationKey: "of-a-request"}
		third := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "z", Annotations: virtual}}
		known = misfit.Returned(known, []*api.NodeClaim{&one, &other, &third}, waiting, now)
		if len(known) != 3 {
			t.Errorf("misfits %+v", known)
		}
		for _, uid := range []string{"p1", "p2", "p3"} {
			if got := known[uid]; got.Until.Sub(now) != want || !strings.Contains(got.Because, "the 3 nodes") {
				t.Errorf("round %d: pod %s waits %s: %s", i, uid, got.Until.Sub(now), got.Because)
			}
		}
	}
}

// TestTheRestOfAGangWaitsWithTheReturnedPart has a pod of the gang for which nothing was launched. Pods of
// others go on, also those of a gang with the same name in another namespace.
func TestTheRestOfAGangWaitsWithTheReturnedPart(t *testing.T) {
	member := func(name, namespace string) *corev1.Pod {
		pod := requesting(name, "1")
		pod.Namespace, pod.Labels = namespace, map[string]string{api.PodGroupLabelKey: "training"}
		return &pod
	}
	alone := requesting("alone", "1")
	waiting := []*corev1.Pod{member("launched", "one"), member("rest", "one"), member("stranger", "two"), &alone}
	returned := claim("a", "general", "i-1")
	returned.Annotations = map[string]string{
		api.NominatedPodsAnnotationKey: "launched", api.GangAnnotationKey: "one/training",
	}
	misfits := misfit.Returned(nil, []*api.NodeClaim{&returned}, waiting, now)
	for _, uid := range []string{"launched", "rest"} {
		if got := misfits[uid]; got.Until.Sub(now) != 10*time.Minute {
			t.Errorf("pod %s waits %s", uid, got.Until.Sub(now))
		}
	}
	if len(misfits) != 2 {
		t.Errorf("misfits %+v, want those of the gang alone", misfits)
	}
}

// TestNodesThatNeverJoinLetAPodWaitForMinutes has a pod whose nodes are given up, a quarter of an
// hour each.
func TestNodesThatNeverJoinLetAPodWaitForMinutes(t *testing.T) {
	var known map[string]misfit.Misfit
	for i, want := range []time.Duration{time.Minute, 8 * time.Minute, 8 * time.Minute} {
		node := launchedFor(fmt.Sprint("claim-", i))
		node.NodeClaim.Status.Conditions = []metav1.Condition{{
			Type: api.ConditionTypeLaunched, Status: metav1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(now.Add(-15 * time.Minute)),
		}}
		node.NodeClaim.DeletionTimestamp, node.Node = &metav1.Time{Time: now}, nil
		s := &plan.Snapshot{Pods: []corev1.Pod{requesting("web", "3")}, Nodes: []plan.Node{node}}
		known, _ = misfit.Note(s, known, now)
		if got := known["web"].Until.Sub(now); got != want {
			t.Errorf("after node %d the pod waits %s, want %s", i+1, got, want)
		}
	}
}
