package lifecycle

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
)

// server is shared by the tests of this package, because a start takes seconds.
var server *functiontest.Cluster

func TestMain(m *testing.M) {
	os.Exit(functiontest.Main(m, "lifecycle", func(c *functiontest.Cluster) { server = c }))
}

// life is a handler with its clock, its queues and its EC2.
type life struct {
	*Handler
	clock *clock
	ec2   *fakeEC2
	made  *fakeMade
	mail  *mailbox
}

// newLife returns a handler on the server.
func newLife(t *testing.T) *life {
	t.Helper()
	client := server.Client(t, nil)
	l := &life{clock: &clock{}, ec2: &fakeEC2{}, made: newFakeMade(), mail: &mailbox{}}
	l.Handler = &Handler{
		cluster: "test", provision: "p", lifecycle: "l", sender: l.mail, fleet: l.ec2, leftovers: l.made, now: l.clock.now,
		connect: func(context.Context) (kubernetes, error) { return consistent(client, nil) },
		old:     legacy.Settings{ClusterName: "test", Role: "test-nodes"},
		resolve: func(_ context.Context, class api.EC2NodeClass) (api.EC2NodeClass, error) { return class, nil },
	}
	return l
}

// until sends ticks, each a second later, until done. The kubelet of the node ends pods between
// the ticks.
func (l *life) until(t *testing.T, node string, done func() bool) {
	t.Helper()
	var last error
	for range 100 {
		_, last = l.handle(t.Context(), wakes(t, l.tick()))
		if done() {
			return
		}
		server.EndPods(t, node)
		l.clock.ahead += time.Second
		// The API server's watch cache, which answers lists, is some milliseconds behind.
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("not done after 100 ticks; the last error is %v", last)
}

func readClaim(t *testing.T, name string) *api.NodeClaim {
	return functiontest.Get[api.NodeClaim](t, server, api.NodeClaimsPath+"/"+name)
}

func readNode(t *testing.T, name string) *corev1.Node {
	return functiontest.Get[corev1.Node](t, server, functiontest.NodesPath+"/"+name)
}

func isReady(t *testing.T, name string) bool {
	claim := readClaim(t, name)
	return claim != nil && api.ConditionTrue(claim.Status.Conditions, api.ConditionReady)
}

// expectJoined fails unless the claim's node is registered and initialized.
func expectJoined(t *testing.T, claim *api.NodeClaim) {
	t.Helper()
	node := readNode(t, "node-"+claim.Name)
	for _, key := range []string{api.NodeRegisteredLabelKey, api.NodeInitializedLabelKey} {
		if node.Labels[key] != "true" {
			t.Errorf("label %s is %q", key, node.Labels[key])
		}
	}
	if node.Labels[api.CapacityTypeLabelKey] != api.CapacityTypeSpot || node.Labels[corev1.LabelArchStable] != "amd64" {
		t.Errorf("labels %v", node.Labels)
	}
	if len(node.Spec.Taints) != 0 || len(node.OwnerReferences) != 1 || node.OwnerReferences[0].UID != claim.UID ||
		!slices.Contains(node.Finalizers, api.TerminationFinalizer) {
		t.Errorf("taints %v, owners %v, finalizers %v", node.Spec.Taints, node.OwnerReferences, node.Finalizers)
	}
	status := readClaim(t, claim.Name).Status
	consistent := api.ConditionTrue(status.Conditions, api.ConditionTypeConsistentStateFound)
	if status.NodeName != node.Name || !consistent {
		t.Errorf("status %+v", status)
	}
}

func TestANodeJoinsAndLeaves(t *testing.T) {
	l := newLife(t)
	l.ec2.launch("i-join", map[string]string{api.NodeClaimTagKey: "join"})
	claim := server.Claim(t, "join", "i-join")
	server.Node(t, "node-join", "i-join")

	l.until(t, "node-join", func() bool { return isReady(t, "join") })
	expectJoined(t, claim)
	l.until(t, "node-join", func() bool { return l.ec2.tags("i-join")[api.NameTagKey] == "node-join" })

	// A person deletes the node.
	server.Pod(t, "guest", "node-join")
	server.Delete(t, functiontest.NodesPath+"/node-join")
	l.until(t, "node-join", func() bool { return readClaim(t, "join") == nil })
	if readNode(t, "node-join") != nil {
		t.Error("the node outlives its claim")
	}
	if len(l.ec2.running()) != 0 {
		t.Errorf("running %v", l.ec2.running())
	}
	if len(l.mail.sent["p"]) == 0 {
		t.Error("nobody asked for capacity for the pod that lost its place")
	}
	reasons := server.Reasons(t, "join")
	for _, reason := range []string{"Registered", "Initialized"} {
		if !reasons[reason] {
			t.Errorf("no event %s among %v", reason, reasons)
		}
	}
	if reasons := server.Reasons(t, "guest"); !reasons["Evicted"] {
		t.Errorf("events about the pod: %v", reasons)
	}
}

// TestANodeOfNoPoolJoinsAndLeaves is the life of a claim that a person wrote, after its launch.
func TestANodeOfNoPoolJoinsAndLeaves(t *testing.T) {
	l := newLife(t)
	l.ec2.launch("i-alone", map[string]string{api.NodeClaimTagKey: "alone"})
	server.Claim(t, "alone", "i-alone", func(c *api.NodeClaim) { delete(c.Labels, api.NodePoolLabelKey) })
	server.Node(t, "node-alone", "i-alone")
	l.until(t, "node-alone", func() bool { return isReady(t, "alone") })
	if label, has := readNode(t, "node-alone").Labels[api.NodePoolLabelKey]; has {
		t.Errorf("the node is of the pool %q", label)
	}
	server.Pod(t, "lonely", "node-alone")
	server.Delete(t, api.NodeClaimsPath+"/alone")
	l.until(t, "node-alone", func() bool { return readClaim(t, "alone") == nil })
	if readNode(t, "node-alone") != nil || len(l.ec2.running()) != 0 || !server.Reasons(t, "lonely")["Evicted"] {
		t.Errorf("node %v, running %v, events %v", readNode(t, "node-alone"), l.ec2.running(), server.Reasons(t, "lonely"))
	}
}
