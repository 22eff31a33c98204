package nodeclaim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// ordered is an initialized claim whose reboot was ordered some time ago, with a bound for its drain.
func ordered(since time.Duration, bound string, change ...func(*api.NodeClaim)) *api.NodeClaim {
	made := claim(age(time.Hour), initialized, tagged)
	with(api.ConditionTypeLaunched, metav1.ConditionTrue, time.Hour)(made)
	with(api.ConditionTypeRebooting, metav1.ConditionTrue, since)(made)
	condition := api.GetCondition(made.Status.Conditions, api.ConditionTypeRebooting)
	condition.Reason, condition.Message = api.ReasonRebootRequested, "rebooting for GPU/XID63"
	if bound != "" {
		made.Annotations[api.RebootTerminationGracePeriodAnnotationKey] = bound
	}
	for _, f := range change {
		f(made)
	}
	return made
}

// asked shows that EC2 was first asked some time ago.
func asked(since time.Duration) func(*api.NodeClaim) {
	return func(c *api.NodeClaim) {
		c.Annotations[api.RebootPreBootIDAnnotationKey] = "boot-1"
		c.Annotations[api.RebootsAnnotationKey] = now.Add(-since).Format(time.RFC3339)
	}
}

// issued shows that EC2 accepted the reboot some time ago.
func issued(since time.Duration) func(*api.NodeClaim) {
	return func(c *api.NodeClaim) {
		asked(since)(c)
		api.GetCondition(c.Status.Conditions, api.ConditionTypeRebooting).Reason = api.ReasonRebootIssued
		with(api.ConditionTypeInitialized, metav1.ConditionUnknown, since)(c)
		c.Status.Conditions[len(c.Status.Conditions)-1].Reason = api.ReasonRebooting
		at := ago(since)
		api.SetReady(&c.Status.Conditions, api.NodeClaimReadyDependents(), c.Generation, at.Time)
	}
}

func booted(id string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.NodeInfo.BootID = id }
}

func labelledInitialized(n *corev1.Node) { n.Labels[api.NodeInitializedLabelKey] = "true" }

func fenced(n *corev1.Node) {
	n.Spec.Taints = append(n.Spec.Taints, api.RebootingNoScheduleTaint())
}

// shifted is a view in a zone that traffic is shifted away from.
func shifted(v View) View {
	v.ShiftedUntil = now.Add(time.Hour)
	return v
}

func TestReboot(t *testing.T) {
	running := func(c *api.NodeClaim, change ...func(*corev1.Node)) View {
		all := append([]func(*corev1.Node){joined, booted("boot-1"), labelledInitialized}, change...)
		return listed(view(c, node(all...)), named(instance("running")))
	}
	const ask = "patch claim annotations\nreboot i-1\npatch status"
	for _, test := range []struct {
		name           string
		view           View
		want           string
		again          time.Duration
		rebooting      string // the condition, where it is written
		initialized    string
		events         string
		asksProvision  bool
		refusedActions string
	}{
		{name: "the taint comes first, and pods leave after it", view: pods(running(ordered(time.Second, "5m0s")), pod("a")),
			want: "patch node taints\nevict a", again: drainPause},
		{name: "an empty node waits for a pod that may be on its way", view: running(ordered(4*time.Second, "5m0s"), fenced),
			again: time.Second},
		{name: "a node that has just got its taint is read once more", view: running(ordered(time.Minute, "5m0s")),
			want: "patch node taints", again: drainPause},
		{name: "an empty node is rebooted, and the claim shows that before", view: running(ordered(minimumDrain, "5m0s"), fenced),
			want: ask, again: drainPause, rebooting: "True RebootIssued", initialized: "Unknown Rebooting",
			refusedActions: "patch claim annotations\ndelete claim"},
		{name: "a pod that a person protects is waited for", view: pods(running(ordered(time.Minute, "5m0s"), fenced),
			pod("a", protected)), again: drainPause},
		{name: "a pod that is left at the end of the drain stays on the node", view: pods(running(ordered(5*time.Minute, "5m0s"),
			fenced), pod("a", protected)), want: ask, again: drainPause, rebooting: "True RebootIssued"},
		{name: "without a bound the drain has no end", view: pods(running(ordered(time.Hour, ""), fenced), pod("a", protected)),
			again: drainPause},
		{name: "a bound of zero means no drain", view: pods(running(ordered(0, "0s")), pod("a")),
			want: "patch node taints\n" + ask, again: drainPause, rebooting: "True RebootIssued"},
		{name: "pods of daemon sets stay", view: pods(running(ordered(minimumDrain, "5m0s"), fenced),
			pod("a", ownedBy("DaemonSet"))), want: ask, again: drainPause, rebooting: "True RebootIssued"},
		{name: "an invalid request ends, and the node stays", view: running(ordered(time.Minute, "soon"), fenced),
			want: "patch node taints\npatch status", rebooting: "False RebootFailed", events: "NodeClaim RebootFailed"},

		{name: "EC2 is asked again", view: running(ordered(time.Hour, "5m0s", asked(4*time.Minute)), fenced),
			want: "reboot i-1\npatch status", again: drainPause, rebooting: "True RebootIssued"},
		{name: "EC2 is not asked for ever", view: running(ordered(time.Hour, "5m0s", asked(5*time.Minute)), fenced),
			want: "patch claim annotations\ndelete claim", again: drainPause, events: "NodeClaim RebootFailed",
			asksProvision: true},
		{name: "the time counts from this reboot, and not from one before",
			view: running(ordered(time.Minute, "5m0s", asked(time.Hour)), fenced),
			want: ask, again: drainPause, rebooting: "True RebootIssued"},
		{name: "a node that has rebooted already is not rebooted again",
			view: running(ordered(time.Hour, "5m0s", asked(time.Minute)), fenced, booted("boot-2")),
			want: "patch status", again: drainPause, rebooting: "True RebootIssued", initialized: "Unknown Rebooting"},
		{name: "nothing is rebooted in a zone that is shifted away",
			view: shifted(running(ordered(time.Hour, "5m0s", asked(time.Hour)), fenced)), again: rebootPause},
		{name: "a node that is there twice is not rebooted", view: func() View {
			v := running(ordered(4*time.Minute, "5m0s"), fenced)
			v.Nodes = append(v.Nodes, v.Nodes[0])
			return v
		}(), again: rebootPause},
		{name: "a node that is there twice is given up in the end", view: func() View {
			v := running(ordered(5*time.Minute, "5m0s"), fenced)
			v.Nodes = append(v.Nodes, v.Nodes[0])
			return v
		}(), want: "patch claim annotations\ndelete claim", again: drainPause, events: "NodeClaim RebootFailed"},

		{name: "a node that reboots is not initialized", view: running(ordered(time.Hour, "5m0s", issued(time.Minute)), fenced),
			want: "patch node labels", again: rebootPause},
		{name: "a node that comes up is waited for", view: running(ordered(time.Hour, "5m0s", issued(time.Minute)), fenced,
			booted("boot-2"), notReadyNode), want: "patch node labels", again: rebootPause},
		{name: "a node that is back is initialized again", view: running(ordered(time.Hour, "5m0s", issued(time.Minute)), fenced,
			booted("boot-2")), want: "patch node taints\npatch claim annotations\npatch status",
			rebooting: "False RebootSucceeded", initialized: "True Initialized",
			events: "NodeClaim RebootObserved,NodeClaim Initialized"},
		{name: "a node whose device is missing waits for it", view: running(ordered(time.Hour, "5m0s", issued(time.Minute),
			expects("2", "8Gi", "1")), fenced, booted("boot-2")),
			want:      "patch node labels,taints\npatch claim annotations\npatch status",
			rebooting: "False RebootSucceeded", initialized: "Unknown ResourceNotRegistered", again: joinPause,
			events: "NodeClaim RebootObserved"},
		{name: "a node that does not come back is given up", view: running(ordered(time.Hour, "5m0s", issued(20*time.Minute)),
			fenced, notReadyNode), want: "patch claim annotations\ndelete claim", again: drainPause,
			events: "NodeClaim RebootFailed", asksProvision: true},
		{name: "but not in a zone that is shifted away", view: shifted(running(ordered(time.Hour, "5m0s",
			issued(20*time.Minute)), fenced, notReadyNode)), want: "patch node labels", again: rebootPause},
		{name: "the time of a node that somebody else initialized begins anew",
			view: running(ordered(time.Hour, "5m0s", issued(time.Hour),
				with(api.ConditionTypeInitialized, metav1.ConditionTrue, time.Hour)), fenced),
			want: "patch node labels\npatch status", again: drainPause, initialized: "Unknown Rebooting"},
		{name: "a deleted claim is drained for its end", view: pods(running(ordered(time.Hour, "5m0s", issued(time.Minute),
			deleted(0)), fenced), pod("a")), want: "patch node labels,taints\npatch status\ndelete node\nevict a",
			again: drainPause, asksProvision: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Next(test.view, now)
			if actions(got.Steps) != test.want {
				t.Errorf("steps\n%s\nwant\n%s", actions(got.Steps), test.want)
			}
			if got.Again != test.again || got.WantsCapacity != test.asksProvision {
				t.Errorf("looks again after %s, want %s; wants capacity: %t", got.Again, test.again, got.WantsCapacity)
			}
			if written := condition(got.Steps, api.ConditionTypeRebooting); test.rebooting != "" && written != test.rebooting {
				t.Errorf("Rebooting is %q", written)
			}
			if written := condition(got.Steps, api.ConditionTypeInitialized); test.initialized != "" &&
				written != test.initialized {
				t.Errorf("Initialized is %q", written)
			}
			if events(got.Steps) != test.events {
				t.Errorf("events %q, want %q", events(got.Steps), test.events)
			}
			for _, step := range got.Steps {
				if reboot, is := step.(Reboot); is && test.refusedActions != "" &&
					(actions(reboot.Refused) != test.refusedActions || events(reboot.Refused) != "NodeClaim RebootFailed") {
					t.Errorf("after a refusal\n%s\nevents %s", actions(reboot.Refused), events(reboot.Refused))
				}
			}
		})
	}
}

// machine is a node with its claim, as passes change them.
type machine struct {
	claim   *api.NodeClaim
	node    *corev1.Node
	pods    []*corev1.Pod
	reboots int
	now     time.Time
}

func newMachine() *machine {
	return &machine{
		claim: ordered(0, "5m0s"), node: node(joined, booted("boot-1"), labelledInitialized),
		pods: []*corev1.Pod{pod("a")}, now: now,
	}
}

// pass works on the machine, and dies after the number of steps. It reports whether it died. A negative
// number lets it live.
func (m *machine) pass(t *testing.T, dies int) (died bool) {
	t.Helper()
	v := listed(View{Claim: m.claim.DeepCopy(), Cluster: "prod", Nodes: []*corev1.Node{m.node.DeepCopy()}},
		named(instance("running")))
	if v.WantsPods() {
		v.Pods = m.pods
	}
	for i, step := range Next(v, m.now).Steps {
		if i == dies {
			return true
		}
		m.do(t, step)
	}
	return false
}

func (m *machine) do(t *testing.T, step Step) {
	t.Helper()
	switch step := step.(type) {
	case PatchNode:
		merge(t, m.node, step.Patch)
	case PatchClaim:
		merge(t, m.claim, step.Patch)
	case PatchClaimStatus:
		merge(t, m.claim, step.Patch)
	case Evict:
		m.pods = slices.DeleteFunc(m.pods, func(p *corev1.Pod) bool { return p == step.Pod })
	case Reboot:
		m.reboots++
	case DeleteClaim, Terminate, DeleteNode:
		t.Errorf("step %T ends the node", step)
	}
}

// merge applies a merge patch to the object.
func merge[T any](t *testing.T, object *T, patch map[string]any) {
	t.Helper()
	merged := mergedMaps(decoded(t, object), decoded(t, patch))
	text, err := json.Marshal(merged)
	if err != nil {
		t.Fatal(err)
	}
	*object = *new(T)
	if err := json.Unmarshal(text, object); err != nil {
		t.Fatal(err)
	}
}

func decoded(t *testing.T, value any) map[string]any {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func mergedMaps(into, patch map[string]any) map[string]any {
	if into == nil {
		into = map[string]any{}
	}
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap:
			before, _ := into[key].(map[string]any)
			into[key] = mergedMaps(before, inner)
		default:
			into[key] = value
		}
	}
	return into
}

// TestARebootGoesOnAfterEveryDeath lets each pass of a reboot die after each of its steps, and run twice.
func TestARebootGoesOnAfterEveryDeath(t *testing.T) {
	const passes = 12
	for mortal := range passes {
		for dies := 0; ; dies++ {
			m, died := newMachine(), false
			for number := range passes {
				if number == mortal {
					died = m.pass(t, dies)
				}
				m.pass(t, -1)
				m.pass(t, -1)
				m.now = m.now.Add(3 * time.Second)
				// The machine is down for some seconds.
				if m.reboots > 0 && m.now.Sub(now) > 20*time.Second {
					m.node.Status.NodeInfo.BootID = "boot-2"
				}
			}
			if why := m.unfinished(); why != "" {
				t.Errorf("pass %d dies after %d steps: %s", mortal, dies, why)
			}
			if !died {
				break
			}
		}
	}
}

// unfinished is what a reboot has left undone, or "".
func (m *machine) unfinished() string {
	var left []string
	_, asked := m.claim.Annotations[api.RebootPreBootIDAnnotationKey]
	rebooting := api.GetCondition(m.claim.Status.Conditions, api.ConditionTypeRebooting)
	switch {
	case m.reboots == 0:
		left = append(left, "nothing was rebooted")
	case m.reboots > 2:
		left = append(left, fmt.Sprintf("rebooted %d times", m.reboots))
	case len(strings.Split(m.claim.Annotations[api.RebootsAnnotationKey], ",")) != 1:
		left = append(left, "the reboot was counted several times")
	}
	if asked || len(m.pods) > 0 || len(m.node.Spec.Taints) > 0 || m.node.Labels[api.NodeInitializedLabelKey] != "true" {
		left = append(left, fmt.Sprintf("asked %t, pods %d, taints %v, labels %v", asked, len(m.pods), m.node.Spec.Taints,
			m.node.Labels))
	}
	if rebooting.Reason != api.ReasonRebootSucceeded || !api.ConditionTrue(m.claim.Status.Conditions, api.ConditionReady) {
		left = append(left, fmt.Sprintf("conditions %+v", m.claim.Status.Conditions))
	}
	return strings.Join(left, "; ")
}
