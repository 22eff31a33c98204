package nodeclaim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/launch"
)

func pods(v View, list ...*corev1.Pod) View {
	v.Pods = list
	// The condition that an earlier pass wrote is about these pods.
	if drained := api.GetCondition(v.Claim.Status.Conditions, api.ConditionTypeDrained); drained != nil &&
		drained.Reason == reasonDraining {
		p := begin(v, now)
		drained.Message, v.Claim.Status.LastPodEventTime = drainMessage(len(p.waiting())), drained.LastTransitionTime
	}
	return v
}

func attached(v View, volumes ...string) View {
	for _, volume := range volumes {
		attachment := storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "va-" + volume}}
		attachment.Spec.NodeName = "node-1"
		attachment.Spec.Source.PersistentVolumeName = &volume
		v.Attachments = append(v.Attachments, attachment)
	}
	return v
}

// leaving is a claim deleted half a minute ago whose node is marked.
func leaving(change ...func(*api.NodeClaim)) View {
	all := append([]func(*api.NodeClaim){initialized, deleted(30 * time.Second)}, change...)
	return listed(view(claim(all...), node(joined, marked, nodeDeleted)), instance("running"))
}

func drained(c *api.NodeClaim) { with(api.ConditionTypeDrained, metav1.ConditionTrue, time.Second)(c) }

// ended marks a pod that was deleted without grace, and that a finalizer holds.
func ended(p *corev1.Pod) { none := int64(0); p.DeletionGracePeriodSeconds = &none }

func terminating(c *api.NodeClaim) {
	drained(c)
	with(api.ConditionTypeVolumesDetached, metav1.ConditionTrue, time.Second)(c)
	with(api.ConditionTypeInstanceTerminating, metav1.ConditionTrue, time.Second)(c)
}

// told marks a claim whose instance lifecycle has terminated without a drain.
func told(c *api.NodeClaim) {
	with(api.ConditionTypeInstanceTerminating, metav1.ConditionTrue, time.Second)(c)
}

// unready is a view whose node is not ready.
func unready(v View) View {
	notReadyNode(v.Nodes[0])
	return v
}

func draining(since time.Duration) func(*api.NodeClaim) {
	return func(c *api.NodeClaim) {
		with(api.ConditionTypeDrained, metav1.ConditionUnknown, since)(c)
		condition := api.GetCondition(c.Status.Conditions, api.ConditionTypeDrained)
		condition.Reason, condition.Message = reasonDraining, "Draining"
	}
}

// stuck marks a drain that was reported as stuck.
func stuck(c *api.NodeClaim) {
	c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: api.ConditionTypeConsistentStateFound,
		Status: metav1.ConditionFalse, Reason: reasonConsistencyCheckFailed})
}

func ofBatch(c *api.NodeClaim) { c.Annotations[api.BatchAnnotationKey] = "x/3/1" }

// unseen is a claim for which EC2 has launched an instance that it does not show yet.
func unseen(c *api.NodeClaim) { c.Annotations[api.UnseenSinceAnnotationKey] = "2026-03-01T12:00:00Z" }

const (
	endInstance = "terminate i-1\npatch status"
	letGo       = "patch node finalizers\ndelete node\npatch claim finalizers"
)

func TestEnd(t *testing.T) {
	longAgo := with(api.ConditionTypeLaunched, metav1.ConditionTrue, time.Hour)
	for _, test := range []struct {
		name          string
		view          View
		want          string // steps, a line each
		again         time.Duration
		wantsCapacity bool
		events        string
	}{
		{name: "a claim that only another finalizer holds is left alone",
			view: View{Claim: claim(initialized, deleted(0), func(c *api.NodeClaim) { c.Finalizers = []string{"other"} })}},

		{name: "a claim deleted during its launch waits until EC2 would show an instance that nobody noted",
			view: listed(view(claim(unlaunched, deleted(launch.SettledAfter-time.Second)))), again: drainPause},
		{name: "a claim deleted before its launch ends when EC2 shows none",
			view: listed(view(claim(unlaunched, deleted(launch.SettledAfter)))), want: "patch claim finalizers"},
		{name: "a claim of a batch waits until all that may have been asked for it is seen",
			view: listed(view(claim(unlaunched, ofBatch, deleted(launch.SettledAfter-time.Second)))), again: drainPause},
		{name: "a claim of a batch ends then",
			view: listed(view(claim(unlaunched, ofBatch, deleted(launch.SettledAfter)))), want: "patch claim finalizers"},
		{name: "a claim whose instance EC2 did not show waits as long as provision waits for it",
			view: listed(view(claim(unlaunched, unseen, deleted(launch.SettledAfter-time.Second)))), again: drainPause},
		{name: "a claim whose instance EC2 did not show ends then",
			view: listed(view(claim(unlaunched, unseen, deleted(launch.SettledAfter)))), want: "patch claim finalizers"},
		{name: "a claim deleted before its launch does not end unless EC2 was asked",
			view: view(claim(unlaunched, deleted(time.Hour))), again: drainPause},
		{name: "a claim deleted during its launch ends the instance that came of it",
			view: listed(view(claim(unlaunched, deleted(time.Second))), instance("pending")), want: "terminate i-1",
			again: drainPause},
		{name: "a claim deleted during its launch waits until its instance has ended",
			view: listed(view(claim(unlaunched, deleted(time.Hour))), instance("shutting-down")), again: drainPause},

		{name: "an instance that never joined is ended at once",
			view: listed(view(claim(deleted(time.Second))), instance("running")), want: endInstance, again: drainPause},
		{name: "a node is marked first, and an empty one is read once more",
			view:  listed(view(claim(initialized, deleted(0)), node(joined)), instance("running")),
			want:  "patch node labels,taints\npatch status\ndelete node",
			again: drainPause},
		{name: "a node that was marked right before its claim was deleted may be getting a pod",
			view: leaving(deleted(minimumDrain - time.Second)), again: drainPause},
		{name: "a node without the finalizer gets it before it is deleted",
			view: listed(view(claim(initialized, deleted(0)), node(joined, func(n *corev1.Node) { n.Finalizers = nil })),
				instance("running")),
			want: "patch node finalizers,labels,taints\npatch status", again: drainPause},
		{name: "a node is marked before its pods are evicted, which need a place elsewhere",
			view:  pods(listed(view(claim(initialized, deleted(0)), node(joined)), instance("running")), pod("a")),
			want:  "patch node labels,taints\npatch status\ndelete node\nevict a",
			again: drainPause, wantsCapacity: true},
		{name: "a node that was marked while it was empty is ended without a pause",
			view: leaving(), want: endInstance, again: drainPause},
		{name: "pods are evicted",
			view: pods(leaving(), pod("a"), pod("b")), want: "patch status\nevict a\nevict b", again: drainPause},
		{name: "a pod that is ending is waited for, not evicted again",
			view: pods(leaving(draining(4*time.Second)), pod("a", endingSince(-20*time.Second))), again: drainPause},
		{name: "a drain without progress is looked at less often",
			view: pods(leaving(draining(time.Minute)), pod("a", protected)), again: 15 * time.Second},
		{name: "a drain without progress for minutes waits for the ticks",
			view: pods(leaving(draining(4*time.Minute)), pod("a", protected)), again: time.Minute},
		{name: "a pod that has left brings the next look forward",
			view: func() View {
				v := pods(leaving(draining(time.Hour), stuck), pod("a"), pod("b", protected))
				v.Pods = v.Pods[1:]
				return v
			}(), want: "patch status", again: drainPause, events: "NodeClaim FailedConsistencyCheck"},
		{name: "a protection that ends is looked at when it ends",
			view: pods(leaving(draining(9*time.Minute)), pod("a", func(p *corev1.Pod) {
				started := ago(time.Minute)
				p.Annotations, p.Status.StartTime = map[string]string{api.DoNotDisruptAnnotationKey: "90s"}, &started
			})), again: 30 * time.Second},
		{name: "a protection for a time, and one that is over, are reported on a tick",
			view: func() View {
				protectedFor := func(period string) func(*corev1.Pod) {
					return func(p *corev1.Pod) {
						started := ago(time.Minute)
						p.Annotations, p.Status.StartTime = map[string]string{api.DoNotDisruptAnnotationKey: period}, &started
					}
				}
				v := pods(leaving(draining(time.Second)), pod("a", protectedFor("90s")), pod("b", protectedFor("10s")))
				v.Report = true
				return v
			}(), want: "evict b", again: drainPause,
			events: "Pod DoNotDisruptUntil,Pod DoNotDisruptGracePeriodElapsed,Node FailedDraining"},
		{name: "the next look is when a pod has to be deleted for the grace period",
			view: pods(leaving(draining(9*time.Minute), func(c *api.NodeClaim) {
				c.Annotations[api.NodeClaimTerminationTimestampAnnotationKey] = now.Add(50 * time.Second).Format(time.RFC3339)
			}), pod("a", protected, podGrace(30))), again: 20 * time.Second},
		{name: "a long drain is reported as stuck once",
			view: pods(leaving(draining(stuckDrainAfter)), pod("a", protected)), want: "patch status",
			again: stuckDrainAfter / 4, events: "NodeClaim FailedConsistencyCheck"},
		{name: "a pod that should have ended a minute ago is waited for no longer",
			view: pods(leaving(draining(time.Hour)), pod("a", endingSince(stuckAfter+time.Second))), want: endInstance,
			again: drainPause},
		{name: "pods of daemon sets go after the others",
			view: pods(leaving(draining(time.Second)), pod("d", ownedBy("DaemonSet")), pod("a")), want: "evict a",
			again: drainPause},
		{name: "pods of daemon sets go when the others are gone",
			view: pods(leaving(draining(time.Second)), pod("d", ownedBy("DaemonSet")), pod("c", critical)), want: "evict d",
			again: drainPause},
		{name: "critical pods go last, those of daemon sets after the others",
			view: pods(leaving(draining(time.Second)), pod("dc", ownedBy("DaemonSet"), critical), pod("c", critical)),
			want: "evict c", again: drainPause},
		{name: "a group that is ending holds the next one back",
			view:  pods(leaving(draining(time.Second)), pod("a", endingSince(-time.Second)), pod("c", critical)),
			again: drainPause},
		{name: "static pods, tolerant pods and pods that have ended are not waited for",
			view: pods(leaving(), pod("s", ownedBy("Node")), pod("t", tolerant),
				pod("f", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })), want: endInstance, again: drainPause},
		{name: "a protected pod stalls the drain, and the others of its group go",
			view: pods(leaving(draining(time.Second)), pod("p", protected), pod("a")), want: "evict a", again: drainPause},
		{name: "a protected pod that stalls is reported on a tick",
			view:  func() View { v := pods(leaving(draining(time.Second)), pod("p", protected)); v.Report = true; return v }(),
			again: drainPause, events: "Node FailedDraining"},
		{name: "a node that pods ran on is watched for five seconds after the mark",
			view: leaving(draining(minimumDrain - time.Second)), again: drainPause},
		{name: "a node that pods ran on ends when they are gone",
			view: leaving(draining(minimumDrain)), want: endInstance, again: drainPause},
		{name: "a pod that comes after the drain does not begin it again",
			view: pods(leaving(drained), pod("late")), want: endInstance, again: drainPause},

		{name: "a drained node that lost its mark is drained again",
			view: pods(listed(view(claim(initialized, deleted(time.Minute), drained), node(joined)), instance("running")),
				pod("a")),
			want:  "patch node labels,taints\npatch status\ndelete node\nevict a",
			again: drainPause, wantsCapacity: true},

		{name: "a grace period is written down as a time",
			view: pods(leaving(grace(time.Hour), draining(time.Second)), pod("p", protected)), want: "patch claim annotations",
			again: drainPause, events: "Node TerminationGracePeriodExpiring,NodeClaim TerminationGracePeriodExpiring"},
		{name: "a protected pod is deleted in time to end by itself",
			view: pods(leaving(grace(60*time.Second), draining(time.Second)), pod("p", protected, podGrace(30))),
			want: "patch claim annotations\ndelete pod p 30s", again: drainPause,
			events: "Node TerminationGracePeriodExpiring,NodeClaim TerminationGracePeriodExpiring,Pod Disrupted"},
		{name: "a pod gets no more grace than is left",
			view: pods(leaving(grace(40*time.Second), draining(time.Second)), pod("p", podGrace(600))),
			want: "patch claim annotations\ndelete pod p 10s", again: drainPause,
			events: "Node TerminationGracePeriodExpiring,NodeClaim TerminationGracePeriodExpiring,Pod Disrupted"},
		{name: "a pod whose grace fits is evicted like any other",
			view: pods(leaving(grace(time.Hour), draining(time.Second)), pod("a", podGrace(30))),
			want: "patch claim annotations\nevict a", again: drainPause,
			events: "Node TerminationGracePeriodExpiring,NodeClaim TerminationGracePeriodExpiring"},
		{name: "a pod that is ending beyond the time is given less",
			view: pods(leaving(grace(60*time.Second), draining(time.Second)),
				pod("a", podGrace(600), endingSince(-500*time.Second))),
			want: "patch claim annotations\ndelete pod a 30s", again: drainPause,
			events: "Node TerminationGracePeriodExpiring,NodeClaim TerminationGracePeriodExpiring,Pod Disrupted"},
		{name: "when the time is over nothing is waited for",
			view: attached(pods(leaving(grace(30*time.Second), draining(time.Second*30)), pod("p", protected)), "v"),
			want: "delete pod p 1s\nterminate i-1\npatch claim annotations\npatch status", again: drainPause,
			events: "Node TerminationGracePeriodExpiring,NodeClaim TerminationGracePeriodExpiring,Pod Disrupted"},
		{name: "a pod that was deleted is not deleted again after the deadline",
			view: pods(leaving(draining(time.Minute), func(c *api.NodeClaim) {
				c.Annotations[api.NodeClaimTerminationTimestampAnnotationKey] = now.Format(time.RFC3339)
			}), pod("p", endingSince(time.Second))), want: endInstance, again: drainPause},
		{name: "the pods of an unhealthy node are deleted",
			view: pods(listed(view(claim(initialized, deleted(0), func(c *api.NodeClaim) {
				c.Annotations[api.NodeClaimTerminationTimestampAnnotationKey] = now.Format(time.RFC3339)
			}), node(joined)), instance("running")), pod("p", protected, podGrace(0))),
			want: "patch node labels,taints\npatch status\ndelete node\ndelete pod p 1s", again: drainPause, wantsCapacity: true,
			events: "Node TerminationGracePeriodExpiring,NodeClaim TerminationGracePeriodExpiring,Pod Disrupted"},
		{name: "a time that was set from outside counts",
			view: pods(leaving(draining(time.Minute), func(c *api.NodeClaim) {
				c.Annotations[api.NodeClaimTerminationTimestampAnnotationKey] = now.Format(time.RFC3339)
			}), pod("p", protected)),
			want: "delete pod p 1s\n" + endInstance, again: drainPause, events: "Pod Disrupted"},

		{name: "an attached volume is waited for",
			view: attached(leaving(drained), "v"), want: "patch status", again: drainPause,
			events: "Node AwaitingVolumeDetachment"},
		{name: "a volume that is waited for is reported once",
			view: attached(leaving(drained, func(c *api.NodeClaim) {
				c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: api.ConditionTypeVolumesDetached,
					Status: metav1.ConditionUnknown,
					Reason: reasonAwaitingVolumeDetachment, Message: "AwaitingVolumeDetachment: attached volumes: 1",
					LastTransitionTime: ago(time.Second)})
			}), "v"), again: drainPause},
		{name: "a volume of a pod that stays is not waited for",
			view: func() View {
				v := attached(leaving(drained), "v")
				v.HeldVolumes = map[string]bool{"v": true}
				return v
			}(), want: endInstance, again: drainPause},

		{name: "an instance that still runs is terminated again",
			view: leaving(terminating), want: "terminate i-1", again: drainPause},
		{name: "while the instance shuts down, its last pods may run, and nothing is released",
			view: listed(view(claim(initialized, deleted(time.Minute), terminating), node(joined, marked)),
				instance("shutting-down")), again: eventPause},
		{name: "when the instance has ended, the node is released, and then the claim",
			view: listed(view(claim(initialized, deleted(time.Minute), terminating), node(joined, marked)),
				instance("terminated")), want: letGo},
		{name: "an instance that EC2 does not know has ended, if EC2 says so again",
			view: absent(unready(leaving(terminating, longAgo))), want: "require halted i-1\n" + letGo},
		{name: "but not while a kubelet reports",
			view: absent(leaving(terminating, longAgo)), want: "terminate i-1", again: drainPause},
		{name: "EC2 may not know a new instance that runs",
			view: absent(unready(leaving(terminating, with(api.ConditionTypeLaunched, metav1.ConditionTrue,
				surelyKnownWithin-time.Second)))),
			want: "terminate i-1", again: drainPause},
		{name: "an instance that EC2's list leaves out has not ended for that",
			view: listed(unready(leaving(terminating, longAgo))), again: drainPause},
		{name: "nothing is released unless EC2 was asked",
			view:  func() View { v := leaving(terminating, longAgo); v.InstancesListed, v.Instances = false, nil; return v }(),
			again: drainPause},
		{name: "an instance that ended by itself is terminated before its pods are deleted",
			view: pods(listed(view(claim(initialized, deleted(time.Second), longAgo), node(joined)), instance("terminated")),
				pod("a")),
			want: endInstance, again: drainPause},
		{name: "the pods of an instance that ended by itself are deleted, whatever its node reports",
			view: pods(listed(view(claim(initialized, deleted(time.Second), longAgo, told), node(joined)),
				instance("terminated")),
				pod("a", protected), pod("b", ownedBy("StatefulSet"), endingSince(time.Second)), pod("c", ownedBy("DaemonSet")),
				pod("d", endingSince(0), ended)),
			want:  "patch node labels,taints\npatch status\ndelete pod a 0s\ndelete pod b 0s",
			again: drainPause, wantsCapacity: true, events: "Pod Disrupted,Pod Disrupted"},
		{name: "a stopped instance is terminated before its pods are deleted, if EC2 says again that it is stopped",
			view: pods(listed(view(claim(initialized, deleted(time.Second), longAgo), node(joined)), instance("stopped")),
				pod("a")),
			want: "require halted i-1\n" + endInstance, again: drainPause},
		{name: "the pods of a stopped instance wait until nobody can start it again",
			view: pods(listed(view(claim(initialized, deleted(time.Second), longAgo, told), node(joined)),
				instance("stopped")), pod("a")),
			want: "terminate i-1", again: drainPause},
		{name: "an instance that EC2 does not know is terminated all the same",
			view: pods(absent(view(claim(initialized, deleted(time.Second), longAgo), node(joined, notReadyNode))), pod("a")),
			want: "require halted i-1\n" + endInstance, again: drainPause},
		{name: "the pods of an instance that EC2 does not know are deleted, if EC2 says so again",
			view: pods(absent(view(claim(initialized, deleted(time.Second), longAgo, told), node(joined, notReadyNode))),
				pod("a")),
			want:  "require halted i-1\npatch node labels,taints\npatch status\ndelete pod a 0s",
			again: drainPause, wantsCapacity: true, events: "Pod Disrupted"},
		{name: "the pods of an instance that EC2's list leaves out are evicted",
			view: pods(listed(view(claim(initialized, deleted(30*time.Second), draining(time.Second), longAgo),
				node(joined, marked, notReadyNode))), pod("a")), want: "delete node\nevict a", again: drainPause},
		{name: "the pods of an instance that shuts down may still run, and are evicted",
			view: pods(listed(view(claim(initialized, deleted(30*time.Second), draining(time.Second), longAgo),
				node(joined, marked)), instance("shutting-down")), pod("a")), want: "delete node\nevict a", again: drainPause},
		{name: "without pods an ended instance takes its node with it",
			view: listed(view(claim(initialized, deleted(time.Second), longAgo, told), node(joined)), instance("terminated")),
			want: "patch status\n" + letGo},
		{name: "an ended instance without a node takes its claim with it",
			view: listed(view(claim(deleted(time.Second), longAgo)), instance("terminated")),
			want: endInstance + "\npatch claim finalizers"},
		{name: "an instance without a node that EC2 does not know takes its claim with it, if EC2 says so again",
			view: absent(view(claim(deleted(time.Second), longAgo))),
			want: endInstance + "\nrequire halted i-1\npatch claim finalizers"},
		{name: "the node of an ended instance stays for its volumes",
			view: attached(listed(view(claim(initialized, deleted(time.Second), longAgo, told), node(joined)),
				instance("terminated")), "v"),
			want: "patch node labels,taints\npatch status", again: drainPause, events: "Node AwaitingVolumeDetachment"},
		{name: "but not for long",
			view: attached(listed(view(claim(initialized, deleted(time.Hour), longAgo, told,
				with(api.ConditionTypeVolumesDetached, metav1.ConditionUnknown, detachWithin)), node(joined)),
				instance("terminated")), "v"),
			want: letGo},
		{name: "a node that is ready is drained whatever EC2 says",
			view: pods(absent(leaving(longAgo, draining(time.Second))), pod("a")), want: "evict a", again: drainPause},
		{name: "of two nodes with one provider id both go",
			view: func() View {
				v := leaving(terminating)
				v.Nodes = append(v.Nodes, node(joined, func(n *corev1.Node) { n.Name = "node-2" }))
				v.Instances = []Instance{instance("terminated")}
				return v
			}(), want: "patch node finalizers\ndelete node\npatch node finalizers\ndelete node\npatch claim finalizers"},
		{name: "a machine that is no EC2 instance is for a person to end",
			view:   listed(view(claim(deleted(time.Hour), func(c *api.NodeClaim) { c.Status.ProviderID = "kwok://x" }))),
			events: "NodeClaim FailedTermination"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Next(test.view, now)
			if actions(got.Steps) != test.want {
				t.Errorf("steps\n%s\nwant\n%s", actions(got.Steps), test.want)
			}
			if got.Again != test.again || got.WantsCapacity != test.wantsCapacity {
				t.Errorf("looks again after %s, wants capacity %t; want %s, %t",
					got.Again, got.WantsCapacity, test.again, test.wantsCapacity)
			}
			want := test.events
			if strings.Contains(test.want, "patch claim finalizers") {
				want = strings.TrimPrefix(want+",NodeClaim Terminated", ",")
			}
			if events(got.Steps) != want {
				t.Errorf("events %q, want %q", events(got.Steps), want)
			}
		})
	}
}

func TestHeldClaims(t *testing.T) {
	volumes := func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{
			{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-0"},
			}},
			{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}},
		}
	}
	got := HeldClaims([]*corev1.Pod{pod("stays", tolerant, volumes), pod("leaves", volumes)}, now)
	if len(got) != 2 || got[0].Name != "data-0" || got[1].Name != "stays-scratch" {
		t.Errorf("held %v", got)
	}
}

func TestStrays(t *testing.T) {
	inBatch := func(name, batch string) func(*api.NodeClaim) {
		return func(c *api.NodeClaim) {
			c.Name, c.Annotations[api.BatchAnnotationKey], c.Annotations[api.AttemptAnnotationKey] = name, batch, "2"
		}
	}
	claims := []api.NodeClaim{
		*claim(), *claim(unlaunched, func(c *api.NodeClaim) { c.Name = "launching" }),
		// In batch x one claim has its instance and two have none, one of them deleted. In batch y all
		// claims have theirs.
		*claim(inBatch("x0", "x/3/0"), func(c *api.NodeClaim) { c.Status.ProviderID = "aws:///us-east-1a/i-10" }),
		*claim(unlaunched, inBatch("x1", "x/3/1")), *claim(unlaunched, deleted(0), inBatch("x2", "x/3/2")),
		*claim(inBatch("y0", "y/2/0"), func(c *api.NodeClaim) { c.Status.ProviderID = "aws:///us-east-1a/i-20" }),
		*claim(unlaunched, deleted(0), inBatch("z0", "z/2/0")),
	}
	batched := func(id, token string) Instance {
		return Instance{ID: id, Zone: "us-east-1a", State: "running", LaunchTime: now.Add(-time.Hour),
			Tags: map[string]string{api.BatchTagKey: token}}
	}
	made := func(id, claim, state string, age time.Duration) Instance {
		return Instance{ID: id, Zone: "us-east-1a", State: state, LaunchTime: now.Add(-age),
			Tags: map[string]string{api.NodeClaimTagKey: claim}}
	}
	for _, test := range []struct {
		name  string
		given Instance
		stray bool
	}{
		{"an instance of a claim", made("i-1", "", "running", time.Hour), false},
		{"an instance of a launch whose answer is not written down", made("i-2", "launching", "running", time.Hour), false},
		{"a second instance of a claim that has another", made("i-3", "default-abc", "running", time.Hour), true},
		{"an instance of a claim that is gone", made("i-4", "gone", "running", time.Hour), true},
		{"an instance without the tag", made("i-5", "", "running", time.Hour), true},
		{"a new instance whose claim may not be read yet", made("i-6", "gone", "pending", 20*time.Second), false},
		{"an instance that is ending", made("i-7", "gone", "shutting-down", time.Hour), false},
		{"an instance that a claim of its batch has", batched("i-10", "x-2"), false},
		{"an instance of a batch of which a claim has no instance yet", batched("i-11", "x-2"), false},
		{"an instance of an earlier attempt for the same batch", batched("i-12", "x-1"), true},
		{"an instance more than its batch has claims, all of which have theirs", batched("i-21", "y-2"), true},
		{"an instance of a batch whose last claim is being deleted", batched("i-30", "z-2"), false},
		{"an instance of a batch that is gone", batched("i-40", "gone-1"), true},
		{"an instance that somebody stopped", made("i-8", "gone", "stopped", time.Hour), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Strays([]Instance{test.given}, claims, now); (len(got) == 1) != test.stray {
				t.Errorf("strays %v", got)
			}
		})
	}
	steps := EndStray(made("i-4", "gone", "running", time.Hour), []*corev1.Node{node(joined)})
	if actions(steps) != "terminate i-4\ndelete node" {
		t.Errorf("steps %s", actions(steps))
	}
}

func TestReleaseOrphans(t *testing.T) {
	other := func(n *corev1.Node) { n.Spec.ProviderID = "aws:///us-east-1a/i-9" }
	nodes := []corev1.Node{*node(joined, nodeDeleted), *node(joined, other), *node(joined, nodeDeleted, other),
		*node(nodeDeleted, other)}
	orphans := ReleaseOrphans(append(nodes, *node(joined, nodeDeleted, other)), []api.NodeClaim{*claim()})
	if len(orphans) != 2 { // each by itself: one that has changed keeps no other
		t.Fatalf("orphans %v", orphans)
	}
	if steps := orphans[0]; actions(steps) != "patch node finalizers" {
		t.Errorf("steps %s", actions(steps))
	}
}

func TestStrayLeases(t *testing.T) {
	lease := func(name string, change ...func(*coordinationv1.Lease)) coordinationv1.Lease {
		made := coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: ago(24 * time.Hour)}}
		renewed := metav1.NewMicroTime(now.Add(-staleLeaseAfter))
		made.Spec.RenewTime = &renewed
		for _, f := range change {
			f(&made)
		}
		return made
	}
	leases := []coordinationv1.Lease{
		lease("gone"), lease("node-1"),
		lease("owned", func(l *coordinationv1.Lease) {
			l.OwnerReferences = []metav1.OwnerReference{{Kind: "Node", Name: "owned"}}
		}),
		lease("joining", func(l *coordinationv1.Lease) { l.CreationTimestamp, l.Spec.RenewTime = ago(time.Minute), nil }),
		lease("alive", func(l *coordinationv1.Lease) { renewed := metav1.NewMicroTime(now); l.Spec.RenewTime = &renewed }),
	}
	strays := StrayLeases(leases, []corev1.Node{*node()}, now)
	if len(strays) != 1 || strays[0].Name != "gone" {
		t.Errorf("strays %v", strays)
	}
}

// A zonal shift keeps every instance of its zone, also one whose claim is deleted. An instance that
// has ended by itself is released.
func TestAZonalShiftKeepsInstances(t *testing.T) {
	shifted := func(v View) View {
		v.ShiftedUntil = now.Add(time.Hour)
		return v
	}
	expired := listed(view(claim(initialized, age(100*time.Hour), func(c *api.NodeClaim) {
		c.Spec.ExpireAfter = api.NillableDuration{Duration: new(time.Hour)}
	}), node(joined, ready)), instance("running"))
	for _, test := range []struct {
		name       string
		view       View
		ends, when string // a step without the shift, and with it
	}{
		{"an expired claim stays", expired, "delete claim", ""},
		{"a drained instance runs on", leaving(drained), "terminate", ""},
		{"an instance is not terminated once more", leaving(terminating), "terminate", ""},
		{"the claim of an instance that has ended does not wait for the end of the shift", listed(view(
			claim(initialized), node(joined, notReadyNode)), instance("terminated")), "delete claim", "delete claim"},
		{"an ended instance is released", listed(view(claim(initialized, deleted(time.Minute), terminating),
			node(joined, marked, nodeDeleted)), instance("terminated")), "delete node", "delete node"},
	} {
		if got := actions(Next(test.view, now).Steps); !strings.Contains(got, test.ends) {
			t.Errorf("%s: without a shift the steps are %s, want %s", test.name, got, test.ends)
		}
		outcome := Next(shifted(test.view), now)
		got := actions(outcome.Steps)
		if test.when == "" && strings.Contains(got, test.ends) || !strings.Contains(got, test.when) {
			t.Errorf("%s: the steps are %s", test.name, got)
		}
	}
}

// TestLeftovers: nobody needs the instances of a batch once all its claims without one are deleted.
func TestLeftovers(t *testing.T) {
	inBatch := func(name, batch string) func(*api.NodeClaim) {
		return func(c *api.NodeClaim) {
			c.Name, c.Annotations[api.BatchAnnotationKey], c.Annotations[api.AttemptAnnotationKey] = name, batch, "2"
		}
	}
	claims := []api.NodeClaim{
		*claim(unlaunched, deleted(0), inBatch("x0", "x/3/0")), *claim(unlaunched, deleted(0), inBatch("x1", "x/3/1")),
		*claim(inBatch("x2", "x/3/2"), func(c *api.NodeClaim) { c.Status.ProviderID = "aws:///us-east-1a/i-10" }),
		*claim(unlaunched, deleted(0), inBatch("y0", "y/2/0")), *claim(unlaunched, inBatch("y1", "y/2/1")),
		*claim(unlaunched, deleted(0)),
	}
	tagged := func(id, key, value string) Instance {
		return Instance{ID: id, Zone: "us-east-1a", State: "running", Tags: map[string]string{key: value}}
	}
	got := Leftovers([]Instance{
		tagged("i-10", api.BatchTagKey, "x-2"), tagged("i-11", api.BatchTagKey, "x-2"),
		tagged("i-12", api.BatchTagKey, "x-1"), tagged("i-20", api.BatchTagKey, "y-2"),
		tagged("i-30", api.NodeClaimTagKey, "default-abc"), {ID: "i-40"},
	}, claims)
	if len(got) != 2 || len(got["x0"]) != 1 || len(got["x1"]) != 1 || got["x0"][0].ID != "i-11" || got["x1"][0].ID != "i-11" {
		t.Errorf("leftovers %v, want i-11 of x0 and x1", got)
	}
}

// TestTheLogNamesProtectedPodsOfADrain reads the lines about pods that their annotation keeps.
func TestTheLogNamesProtectedPodsOfADrain(t *testing.T) {
	stalled := []*corev1.Pod{pod("free")}
	for i := range protectedLogged + 5 {
		stalled = append(stalled, pod(fmt.Sprintf("p-%02d", i), protected))
	}
	for _, report := range []bool{false, true} {
		seen := pods(leaving(draining(time.Second)), stalled...)
		seen.Report = report
		var named []string
		for _, step := range Next(seen, now).Steps {
			if log, is := step.(Log); is && log.Message == "a pod holds up the drain" {
				named = append(named, fmt.Sprint(log.Attributes[slices.Index(log.Attributes, any("Pod"))+1]))
			}
		}
		want := 0
		if report {
			want = protectedLogged
		}
		if len(named) != want || report && !strings.HasSuffix(named[0], "/p-00") {
			t.Errorf("report is %t, and the log names %q", report, named)
		}
	}
}

// TestAnEvictionSaysWhyTheNodeLeaves gives the owner of the pod the reason that Karpenter gives.
func TestAnEvictionSaysWhyTheNodeLeaves(t *testing.T) {
	drifted := func(status metav1.ConditionStatus) func(*api.NodeClaim) {
		return func(c *api.NodeClaim) {
			c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{
				Type: api.ConditionTypeDisruptionReason, Status: status, Reason: string(api.DisruptionReasonDrifted),
			})
		}
	}
	for want, change := range map[string]func(*api.NodeClaim){
		"Drifted": drifted(metav1.ConditionTrue), "": drifted(metav1.ConditionFalse),
	} {
		evicted := 0
		for _, step := range Next(pods(leaving(draining(time.Second), change), pod("a")), now).Steps {
			if evict, is := step.(Evict); is {
				evicted++
				if evict.Why != want {
					t.Errorf("the pod leaves because of %q, want %q", evict.Why, want)
				}
			}
		}
		if evicted != 1 {
			t.Errorf("%d pods are evicted", evicted)
		}
	}
}
