package release_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/registration"
	"github.com/whittle-dev/whittle/shared/release"
)

// noon is Monday, 2 March 2026, 12:00 UTC. The release of the tests begins then.
var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func at(minutes float64) time.Time { return noon.Add(time.Duration(minutes * float64(time.Minute))) }

func yes(kind string, since time.Time) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}
}

// node is one whose claim was made and launched at a time. It was ready two minutes later.
func node(name, zone string, made time.Time) release.Node {
	n := launched(name, zone, made)
	return ready(n, made.Add(2*time.Minute))
}

func launched(name, zone string, made time.Time) release.Node {
	claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, CreationTimestamp: metav1.NewTime(made), Annotations: map[string]string{},
		Labels: map[string]string{api.NodePoolLabelKey: "web", corev1.LabelTopologyZone: zone},
	}}
	claim.Status.Conditions = []metav1.Condition{yes(api.ConditionTypeLaunched, made)}
	return release.Node{Claim: claim}
}

func ready(n release.Node, since time.Time) release.Node {
	n.Claim.Status.Conditions = append(n.Claim.Status.Conditions, yes(api.ConditionTypeRegistered, since),
		yes(api.ConditionTypeInitialized, since))
	n.Node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + n.Claim.Name}}
	return condition(n, corev1.NodeReady, corev1.ConditionTrue, since)
}

func condition(
	n release.Node, kind corev1.NodeConditionType, status corev1.ConditionStatus, since time.Time,
) release.Node {
	conditions := slices.DeleteFunc(n.Node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == kind })
	n.Node.Status.Conditions = append(conditions,
		corev1.NodeCondition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(since)})
	return n
}

// old is a node of before the release. It has drifted for it.
func old(name, zone string) release.Node {
	n := node(name, zone, noon.Add(-24*time.Hour))
	n.Claim.Status.Conditions = append(n.Claim.Status.Conditions, yes(api.ConditionTypeDrifted, noon))
	return n
}

func olds(count int, zones ...string) (nodes []release.Node) {
	for i := range count {
		nodes = append(nodes, old(fmt.Sprintf("old-%d", i), zones[i%len(zones)]))
	}
	return nodes
}

// going is an old node that is replaced for its drift by the claims.
func going(n release.Node, since time.Time, by ...string) release.Node {
	n.Claim.Annotations[api.ReplacedByAnnotationKey] = strings.Join(by, ",")
	is := yes(api.ConditionTypeDisruptionReason, since)
	is.Reason = string(api.DisruptionReasonDrifted)
	n.Claim.Status.Conditions = append(n.Claim.Status.Conditions, is)
	return n
}

func replaces(n release.Node, claim string) release.Node {
	n.Claim.Annotations[api.ReplacesAnnotationKey] = claim
	return n
}

// pod is one of a controller. It became ready at a time.
func pod(n release.Node, owner string, change func(*corev1.Pod)) release.Node {
	controls := true
	made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: fmt.Sprintf("%s-%d", owner, len(n.Pods)),
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", UID: types.UID(owner), Controller: &controls}},
	}}
	since := n.Claim.CreationTimestamp
	made.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: since},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since},
	}
	if change != nil {
		change(made)
	}
	n.Pods = append(n.Pods, made)
	return n
}

func crashes(pod *corev1.Pod) {
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 2, State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}
}

func restarted(times int32, last time.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: times,
			LastTerminationState: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(last)}}}}
	}
}

func unready(since time.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions[1].Status = corev1.ConditionFalse
		pod.Status.Conditions[1].LastTransitionTime = metav1.NewTime(since)
	}
}

func input(nodes ...release.Node) release.Input {
	return release.Input{
		Pool: &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{}}},
		ID:   "b", Record: release.Record{Release: "b", Since: noon}, Nodes: nodes,
	}
}

// allowed are the zones of which one node may go after the other, until none may.
func allowed(s *release.State, zones ...string) string {
	gate := s.Gate()
	var taken []string
	for range 3 {
		for _, zone := range zones {
			if gate.Allows(zone) {
				gate.Take(zone)
				taken = append(taken, zone)
			}
		}
	}
	return strings.Join(taken, "")
}

func TestStages(t *testing.T) {
	// first is the first new node, made two minutes after noon, so that it bakes until 12:14.
	first := func() release.Node { return replaces(node("new-0", "a", at(2)), "old-x") }
	many := func(nodes []release.Node, more ...release.Node) []release.Node { return append(nodes, more...) }
	for _, test := range []struct {
		name  string
		nodes []release.Node
		at    float64
		stage release.Stage
		goes  string // of the zones a and b, in turn three times
		says  string
	}{
		{"no old nodes", []release.Node{first()}, 3, release.Done, "ababab", "every node has its release"},
		{"no nodes", nil, 3, release.Done, "ababab", ""},
		{"nothing has begun", olds(4, "a", "b"), 1, release.First, "a", "waits for the first node"},
		{"the first node is chosen", many(olds(3, "a", "b"), going(old("old-x", "a"), at(1), "new-0")), 2,
			release.First, "", "waits for the first node"},
		{"the first node boots", many(olds(3, "a", "b"), going(old("old-x", "a"), at(1), "new-0"),
			replaces(launched("new-0", "a", at(2)), "old-x")), 3, release.First, "", "waits for the first node"},
		{"the first node bakes", many(olds(3, "a", "b"), first()), 13, release.First, "",
			"bakes until Mon 2 Mar 12:14 UTC on the first node"},
		{"the first node has baked, two zones", many(olds(3, "a", "b"), first()), 14, release.Zones, "b",
			"waits for the first nodes of further zones"},
		{"the first node has baked, one zone", many(olds(3, "a"), first()), 14, release.Waves, "ababab",
			"goes on within the budgets"},
		{"the second zone bakes", many(olds(3, "a", "b"), first(), replaces(node("new-1", "b", at(15)), "old-y")), 20,
			release.Zones, "", "bakes until Mon 2 Mar 12:27 UTC on the first nodes of further zones"},
		{"both zones have baked", many(olds(3, "a", "b"), first(), replaces(node("new-1", "b", at(15)), "old-y")), 27,
			release.Waves, "ababab", ""},
		{"the node of the second zone came to the first", many(olds(3, "a", "b"), first(),
			replaces(node("new-1", "a", at(15)), "old-y")), 27, release.Waves, "ababab", ""},
		{"a node for pods that waited is a first one, too", many(olds(3, "a", "b"), node("more", "b", at(2))), 13,
			release.First, "", "bakes until"},
		{"for a while", many(olds(3, "a", "b"), node("more", "b", at(25))), 26, release.First, "a", ""},
		{"its zone is tried", many(olds(3, "a", "b"), node("more", "b", at(2))), 14, release.Zones, "a", ""},
		{"a node of the same hash from before the release", many(olds(3, "a"), node("arm", "a", at(-600))), 30,
			release.First, "a", ""},
		{"a drain that something protects", many(olds(3, "a"), deleted(going(old("old-x", "a"), at(1)))), 10,
			release.First, "", ""},
		{"and goes on doing so", many(olds(3, "a"), deleted(going(old("old-x", "a"), at(1)))), 21,
			release.First, "a", ""},
		{"a new node that leaves", many(olds(3, "a"), deleted(first())), 13, release.First, "a", ""},
		{"not before its pods are ready", many(olds(3, "a"), pod(pod(first(), "x", nil), "y", unready(at(12)))), 14,
			release.First, "", "waits until the pods of the first node are ready"},
	} {
		s := release.Judge(input(test.nodes...), at(test.at))
		goes := allowed(s, "a", "b")
		if s.Stage != test.stage || goes != test.goes || !strings.Contains(s.String(), test.says) {
			t.Errorf("%s: stage %s, %q go, %s", test.name, s.Stage, goes, s)
		}
	}
}

// TestAStaticPoolWaitsForEachNewNode has a node that was ended before its replacement, which names none.
func TestAStaticPoolWaitsForEachNewNode(t *testing.T) {
	for fixed, goes := range map[bool]string{true: "", false: "a"} {
		in := input(append(olds(3, "a"), node("new-0", "a", at(40)))...)
		if fixed {
			replicas := int64(4)
			in.Pool.Spec.Replicas = &replicas
		}
		if s := release.Judge(in, at(45)); s.Stage != release.First || allowed(s, "a") != goes {
			t.Errorf("fixed %t: stage %s, %q go", fixed, s.Stage, allowed(s, "a"))
		}
		if s := release.Judge(in, at(52)); s.Stage != release.Waves {
			t.Errorf("fixed %t, baked: stage %s", fixed, s.Stage)
		}
	}
}

func deleted(n release.Node) release.Node {
	n.Claim.DeletionTimestamp = &metav1.Time{Time: noon}
	return n
}

func TestWorseNodesHaltTheRelease(t *testing.T) {
	newNode := func(change func(release.Node) release.Node) []release.Node {
		before := olds(4, "a")
		for i := range before {
			before[i] = pod(pod(before[i], "web", nil), "agent", nil)
		}
		return append(before, change(replaces(node("new-0", "a", at(2)), "old-x")))
	}
	joining := func(n release.Node) release.Node { return replaces(launched(n.Claim.Name, "a", at(2)), "old-x") }
	for _, test := range []struct {
		name  string
		nodes []release.Node
		at    float64
		why   string // empty: it goes on
	}{
		{"the image boots", newNode(joining), 11, ""},
		{"the image never joins", newNode(joining), 12, "node new-0 of zone a: it has not joined the cluster within 10m0s"},
		{"it joins and is not ready", newNode(func(n release.Node) release.Node {
			n = joining(n)
			n.Claim.Status.Conditions = append(n.Claim.Status.Conditions, yes(api.ConditionTypeRegistered, at(4)))
			return n
		}), 12, "it was not ready for pods within 10m0s"},
		{"it joins late", newNode(func(n release.Node) release.Node { return ready(joining(n), at(13)) }), 14,
			"it was ready for pods only after 11m0s"},
		{"ready, and well", newNode(func(n release.Node) release.Node { return pod(n, "web", nil) }), 20, ""},
		{"ready, but breaks its pods", newNode(func(n release.Node) release.Node { return pod(n, "web", crashes) }), 6,
			"node node-new-0 of zone a: its pod shop/web-0 is in CrashLoopBackOff, and others of its controller on the nodes " +
				"before do not"},
		{"pods that restart", newNode(func(n release.Node) release.Node {
			return pod(n, "web", restarted(3, at(9)))
		}), 10, "its pod shop/web-0 restarted 3 times"},
		{"pods that restarted once", newNode(func(n release.Node) release.Node {
			return pod(n, "web", restarted(1, at(9)))
		}), 10, ""},
		{"pods that are not ready yet", newNode(func(n release.Node) release.Node {
			return pod(n, "agent", unready(at(4)))
		}), 13, ""},
		{"pods that never are ready", newNode(func(n release.Node) release.Node {
			return pod(n, "agent", unready(at(4)))
		}), 14, "its pod shop/agent-0 is not ready"},
		{"a single replica that breaks", newNode(func(n release.Node) release.Node {
			return pod(n, "single", crashes)
		}), 6, "its pod shop/single-0 is in CrashLoopBackOff"},
		{"one of many single replicas", newNode(func(n release.Node) release.Node {
			return pod(pod(pod(n, "single", crashes), "other", nil), "third", nil)
		}), 6, ""},
		{"a workload that breaks everywhere", append(newNode(func(n release.Node) release.Node {
			return pod(n, "broken", crashes)
		}), pod(old("old-y", "a"), "broken", crashes)), 6, ""},
		{"breaks after 20 minutes", newNode(func(n release.Node) release.Node {
			return condition(n, corev1.NodeReady, corev1.ConditionUnknown, at(22))
		}), 23, "its condition Ready is Unknown"},
		{"not ready for a moment", newNode(func(n release.Node) release.Node {
			return condition(n, corev1.NodeReady, corev1.ConditionFalse, at(22))
		}), 22.5, ""},
		{"the disk is full", newNode(func(n release.Node) release.Node {
			return condition(n, corev1.NodeDiskPressure, corev1.ConditionTrue, at(5))
		}), 6, "its condition DiskPressure is True"},
	} {
		s := release.Judge(input(test.nodes...), at(test.at))
		if halted := s.Stage == release.Halted; halted != (test.why != "") || !strings.Contains(s.Record.Why, test.why) {
			t.Errorf("%s: stage %s, %s", test.name, s.Stage, s)
		}
		if test.why == "" {
			continue
		}
		if goes := allowed(s, "a"); goes != "" || !s.Holds() || !s.Record.Halted.Equal(at(test.at).Truncate(time.Second)) {
			t.Errorf("%s: %q go, halted at %s", test.name, goes, s.Record.Halted)
		}
		// The halt stays when the node has gone, and as it was at first.
		again := input(olds(4, "a")...)
		again.Record = release.ReadRecord(s.Record.Text())
		if later := release.Judge(again, at(600)); later.Stage != release.Halted || later.Record != s.Record ||
			!strings.Contains(later.String(), "its release halted at Mon 2 Mar 12:") {
			t.Errorf("%s: later %s", test.name, later)
		}
	}
}

func TestTheNodesBeforeAreTheMeasure(t *testing.T) {
	sick := func(n release.Node) release.Node {
		return condition(n, corev1.NodeReady, corev1.ConditionFalse, at(20))
	}
	var wave []release.Node
	for i := range 20 {
		wave = append(wave, replaces(node(fmt.Sprintf("new-%d", i), "a", at(2)), "x"))
	}
	broken := func(count int) []release.Node {
		nodes := olds(4, "a")
		for i := range wave {
			n := wave[i]
			n.Node = n.Node.DeepCopy()
			if i < count {
				n = sick(n)
			}
			nodes = append(nodes, n)
		}
		return nodes
	}
	outage := append(olds(2, "a"), wave[0])
	outage[0], outage[1], outage[2].Node = sick(outage[0]), sick(outage[1]), outage[2].Node.DeepCopy()
	outage[2] = sick(outage[2])
	slow := olds(3, "a")
	for i := range slow {
		claim := slow[i].Claim
		claim.Status.Conditions[0] = yes(api.ConditionTypeLaunched, claim.CreationTimestamp.Add(-14*time.Minute))
	}
	for _, test := range []struct {
		name   string
		nodes  []release.Node
		at     float64
		halted bool
	}{
		{"two of twenty machines fail", broken(2), 30, false},
		{"three of twenty", broken(3), 30, true},
		{"old nodes fail, too", outage, 30, false},
		{"a pool whose nodes boot for 16 minutes", append(slow,
			replaces(launched("new", "a", at(2)), "x")), 13, false},
		{"and whose new node does not join", append(slow, replaces(launched("new", "a", at(2)), "x")), 14, true},
	} {
		if s := release.Judge(input(test.nodes...), at(test.at)); (s.Stage == release.Halted) != test.halted {
			t.Errorf("%s: %s", test.name, s)
		}
	}
}

func TestANodeThatIsGoneCountsByThePoolsCondition(t *testing.T) {
	for _, test := range []struct {
		name   string
		of     registration.Outcome
		halted bool
	}{
		{"of this release", registration.Outcome{Claim: "gone", Result: registration.Failed, At: at(17)}, true},
		{"launched before it", registration.Outcome{Claim: "gone", Result: registration.Failed, At: at(14)}, false},
		{"EC2 launched none", registration.Outcome{Claim: "gone", Result: registration.Unlaunched, At: at(17)}, false},
		{"joined", registration.Outcome{Claim: "gone", Result: registration.Registered, At: at(17)}, false},
	} {
		in := input(olds(3, "a")...)
		launches := registration.Launches{Since: noon.Add(-time.Hour)}
		launches.Add(test.of)
		in.Pool.Status.Conditions = []metav1.Condition{{
			Type: api.ConditionTypeNodeRegistrationHealthy, Message: launches.String()}}
		s := release.Judge(in, at(30))
		if (s.Stage == release.Halted) != test.halted {
			t.Errorf("%s: %s", test.name, s)
		}
	}
}

func TestAnotherReleaseBeginsAgain(t *testing.T) {
	baking := append(olds(3, "a"), replaces(node("new-0", "a", at(2)), "old-x"))
	in := input(baking...)
	in.ID = "c" // changes while the first node of b bakes, which lifecycle has not marked yet
	s := release.Judge(in, at(13))
	if s.Stage != release.First || s.Record != (release.Record{Release: "c", Since: at(13)}) || allowed(s, "a") != "a" {
		t.Fatalf("%s, %+v, %q go", s, s.Record, allowed(s, "a"))
	}
	// The node of b has drifted from c, and is an old one. It does not count as baked.
	baking[3].Claim.Status.Conditions = append(baking[3].Claim.Status.Conditions, yes(api.ConditionTypeDrifted, at(14)))
	in.Record = s.Record
	if s = release.Judge(in, at(30)); s.Stage != release.First || s.Old != 4 || s.New != 0 {
		t.Errorf("%s, %d old, %d new", s, s.Old, s.New)
	}
	// A halt ends with its release.
	in.Record = release.Record{Release: "b", Since: noon, Halted: at(5), Why: "bad"}
	if s = release.Judge(in, at(30)); s.Stage != release.First || !s.Record.Halted.IsZero() {
		t.Errorf("%s, %+v", s, s.Record)
	}
	// What is not known changes nothing.
	in.ID, in.Record = "", release.Record{Release: "b", Since: noon, Halted: at(5), Why: "bad"}
	if s = release.Judge(in, at(30)); s.Stage != release.Halted {
		t.Errorf("%s", s)
	}
	if in.Record = (release.Record{}); release.Judge(in, at(30)).Stage != release.Unknown {
		t.Error("an unknown release lets nodes go")
	}
	// The first pass of all begins with one node, whatever is there.
	in = input(baking[:3]...)
	in.Record = release.ReadRecord("{broken")
	if s = release.Judge(in, at(30)); s.Stage != release.First || s.Record.Since != at(30) {
		t.Errorf("%s, %+v", s, s.Record)
	}
}

func TestOrders(t *testing.T) {
	halted := release.Record{Release: "b", Since: noon, Halted: at(5), Why: "bad"}
	for _, test := range []struct {
		name, value string
		record      release.Record
		stage       release.Stage
		says        string
	}{
		{"none", "", halted, release.Halted, "halted at Mon 2 Mar 12:05 UTC: bad"},
		{"continue", "order: continue\nrelease: b\nwho: \"alice\"", halted, release.Waves,
			"its release is continued by alice"},
		{"continue an earlier one", "order: continue\nrelease: a", halted, release.Halted, ""},
		{"continue any", "# INC\n\norder: continue", halted, release.Waves, "continued by somebody"},
		{"abort", "order: abort\nrelease: b\nwho: bob", input().Record, release.Aborted, "its release is aborted by bob"},
		{"abort an earlier one", "order: abort\nrelease: a", input().Record, release.First, ""},
		{"broken", "order: stop", input().Record, release.Aborted,
			`an order about its release cannot be read: data.release.web: order: "stop" is no order: write continue or abort`},
		{"unknown field", "order: continue\nuntil: x", halted, release.Aborted,
			`data.release.web: until: "x" is of no known field`},
		{"no time", "order: continue\nsince: x", halted, release.Aborted, `since: "x" is not a time`},
		{"empty", " ", halted, release.Aborted, "data.release.web has no order"},
	} {
		in := input(olds(3, "a")...)
		data := map[string]string{"freeze": "who: x", "release.other": "order: abort"}
		if test.value != "" {
			data[release.KeyOf("web")] = test.value
		}
		in.Record, in.Orders = test.record, release.ReadOrders(data)
		if s := release.Judge(in, at(30)); s.Stage != test.stage || !strings.Contains(s.String(), test.says) {
			t.Errorf("%s: stage %s, %s", test.name, s.Stage, s)
		}
	}
	written := release.Order{Pool: "web", Verb: release.Abort, Release: "b", Who: `al "x"`, Since: noon}
	read := release.ReadOrders(map[string]string{release.KeyOf("web"): written.Text()})
	if read["web"] != written {
		t.Errorf("%+v", read["web"])
	}
}

func TestSettings(t *testing.T) {
	pool, class := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, &api.EC2NodeClass{}
	class.Name = "base"
	for _, test := range []struct {
		pool, class, problem string
		want                 release.Setting
	}{
		{"", "", "", release.Setting{Bake: 10 * time.Minute}},
		{"off", "", "", release.Setting{Off: true, Bake: 10 * time.Minute}},
		{"", "30m", "", release.Setting{Bake: 30 * time.Minute}},
		{"5m", "off", "", release.Setting{Bake: 5 * time.Minute}},
		{"of", "", `nodepool "web": annotation whittle.dev/release is "of": write off, or a duration`,
			release.Setting{Bake: 10 * time.Minute}},
		{"", "0s", `ec2nodeclass "base": annotation whittle.dev/release is "0s"`, release.Setting{Bake: 10 * time.Minute}},
		{"1000h", "", `up to 168h`, release.Setting{Bake: 10 * time.Minute}},
	} {
		pool.Annotations, class.Annotations = map[string]string{}, map[string]string{}
		if test.pool != "" {
			pool.Annotations[api.ReleaseAnnotationKey] = test.pool
		}
		if test.class != "" {
			class.Annotations[api.ReleaseAnnotationKey] = test.class
		}
		got := release.SettingOf(pool, class)
		if !strings.Contains(got.Problem, test.problem) || (got.Problem == "") != (test.problem == "") {
			t.Errorf("%q, %q: %s", test.pool, test.class, got.Problem)
		}
		if got.Problem = ""; got != test.want {
			t.Errorf("%q, %q: %+v", test.pool, test.class, got)
		}
	}
	in := input(olds(3, "a")...)
	in.Pool.Annotations[api.ReleaseAnnotationKey] = "off"
	in.Record.Halted = at(1)
	if s := release.Judge(in, at(3)); s.Stage != release.Off || allowed(s, "a") != "aaa" || s.Holds() {
		t.Errorf("%s", s)
	}
	var none *release.State
	if allowed(none, "a") != "aaa" || none.Holds() || none.Stops() {
		t.Error("no verdict holds nodes")
	}
}

func TestIDs(t *testing.T) {
	class := func(images ...string) *api.EC2NodeClass {
		made := &api.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "base"}}
		for _, image := range images {
			made.Status.AMIs = append(made.Status.AMIs, api.AMI{ID: image})
		}
		return made
	}
	pool := func(value string) *api.NodePool {
		made := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
		made.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
			{Key: "kind", Operator: corev1.NodeSelectorOpIn, Values: []string{value}}}
		return made
	}
	base := release.ID(pool("x"), class("ami-1", "ami-2"), "1", "2")
	if base == "" || release.ID(pool("x"), class("ami-2", "ami-1", "ami-1"), "1", "2") != base {
		t.Error("the order of images makes a release")
	}
	for name, other := range map[string]string{
		"images":       release.ID(pool("x"), class("ami-1"), "1", "2"),
		"pool":         release.ID(pool("x"), class("ami-1", "ami-2"), "0", "2"),
		"class":        release.ID(pool("x"), class("ami-1", "ami-2"), "1", "0"),
		"requirements": release.ID(pool("y"), class("ami-1", "ami-2"), "1", "2"),
	} {
		if other == base || other == "" {
			t.Errorf("%s make no release: %q", name, other)
		}
	}
	if release.ID(pool("x"), nil, "1", "") != "" || release.ID(pool("x"), class(), "1", "2") != "" {
		t.Error("a class without images has a release")
	}
}

func TestARecordIsBounded(t *testing.T) {
	nodes := append(olds(3, "a"), pod(replaces(node("new", "a", at(2)), "x"), strings.Repeat("long", 200), crashes))
	s := release.Judge(input(nodes...), at(6))
	if s.Stage != release.Halted || len(s.Record.Text()) > 600 {
		t.Errorf("%d bytes", len(s.Record.Text()))
	}
}
