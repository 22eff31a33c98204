package lifecycle

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/queue"
)

const spotPool = "m5.large:us-east-1a"

// spotCluster has claims of spot nodes with their nodes. The first are interrupted.
func spotCluster(nodes, interrupted int, now time.Time) *seen {
	s := &seen{}
	for i := range nodes {
		name := fmt.Sprintf("spot-%d", i)
		var claim api.NodeClaim
		claim.Name, claim.UID = name, types.UID("uid-"+name)
		claim.Labels = map[string]string{
			api.CapacityTypeLabelKey: api.CapacityTypeSpot, corev1.LabelInstanceTypeStable: "m5.large",
			corev1.LabelTopologyZone: "us-east-1a",
		}
		claim.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
		claim.Status.ProviderID = "aws:///us-east-1a/i-" + name
		var node corev1.Node
		node.Name, node.Spec.ProviderID = "node-"+name, claim.Status.ProviderID
		if i < interrupted {
			claim.DeletionTimestamp = &metav1.Time{Time: now}
			node.Annotations = map[string]string{api.InterruptedAnnotationKey: api.EventReasonSpotInterrupted}
		}
		s.claims, s.nodes = append(s.claims, claim), append(s.nodes, node)
	}
	return s
}

func interruptionsOf(t *testing.T, store inventory.Store) *catalog.Interruptions {
	t.Helper()
	stored, err := store.ConfigMap(t.Context(), "whittle-unavailable-offerings")
	if err != nil || stored == nil {
		return nil
	}
	known, err := inventory.CountInterruptions(t.Context(), store, catalog.SpotSeen{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// Each pass sees an interrupted node until its claim has gone, in this container and in others.
func TestAnInterruptionIsCountedOncePerNode(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	store := &configured{objects: map[string]*corev1.ConfigMap{}}
	clock := func() time.Time { return now }
	one, other := &Handler{now: clock}, &Handler{now: clock}
	s := spotCluster(5, 2, now)
	for range 5 {
		one.countInterruptions(t.Context(), store, s)
		other.countInterruptions(t.Context(), store, s)
		now = now.Add(3 * time.Second)
	}
	known := interruptionsOf(t, store)
	if got := known.Pools[spotPool].Interrupted; got != 2 {
		t.Errorf("2 nodes are %v interruptions", got)
	}
	if store.written != 1 {
		t.Errorf("the memory was written %d times", store.written)
	}
	// A pass that fails has counted nothing, and the next one does.
	s = spotCluster(5, 3, now)
	store.fails = errors.New("throttled")
	one.countInterruptions(t.Context(), store, s)
	store.fails = nil
	one.countInterruptions(t.Context(), store, s)
	if got := interruptionsOf(t, store).Pools[spotPool].Interrupted; got < 2.99 || got > 3.01 {
		t.Errorf("3 nodes are %v interruptions", got)
	}
}

func TestOnlyInterruptedSpotNodesAreCounted(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for name, change := range map[string]func(*api.NodeClaim, *corev1.Node){
		"an on-demand node": func(c *api.NodeClaim, _ *corev1.Node) { c.Labels[api.CapacityTypeLabelKey] = "on-demand" },
		"another event": func(_ *api.NodeClaim, n *corev1.Node) {
			n.Annotations[api.InterruptedAnnotationKey] = "InstanceStopping"
		},
		// A kubelet writes annotations of its own Node, and deletes no claim.
		"the word of a kubelet": func(c *api.NodeClaim, _ *corev1.Node) { c.DeletionTimestamp = nil },
		"another instance's node": func(_ *api.NodeClaim, n *corev1.Node) {
			n.Spec.ProviderID = "aws:///us-east-1a/i-other"
		},
		"another provisioner's node": func(c *api.NodeClaim, _ *corev1.Node) { c.Spec.NodeClassRef.Group = "example.com" },
		"a claim before its launch":  func(c *api.NodeClaim, _ *corev1.Node) { c.Status.ProviderID = "" },
		"a claim without its labels": func(c *api.NodeClaim, _ *corev1.Node) { c.Labels = nil },
	} {
		s := spotCluster(1, 1, now)
		if seen := spotSeen(s); len(seen.Interrupted) != 1 {
			t.Fatalf("the node is not counted: %+v", seen)
		}
		change(&s.claims[0], &s.nodes[0])
		if seen := spotSeen(s); len(seen.Interrupted) != 0 {
			t.Errorf("%s is counted", name)
		}
	}
}

func TestHoursOfSpotNodesAreCountedOnTicks(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	store := &configured{objects: map[string]*corev1.ConfigMap{}}
	h := &Handler{now: func() time.Time { return now }}
	s := spotCluster(10, 0, now)
	h.countInterruptions(t.Context(), store, s)
	if store.written != 0 {
		t.Error("a pass that is no tick's has counted hours")
	}
	s.tick = true
	for range 3*60 + 1 {
		h.countInterruptions(t.Context(), store, s)
		now = now.Add(time.Minute)
	}
	if known := interruptionsOf(t, store); known.Pools[spotPool].Hours < 29 || known.Pools[spotPool].Hours > 30 {
		t.Errorf("10 nodes of three hours are %v hours", known.Pools[spotPool].Hours)
	}
	if store.written != 4 {
		t.Errorf("three hours were written %d times", store.written)
	}
	store = &configured{objects: map[string]*corev1.ConfigMap{}}
	none := &seen{}
	none.tick = true
	(&Handler{now: h.now}).countInterruptions(t.Context(), store, none)
	if store.written != 0 {
		t.Error("a cluster without spot nodes writes")
	}
}

// TestInterruptedNodesReachPlans follows a node that interrupt took out of use to the rates of
// plans.
func TestInterruptedNodesReachPlans(t *testing.T) {
	l := newLife(t)
	l.clock.leaveHalfHour()
	l.ec2.launch("i-taken", map[string]string{api.NodeClaimTagKey: "taken"})
	server.Claim(t, "taken", "i-taken")
	server.Node(t, "node-taken", "i-taken")
	l.until(t, "node-taken", func() bool { return isReady(t, "taken") })
	pool := catalog.SpotPoolKey(readClaim(t, "taken").Labels)
	server.Patch(t, functiontest.NodesPath+"/node-taken", map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{api.InterruptedAnnotationKey: api.EventReasonSpotInterrupted},
	}})
	server.Delete(t, api.NodeClaimsPath+"/taken")
	client, err := l.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Other tests may have interrupted nodes of the pool.
	before := 0.0
	if known := interruptionsOf(t, client); known != nil {
		before = known.Pools[pool].Interrupted
	}
	wake := queue.Message{Cluster: "test", At: l.now(), Reason: queue.ReasonInterruption}
	for range 3 {
		if _, err := l.handle(t.Context(), wakes(t, wake)); err != nil {
			t.Fatal(err)
		}
	}
	known := interruptionsOf(t, client)
	// What was there decays by 3 % an hour.
	if got := known.Pools[pool].Interrupted; got < 0.9*before+0.99 || got > before+1.01 {
		t.Errorf("%s has %v interruptions, and had %v before", pool, got, before)
	}
	if rate := known.Rates(l.clock.now())[pool]; rate <= 0 {
		t.Errorf("%s has the rate %v", pool, rate)
	}
	l.until(t, "", func() bool { return readClaim(t, "taken") == nil })
}
