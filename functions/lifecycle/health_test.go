package lifecycle

import (
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/fleet"
)

// unready makes the node not ready, since a time ago.
func unready(t *testing.T, name string, since time.Duration) {
	t.Helper()
	at := metav1.NewTime(time.Now().Add(-since))
	server.Patch(t, functiontest.NodesPath+"/"+name+"/status", map[string]any{"status": map[string]any{
		"conditions": []map[string]any{{"type": "Ready", "status": "False", "reason": "KubeletNotReady",
			"lastHeartbeatTime": metav1.Now(), "lastTransitionTime": at}},
	}})
}

func TestANodeWhoseInstanceFailsItsStatusCheckIsReplaced(t *testing.T) {
	l := newLife(t)
	l.join(t, "impaired")
	server.Pod(t, "guarded-impaired", "node-impaired", labelled("guarded-impaired"))
	budget(t, "impaired", "guarded-impaired", 0)
	t.Cleanup(func() { server.Delete(t, budgetsPath+"/impaired") })
	l.ec2.statuses = map[string]fleet.Status{"i-impaired": {SystemImpaired: l.now().Add(-time.Minute)},
		"i-foreign": {SystemImpaired: l.now().Add(-time.Hour)}}
	if _, err := l.handle(t.Context(), wakes(t, l.tick())); err != nil {
		t.Fatal(err)
	}
	if readClaim(t, "impaired").DeletionTimestamp != nil {
		t.Fatal("a failed check is borne for two minutes")
	}
	l.clock.ahead += 90 * time.Second
	l.until(t, "node-impaired", func() bool { return readClaim(t, "impaired") == nil })
	if !isGone(t, "guarded-impaired") || readNode(t, "node-impaired") != nil || len(l.ec2.running()) != 0 {
		t.Error("the pod, its node or the instance is still there")
	}
	for _, about := range []string{"impaired", "node-impaired"} {
		if reasons := server.Reasons(t, about); !reasons["InstanceUnhealthy"] {
			t.Errorf("events about %s: %v", about, reasons)
		}
	}
	if len(l.mail.sent["p"]) == 0 {
		t.Error("nobody asked for capacity for the pod")
	}
}

func TestNodesOfAPoolWithTooManyUnhealthyOnesStay(t *testing.T) {
	l := newLife(t)
	pool := &api.NodePool{TypeMeta: metav1.TypeMeta{APIVersion: api.APIVersion, Kind: api.NodePoolKind},
		ObjectMeta: metav1.ObjectMeta{Name: "unwell"}}
	pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind,
		Name: "default"}
	pool.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{{Key: "kubernetes.io/arch",
		Operator: "In", Values: []string{"amd64"}}}
	pool.Default()
	functiontest.Create(t, server, api.NodePoolsPath, pool)
	t.Cleanup(func() { server.Delete(t, api.NodePoolsPath+"/unwell") })
	names := []string{"unwell-0", "unwell-1", "unwell-2"}
	for _, name := range names {
		l.join(t, name, func(c *api.NodeClaim) { c.Labels[api.NodePoolLabelKey] = "unwell" })
	}
	blocked := func() bool {
		pool = functiontest.Get[api.NodePool](t, server, api.NodePoolsPath+"/unwell")
		return api.ConditionTrue(pool.Status.Conditions, api.ConditionTypeNodeRepairBlocked)
	}
	for _, name := range names[:2] {
		unready(t, "node-"+name, time.Hour)
	}
	l.clock.ahead += 31 * time.Minute // the time counts from the nodes' creation
	l.until(t, "none", blocked)
	for _, name := range names {
		if readClaim(t, name).DeletionTimestamp != nil {
			t.Errorf("%s ends", name)
		}
	}
	for about, want := range map[string]bool{
		"unwell": true, "unwell-0": true, "node-unwell-1": true, "unwell-2": false, "node-unwell-2": false,
	} {
		if reasons := server.Reasons(t, about); reasons["NodeRepairBlocked"] != want {
			t.Errorf("events about %s: %v", about, reasons)
		}
	}
	// One recovers. The other one is a fifth of three nodes, rounded up, and disrupt may replace it.
	server.Patch(t, functiontest.NodesPath+"/node-unwell-0/status", map[string]any{"status": map[string]any{
		"conditions": []map[string]any{{"type": "Ready", "status": "True"}},
	}})
	l.until(t, "none", func() bool { return !blocked() })
	for _, name := range names {
		if readClaim(t, name).DeletionTimestamp != nil {
			t.Errorf("%s ends without a replacement", name)
		}
	}
	for _, name := range names {
		server.Delete(t, api.NodeClaimsPath+"/"+name)
		l.until(t, "node-"+name, func() bool { return readClaim(t, name) == nil })
	}
}

func TestWorkThatEC2AnnouncesIsRememberedAndForgotten(t *testing.T) {
	l := newLife(t)
	l.join(t, "work")
	l.ec2.statuses = map[string]fleet.Status{"i-work": {Events: []fleet.ScheduledEvent{{ID: "instance-event-1",
		Code: "instance-retirement", NotBefore: l.now().Add(100 * time.Hour)}}}}
	announced := func() bool {
		return readClaim(t, "work").Annotations[disruption.DepartsBecauseAnnotationKey] == "instance-event-1"
	}
	l.until(t, "none", announced)
	l.ec2.statuses = map[string]fleet.Status{}
	l.until(t, "none", func() bool { return !announced() })
	server.Delete(t, api.NodeClaimsPath+"/work")
	l.until(t, "node-work", func() bool { return readClaim(t, "work") == nil })
}

func TestLeasesOfNodesThatAreGoneAreSwept(t *testing.T) {
	const path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
	l := newLife(t)
	for i := range 2 {
		functiontest.Create(t, server, path, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("lease-%d",
			i)}})
	}
	server.Node(t, "lease-1", "i-somebody-elses")
	// The clock moves to a half hour that is more than an hour away.
	l.clock.ahead = time.Until(time.Now().Truncate(time.Hour).Add(2 * time.Hour))
	if _, err := l.handle(t.Context(), wakes(t, l.tick())); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, true} {
		if found := functiontest.Get[coordinationv1.Lease](t, server,
			fmt.Sprintf("%s/lease-%d", path, i)) != nil; found != want {
			t.Errorf("lease-%d is there: %t", i, found)
		}
	}
	server.Delete(t, path+"/lease-1")
	if readNode(t, "lease-1") == nil {
		t.Error("a node that is not ours went")
	}
}
