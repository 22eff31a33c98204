package nodeclaim

import (
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/repair"
)

// view is the view of a tick.
func view(c *api.NodeClaim, nodes ...*corev1.Node) View {
	if api.ConditionTrue(c.Status.Conditions, api.ConditionTypeInitialized) {
		for _, node := range nodes {
			node.Labels[api.NodeInitializedLabelKey] = "true"
		}
	}
	return View{Claim: c, Cluster: "prod", Tick: true, Nodes: nodes, HostName: "node-1"}
}

// vanished is a claim of an hour whose node has been gone for a while.
func vanished(since time.Duration, change ...func(*api.NodeClaim)) *api.NodeClaim {
	made := claim(append([]func(*api.NodeClaim){age(time.Hour), initialized}, change...)...)
	with(api.ConditionTypeLaunched, metav1.ConditionTrue, time.Hour)(made)
	for _, kind := range []string{api.ConditionTypeRegistered, api.ConditionTypeInitialized, api.ConditionReady} {
		with(kind, metav1.ConditionUnknown, since)(made)
		api.GetCondition(made.Status.Conditions, kind).Reason = api.ReasonNodeNotFound
	}
	ready := api.GetCondition(made.Status.Conditions, api.ConditionReady)
	api.SetReady(&made.Status.Conditions, api.NodeClaimReadyDependents(), made.Generation, ready.LastTransitionTime.Time)
	initialized := api.GetCondition(made.Status.Conditions, api.ConditionTypeInitialized)
	initialized.Message = "Node node-1 has vanished"
	return made
}

func reported(v View) View {
	v.Report = true
	return v
}

func between(v View) View {
	v.Tick = false
	return v
}

func watched(v View) View {
	v.Watched = true
	return v
}

func unhealthy(v View, byEC2 bool) View {
	v.Unhealthy = &repair.UnhealthyCondition{Condition: "Ready", Status: "False", Since: now.Add(-time.Hour), ByEC2: byEC2}
	return v
}

func work(v View, departures ...disruption.Departure) View {
	v.StatusRead, v.Departures = true, departures
	return v
}

func endsBy(at time.Time) func(*api.NodeClaim) {
	return func(c *api.NodeClaim) {
		c.Annotations[api.NodeClaimTerminationTimestampAnnotationKey] = at.Format(time.RFC3339)
	}
}

// expects sets the capacity that the claim expects of its node. It requests a device.
func expects(cpu, memory, devices string) func(*api.NodeClaim) {
	return func(c *api.NodeClaim) {
		c.Spec.Resources.Requests = corev1.ResourceList{"example.com/device": resource.MustParse("1")}
		c.Status.Capacity = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
			"example.com/device": resource.MustParse(devices),
			"example.com/other":  resource.MustParse("1"), // asked for by nobody
		}
	}
}

func has(cpu, memory, devices string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Capacity = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
			"example.com/device": resource.MustParse(devices),
		}
	}
}

func ofClass(c *api.NodeClaim) { c.Spec.NodeClassRef = &api.NodeClassReference{Name: "default"} }

func inGroup(c *api.NodeClaim) { c.Labels[api.LabelPlacementGroupID] = "pg-1" }

func listed(v View, instances ...Instance) View {
	v.InstancesListed, v.Instances = true, instances
	return v
}

// unnamed is a view of whose instance EC2 has not told the host name.
func unnamed(v View) View {
	v.HostName = ""
	return v
}

// strange is a view with a node that has the claim's providerID and is not its own.
func strange(v View, other *corev1.Node) View {
	v.Others = append(v.Others, other)
	return v
}

// mislabelled is a view whose kubelet has changed the labels of its node.
func mislabelled(v View) View {
	v.Nodes[0].Labels[api.NodePoolLabelKey] = "richer"
	delete(v.Nodes[0].Labels, api.NodeInitializedLabelKey)
	return v
}

func gpu(c *api.NodeClaim) {
	c.Spec.Resources.Requests = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1"),
		corev1.ResourceCPU: resource.MustParse("1")}
}

// Provision's ticks look at pods alone. A person's claim has none.
func TestAClaimWithoutAnInstanceWakesProvision(t *testing.T) {
	for _, test := range []struct {
		name string
		view View
		want bool
	}{
		{name: "a claim that provision is about to launch", view: view(claim(unlaunched, age(time.Second)))},
		{name: "a claim that waits", view: view(claim(unlaunched, age(unlaunchedAfter))), want: true},
		{name: "between ticks", view: between(view(claim(unlaunched, age(unlaunchedAfter))))},
		{name: "a claim that is given up", view: view(claim(unlaunched, age(launchTimeout)))},
		{name: "a claim with an instance", view: view(claim(age(time.Minute)))},
	} {
		if got := Next(test.view, now).WantsCapacity; got != test.want {
			t.Errorf("%s: wants capacity %t, want %t", test.name, got, test.want)
		}
	}
}

func TestJoining(t *testing.T) {
	longAgo := with(api.ConditionTypeLaunched, metav1.ConditionTrue, time.Hour)
	cni := corev1.Taint{Key: "cni", Effect: corev1.TaintEffectNoSchedule}
	for _, test := range []struct {
		name       string
		view       View
		want       string // steps, a line each
		condition  string // the condition to look at
		status     string // its status and reason
		again      time.Duration
		wantEvents string
	}{
		{name: "a claim without an instance is waited for, and not written",
			view: view(claim(unlaunched)), again: joinPause},
		{name: "a claim that has had no instance for five minutes is given up",
			view: view(claim(unlaunched, age(launchTimeout))), want: "delete claim", again: drainPause},
		{name: "but only on a tick, when its pool counts it",
			view: between(view(claim(unlaunched, age(launchTimeout)))), again: joinPause},
		{name: "an instance without a node is waited for",
			view: view(claim()), want: "patch status", condition: api.ConditionTypeRegistered, status: "Unknown NodeNotFound",
			again: joinPause},
		{name: "where a watch tells of its node, it is asked for less often",
			view: watched(view(claim())), want: "patch status", condition: api.ConditionTypeRegistered,
			status: "Unknown NodeNotFound", again: eventPause},
		{name: "an instance of which it is written that it has no node yet is waited for, and not written again",
			view: view(claim(func(c *api.NodeClaim) {
				api.SetNodeNotFound(&c.Status.Conditions, c.Generation, now)
				api.SetReady(&c.Status.Conditions, api.NodeClaimReadyDependents(), c.Generation, now)
			})), again: joinPause},
		{name: "an instance that has not joined for fifteen minutes is given up",
			view: view(claim(age(time.Hour), with(api.ConditionTypeLaunched, metav1.ConditionTrue, registrationTimeout))),
			want: "delete claim", again: drainPause},
		{name: "so that is, too",
			view: between(view(claim(age(time.Hour), with(api.ConditionTypeLaunched, metav1.ConditionTrue,
				registrationTimeout)))), want: "patch status", again: joinPause},
		{name: "the fifteen minutes count from the launch, not from the claim",
			view: view(claim(age(time.Hour), with(api.ConditionTypeLaunched, metav1.ConditionTrue,
				registrationTimeout-time.Second))), want: "patch status", again: joinPause},
		{name: "a node that joins gets what its claim says",
			view: view(claim(), node()), want: "patch node annotations,finalizers,labels,ownerReferences,taints\npatch status",
			condition: api.ConditionTypeRegistered, status: "True Registered", again: joinPause,
			wantEvents: "NodeClaim Registered"},
		{name: "a provider id whose condition was never written is completed",
			view: view(claim(func(c *api.NodeClaim) { c.Status.Conditions = nil })), want: "patch status",
			condition: api.ConditionTypeLaunched, status: "True Launched", again: joinPause},
		{name: "a node that is patched but not yet noted is noted, and not patched again",
			view: view(claim(), node(joined, nodeTaint(cni))), want: "patch status", condition: api.ConditionTypeRegistered,
			status: "True Registered",
			again:  joinPause, wantEvents: "NodeClaim Registered"},
		{name: "a node without the taint was never ours to let pods onto",
			view: view(claim(), node(func(n *corev1.Node) { n.Spec.Taints = nil })), want: "patch status",
			condition: api.ConditionTypeRegistered, status: "False UnregisteredTaintNotFound", again: joinPause,
			wantEvents: "NodeClaim UnregisteredTaintMissing"},
		{name: "two nodes with one provider id are for a person to sort out",
			view: view(claim(), node(), node(func(n *corev1.Node) { n.Name = "node-0" })), want: "patch status",
			condition: api.ConditionTypeRegistered, status: "Unknown MultipleNodesFound", again: joinPause},
		{name: "a registered node that is not ready is waited for",
			view: view(claim(registered), node(joined, notReadyNode)), want: "patch status",
			condition: api.ConditionTypeInitialized, status: "Unknown NodeNotReady", again: joinPause},
		{name: "and as often where there is a watch, because each look nominates its pods",
			view: watched(view(claim(registered), node(joined, notReadyNode))), want: "patch status",
			condition: api.ConditionTypeInitialized, status: "Unknown NodeNotReady", again: joinPause},
		{name: "a startup taint is waited for",
			view: view(claim(registered), node(joined, nodeTaint(cni))), want: "patch status",
			condition: api.ConditionTypeInitialized, status: "Unknown StartupTaintsExist", again: joinPause},
		{name: "a taint that Kubernetes removes by itself is waited for",
			view: view(claim(registered), node(joined, nodeTaint(corev1.Taint{Key: corev1.TaintNodeNotReady,
				Effect: corev1.TaintEffectNoSchedule}))),
			want: "patch status", condition: api.ConditionTypeInitialized, status: "Unknown KnownEphemeralTaintsExist",
			again: joinPause},
		{name: "a device that was asked for is waited for",
			view: view(claim(registered, gpu), node(joined)), want: "patch status", condition: api.ConditionTypeInitialized,
			status: "Unknown ResourceNotRegistered", again: joinPause},
		{name: "a node that is not initialized for long is left to the ticks",
			view: view(claim(registered, with(api.ConditionTypeLaunched, metav1.ConditionTrue, registrationTimeout)),
				node(joined, notReadyNode)), want: "patch status"},
		{name: "a node that is ready is initialized",
			view: view(claim(registered), node(joined)), want: "patch node labels\npatch status", condition: api.ConditionReady,
			status: "True Ready", wantEvents: "NodeClaim Initialized"},
		{name: "a node that is ready and without startup taints is registered and initialized at once",
			view:      view(claim(func(c *api.NodeClaim) { c.Spec.StartupTaints = nil }), node(ready)),
			want:      "patch node annotations,finalizers,labels,ownerReferences,taints\npatch status",
			condition: api.ConditionTypeInitialized, status: "True Initialized",
			wantEvents: "NodeClaim Registered,NodeClaim Initialized"},
		{name: "the registration of a node that vanished is taken back",
			view: view(claim(initialized)), want: "patch status", condition: api.ConditionTypeRegistered,
			status: "Unknown NodeNotFound", again: joinPause, wantEvents: "NodeClaim NodeVanished"},
		{name: "a vanished node is not initialized either",
			view: view(claim(initialized)), want: "patch status", condition: api.ConditionTypeInitialized,
			status: "Unknown NodeNotFound", again: joinPause, wantEvents: "NodeClaim NodeVanished"},
		{name: "a vanished node may come back",
			view: view(vanished(nodeReturnTimeout - time.Second)), again: joinPause},
		{name: "an instance whose node does not come back is given up, long before it would never have joined",
			view: view(vanished(nodeReturnTimeout)), want: "delete claim", again: drainPause},
		{name: "but only on a tick, as any that is given up",
			view: between(view(vanished(nodeReturnTimeout))), again: joinPause},
		{name: "a node that its kubelet creates again gets everything again",
			view:      view(vanished(time.Minute, tagged), node()),
			want:      "patch node annotations,finalizers,labels,ownerReferences,taints\npatch status",
			condition: api.ConditionTypeRegistered, status: "True Registered", again: joinPause,
			wantEvents: "NodeClaim Registered"},
		{name: "also one that was created again between two looks",
			view:      view(claim(initialized, tagged), node()),
			want:      "patch node annotations,finalizers,labels,ownerReferences,taints\npatch status",
			condition: api.ConditionTypeInitialized, status: "Unknown NodeNotReady", again: joinPause,
			wantEvents: "NodeClaim NodeVanished,NodeClaim Registered"},
		{name: "a node that comes back without the taint is given time, not what the first one had used up",
			view: view(vanished(time.Minute), node(func(n *corev1.Node) { n.Spec.Taints = nil })), want: "patch status",
			condition: api.ConditionTypeRegistered, status: "False UnregisteredTaintNotFound", again: joinPause,
			wantEvents: "NodeClaim UnregisteredTaintMissing"},
		{name: "a registered node that lost its finalizer gets it again",
			view: view(claim(initialized), node(joined, func(n *corev1.Node) { n.Finalizers = nil })),
			want: "patch node finalizers"},
		{name: "an initialized claim needs nothing",
			view: view(claim(initialized), node(joined))},
		{name: "an initialized claim whose node is unreachable for now needs nothing",
			view: view(claim(initialized), node(joined, notReadyNode))},
		{name: "an instance is tagged once its node is known",
			view: listed(view(claim(initialized), node(joined)), instance("running")), want: "tag Name"},
		{name: "a tag that somebody stripped is restored",
			view: listed(view(claim(initialized, tagged), node(joined)),
				stripped(named(instance("running")), api.EKSClusterNameTagKey)), want: "tag " + api.EKSClusterNameTagKey},
		{name: "a tag without which the functions have no rights is for a person to restore",
			view: reported(listed(view(claim(initialized, tagged, longAgo), node(joined)),
				stripped(instance("running"), api.NodePoolTagKey))), wantEvents: "NodeClaim InstanceTagsMissing"},
		{name: "so is the cluster's mark",
			view: reported(listed(view(claim(initialized, tagged, longAgo), node(joined)),
				stripped(instance("running"), api.ClusterTagKey("prod")))), wantEvents: "NodeClaim InstanceTagsMissing"},
		{name: "EC2 may show the tags of a new instance late",
			view: reported(listed(view(claim(initialized, tagged), node(joined)),
				stripped(instance("running"), api.NodePoolTagKey)))},
		{name: "a node registers although EC2 may refuse the tags",
			view:  listed(view(claim(), node()), instance("running")),
			want:  "patch node annotations,finalizers,labels,ownerReferences,taints\npatch status\ntag Name",
			again: joinPause, wantEvents: "NodeClaim Registered"},
		{name: "a name that a person gave the instance stays",
			view: listed(view(claim(initialized), node(joined)),
				func() Instance { i := instance("running"); i.Tags[api.NameTagKey] = "mine"; return i }()),
			want: "patch claim annotations"},
		{name: "an instance that is tagged is not tagged again",
			view: listed(view(claim(initialized, tagged), node(joined)), named(instance("running")))},
		{name: "a claim ends when its life is over",
			view: view(claim(initialized, age(time.Hour),
				func(c *api.NodeClaim) { c.Spec.ExpireAfter = api.DurationOf(time.Hour) }), node(joined)), want: "delete claim",
			again: drainPause},
		{name: "a claim that never expires stays",
			view: view(claim(initialized, age(9999*time.Hour),
				func(c *api.NodeClaim) { c.Spec.ExpireAfter = api.NeverDuration() }), node(joined))},
		{name: "a claim whose instance AWS takes in hours stays",
			view: view(claim(initialized, departs(2*time.Hour, "arn:a")), node(joined))},
		{name: "a claim whose instance AWS takes within the hour ends, by then",
			view: view(claim(initialized, departs(59*time.Minute, "arn:a")), node(joined)),
			want: "patch claim annotations\ndelete claim", again: drainPause},
		{name: "a claim in a capacity block stays until ten minutes before EC2 takes it",
			view: view(claim(initialized, departs(11*time.Minute, "cr-1")), node(joined))},
		{name: "a claim in a capacity block ends then, by its own grace where that is shorter",
			view: view(claim(initialized, departs(10*time.Minute, "cr-1"), grace(5*time.Minute)), node(joined)),
			want: "delete claim", again: drainPause},
		{name: "a claim whose instance has stopped ends once its node is not ready",
			view: listed(view(claim(initialized, with(api.ConditionTypeLaunched, metav1.ConditionTrue, time.Hour)),
				node(joined, notReadyNode)), instance("stopped")), want: "require halted i-1\ndelete claim", again: drainPause},
		{name: "a claim ends when a person deletes its node",
			view: view(claim(initialized), node(joined, nodeDeleted)), want: "delete claim", again: drainPause},
		{name: "a claim ends when EC2 does not know its instance and its node is not ready",
			view: absent(view(claim(initialized, with(api.ConditionTypeLaunched, metav1.ConditionTrue, surelyKnownWithin)),
				node(joined, notReadyNode))), want: "require halted i-1\ndelete claim", again: drainPause},
		{name: "an instance that EC2's list leaves out has not ended for that",
			view: listed(view(claim(initialized, with(api.ConditionTypeLaunched, metav1.ConditionTrue, time.Hour)),
				node(joined, notReadyNode)))},
		{name: "a node that is ready is believed before EC2",
			view: absent(view(claim(initialized, with(api.ConditionTypeLaunched, metav1.ConditionTrue, time.Hour)),
				node(joined)))},
		{name: "EC2 may not know a new instance",
			view: absent(view(claim(registered), node(joined, notReadyNode))), want: "patch status", again: joinPause},
		{name: "a claim ends when its instance shuts down by itself",
			view: listed(view(claim(initialized), node(joined, notReadyNode)), instance("shutting-down")),
			want: "delete claim", again: drainPause},
		{name: "a claim ends when its instance ends before it has joined",
			view: listed(view(claim()), instance("terminated")), want: "delete claim", again: drainPause},
		{name: "an unhealthy node is replaced, whatever protects its pods",
			view: unhealthy(view(claim(initialized, grace(time.Hour)), node(joined)), false),
			want: "patch claim annotations\ndelete claim", again: drainPause,
			wantEvents: "NodeClaim DisruptionTerminating,Node DisruptionTerminating"},
		{name: "a repair goes on after a pass that wrote only the deadline",
			view: unhealthy(view(claim(initialized, endsBy(now.Add(-time.Minute))), node(joined)), true), want: "delete claim",
			again:      drainPause,
			wantEvents: "NodeClaim InstanceUnhealthy,Node InstanceUnhealthy"},
		{name: "a stale deadline is removed, so that the next drain is orderly",
			view: view(claim(initialized, endsBy(now.Add(-staleDeadlineAfter))), node(joined)), want: "patch claim annotations"},
		{name: "a recent deadline stays",
			view: view(claim(initialized, endsBy(now.Add(-time.Minute))), node(joined))},
		{name: "work that EC2 announces is remembered",
			view: work(view(claim(initialized), node(joined)),
				disruption.Departure{At: now.Add(72 * time.Hour), Because: "instance-event-1"}),
			want: "patch claim annotations", wantEvents: "NodeClaim InstanceUnhealthy"},
		{name: "announced work is remembered once",
			view: work(view(claim(initialized, departs(72*time.Hour, "instance-event-1")), node(joined)),
				disruption.Departure{At: now.Add(72 * time.Hour), Because: "instance-event-1"})},
		{name: "announced work that AWS Health has reported is not remembered again",
			view: work(view(claim(initialized, departs(72*time.Hour, "arn:a")), node(joined)),
				disruption.Departure{At: now.Add(72 * time.Hour), Because: "instance-event-1"})},
		{name: "announced work is forgotten when EC2 lists it no more",
			view: work(view(claim(initialized, departs(72*time.Hour, "instance-event-1")), node(joined))),
			want: "patch claim annotations"},
		{name: "work that AWS Health announced is not forgotten",
			view: work(view(claim(initialized, departs(72*time.Hour, "arn:a")), node(joined)))},
		{name: "nothing is forgotten when EC2 was not asked",
			view: view(claim(initialized, departs(72*time.Hour, "instance-event-1")), node(joined))},
		{name: "announced work that is near ends the claim",
			view: work(view(claim(initialized), node(joined)),
				disruption.Departure{At: now.Add(30 * time.Minute), Because: "instance-event-1"}),
			want: "patch claim annotations\ndelete claim", again: drainPause, wantEvents: "NodeClaim InstanceUnhealthy"},
		{name: "a node that has what was expected of it is consistent",
			view: view(claim(initialized, expects("2", "8Gi", "4")), node(joined, has("2", "7.5Gi", "4")))},
		{name: "a node that lacks more than a tenth of it is not consistent",
			view: view(claim(initialized, expects("2", "8Gi", "4")), node(joined, has("2", "7Gi", "4"))), want: "patch status",
			condition: api.ConditionTypeConsistentStateFound, status: "False ConsistencyCheckFailed",
			wantEvents: "NodeClaim FailedConsistencyCheck"},
		{name: "a node that lacks a device is not consistent",
			view: view(claim(initialized, expects("2", "8Gi", "4")), node(joined, has("2", "8Gi", "3"))), want: "patch status",
			condition: api.ConditionTypeConsistentStateFound, status: "False ConsistencyCheckFailed",
			wantEvents: "NodeClaim FailedConsistencyCheck"},
		{name: "a claim and a node of an older Karpenter get the label of their class",
			view: view(claim(initialized, ofClass), node(joined)), want: "patch node labels\npatch claim labels"},
		{name: "a claim of Karpenter's gets the label that events find it by",
			view: view(claim(initialized, func(c *api.NodeClaim) { delete(c.Labels, api.LabelInstanceID) }), node(joined)),
			want: "patch claim labels"},
		{name: "an instance in a placement group waits for EC2 to say in which partition",
			view: view(claim(inGroup), node()), want: "patch status", condition: api.ConditionReady,
			status: "Unknown ReconcilingDependents", again: joinPause},
		{name: "an instance's partition becomes a label of claim and node",
			view: listed(view(claim(inGroup, tagged), node()),
				func() Instance { i := named(instance("running")); i.Partition = 3; return i }()),
			want:      "patch node annotations,finalizers,labels,ownerReferences,taints\npatch claim labels\npatch status",
			condition: api.ConditionTypeRegistered, status: "True Registered", again: joinPause,
			wantEvents: "NodeClaim Registered"},
		{name: "a placement group without partitions keeps no node",
			view: listed(view(claim(inGroup, tagged), node()), named(instance("running"))),
			want: "patch node annotations,finalizers,labels,ownerReferences,taints\npatch status", again: joinPause,
			wantEvents: "NodeClaim Registered"},
		{name: "a node is not registered before EC2 has told the instance's name",
			view: unnamed(view(claim(), node())), want: "patch status", again: joinPause,
			condition: api.ConditionTypeRegistered, status: "Unknown NodeNotFound"},
		{name: "a node of another name is not the claim's, and is reported",
			view: strange(view(claim()), node(func(n *corev1.Node) { n.Name = "thief" })), want: "patch status", again: joinPause,
			condition: api.ConditionTypeConsistentStateFound, status: "False ConsistencyCheckFailed",
			wantEvents: "NodeClaim FailedConsistencyCheck"},
		{name: "a second node of a registered claim is reported",
			view: strange(view(claim(initialized), node(joined)), node(joined)), want: "patch status",
			condition: api.ConditionTypeConsistentStateFound, status: "False ConsistencyCheckFailed",
			wantEvents: "NodeClaim FailedConsistencyCheck"},
		{name: "a node that claims more processors than its instance has is reported",
			view: view(claim(initialized, expects("2", "8Gi", "4")), node(joined, has("1000", "8Gi", "4"))), want: "patch status",
			condition: api.ConditionTypeConsistentStateFound, status: "False ConsistencyCheckFailed",
			wantEvents: "NodeClaim FailedConsistencyCheck"},
		{name: "labels that a kubelet has changed or removed are restored",
			view: mislabelled(view(claim(initialized), node(joined))), want: "patch node labels"},
		{name: "a node that is not ready stays while EC2 runs its instance",
			view: listed(view(claim(initialized, tagged), node(joined, notReadyNode)), named(instance("running")))},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := *test.view.Claim.DeepCopy()
			got := Next(test.view, now)
			if actions(got.Steps) != test.want {
				t.Errorf("steps\n%s\nwant\n%s", actions(got.Steps), test.want)
			}
			if got.Again != test.again {
				t.Errorf("looks again after %s, want %s", got.Again, test.again)
			}
			if events(got.Steps) != test.wantEvents {
				t.Errorf("events %q, want %q", events(got.Steps), test.wantEvents)
			}
			if test.condition != "" && condition(got.Steps, test.condition) != test.status {
				t.Errorf("condition %s is %q, want %q", test.condition, condition(got.Steps, test.condition), test.status)
			}
			if !reflect.DeepEqual(before, *test.view.Claim) {
				t.Error("the claim that was given is changed")
			}
		})
	}
}

func TestARegisteringNodeGetsWhatItsClaimHolds(t *testing.T) {
	register := func(c *api.NodeClaim, n *corev1.Node) *corev1.Node {
		p := begin(view(c, n), now)
		p.register()
		return p.node
	}
	t.Run("labels, annotations, taints, finalizer and owner", func(t *testing.T) {
		got := register(claim(), node())
		for key, value := range map[string]string{
			"own": "label", "rack": "r1", api.NodePoolLabelKey: "default", corev1.LabelInstanceTypeStable: "m5.large",
			api.NodeRegisteredLabelKey: "true", "colour": "", corev1.LabelHostname: "", api.LabelInstanceID: "",
		} {
			if got.Labels[key] != value {
				t.Errorf("label %s is %q, want %q", key, got.Labels[key], value)
			}
		}
		if got.Annotations[api.NodePoolHashAnnotationKey] != "h" || got.Annotations[api.AttemptAnnotationKey] != "" {
			t.Errorf("annotations %v", got.Annotations)
		}
		var taints []string
		for _, taint := range got.Spec.Taints {
			taints = append(taints, taint.ToString())
		}
		if strings.Join(taints, " ") != "team=a:NoSchedule cni:NoSchedule" {
			t.Errorf("taints %v", taints)
		}
		owner := got.OwnerReferences[0]
		if owner.Kind != api.NodeClaimKind || owner.UID != "claim-uid" || owner.BlockOwnerDeletion == nil ||
			!*owner.BlockOwnerDeletion {
			t.Errorf("owner %+v", owner)
		}
		if got.Finalizers[0] != api.TerminationFinalizer {
			t.Errorf("finalizers %v", got.Finalizers)
		}
	})
	t.Run("a label keeps the taints as they are", func(t *testing.T) {
		got := register(claim(), node(func(n *corev1.Node) { n.Labels[api.NodeDoNotSyncTaintsLabelKey] = "true" }))
		if len(got.Spec.Taints) != 0 {
			t.Errorf("taints %v", got.Spec.Taints)
		}
	})
	t.Run("a taint that is there is not doubled", func(t *testing.T) {
		got := register(claim(), node(nodeTaint(corev1.Taint{Key: "team", Value: "b", Effect: corev1.TaintEffectNoSchedule})))
		if len(got.Spec.Taints) != 2 || got.Spec.Taints[0].Value != "b" {
			t.Errorf("taints %v", got.Spec.Taints)
		}
	})
}

func TestAPatchIsForTheNodeThatWasRead(t *testing.T) {
	for _, step := range Next(view(claim(), node()), now).Steps {
		if patch, ok := step.(PatchNode); ok {
			if version := patch.Patch["metadata"].(map[string]any)["resourceVersion"]; version != "3" {
				t.Errorf("resourceVersion %v", version)
			}
		}
	}
}
