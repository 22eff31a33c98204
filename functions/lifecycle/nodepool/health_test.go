package nodepool_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodepool"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/repair"
)

// launched is a claim that was launched at a time, and registered at another unless that is zero.
func launched(name string, at, registered time.Time) api.NodeClaim {
	made := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(at),
		Labels: map[string]string{api.NodePoolLabelKey: "default"}}}
	made.Status.ProviderID = "aws:///us-east-1a/i-" + name
	made.Status.Conditions = []metav1.Condition{{Type: api.ConditionTypeLaunched, Status: metav1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(at)}}
	if !registered.IsZero() {
		made.Status.Conditions = append(made.Status.Conditions,
			metav1.Condition{Type: api.ConditionTypeRegistered, Status: metav1.ConditionTrue,
				LastTransitionTime: metav1.NewTime(registered)})
	}
	return made
}

func good(name string, at time.Time) api.NodeClaim { return launched(name, at.Add(-time.Minute), at) }

// bad is a claim that is given up at the time.
func bad(name string, at time.Time) api.NodeClaim {
	return launched(name, at.Add(-15*time.Minute), time.Time{})
}

// world is a pool that keeps its written statuses.
type world struct {
	pool  *api.NodePool
	class api.EC2NodeClass
}

func newWorld() *world {
	w := &world{pool: pool(), class: class(metav1.ConditionTrue)}
	w.pool.CreationTimestamp, w.pool.Generation, w.class.Generation = metav1.NewTime(now.Add(-time.Hour)), 1, 1
	return w
}

// look writes the status, and returns the condition's status and reason.
func (w *world) look(at time.Time, claims ...api.NodeClaim) string {
	patch := nodepool.StatusPatch(w.pool, nodepool.Seen{Claims: claims, Classes: []api.EC2NodeClass{w.class}}, at)
	if patch != nil {
		status := patch["status"].(map[string]any)
		if conditions, written := status["conditions"]; written {
			w.pool.Status.Conditions = conditions.([]metav1.Condition)
		}
		if generation, written := status["nodeClassObservedGeneration"]; written {
			w.pool.Status.NodeClassObservedGeneration = generation.(int64)
		}
	}
	health := api.GetCondition(w.pool.Status.Conditions, api.ConditionTypeNodeRegistrationHealthy)
	return string(health.Status) + " " + health.Reason
}

const (
	unknown   = "Unknown AwaitingReconciliation"
	healthy   = "True NodeRegistrationHealthy"
	unhealthy = "False RegistrationFailed"
)

func expect(t *testing.T, when, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s, want %s", when, got, want)
	}
}

func TestRegistrationHealth(t *testing.T) {
	t.Run("goes by the last four launches", func(t *testing.T) {
		w := newWorld()
		expect(t, "before any launch", w.look(now), unknown)
		expect(t, "while one is under way", w.look(now, launched("a", now, time.Time{})), unknown)
		expect(t, "one failed", w.look(now, bad("a", now)), healthy)
		expect(t, "it is seen again", w.look(now, bad("a", now)), healthy)
		expect(t, "it is gone", w.look(now), healthy)
		at := now.Add(time.Minute)
		expect(t, "two failed", w.look(at, bad("b", at)), unhealthy)
		expect(t, "and are gone", w.look(at), unhealthy)
		at = at.Add(time.Minute)
		expect(t, "two of three failed", w.look(at, good("c", at)), unhealthy)
		at = at.Add(time.Minute)
		expect(t, "two of four failed", w.look(at, good("d", at)), unhealthy)
		at = at.Add(time.Minute)
		expect(t, "one of the last four failed", w.look(at, good("e", at)), healthy)
		if api.ConditionTrue(w.pool.Status.Conditions, api.ConditionTypeNodeRepairBlocked) ||
			!api.ConditionTrue(w.pool.Status.Conditions, api.ConditionReady) {
			t.Errorf("conditions %+v", w.pool.Status.Conditions)
		}
	})
	t.Run("begins anew when the pool changes", func(t *testing.T) {
		w := newWorld()
		expect(t, "two failed", w.look(now, bad("a", now), bad("b", now)), unhealthy)
		w.pool.Generation++
		at := now.Add(time.Minute)
		expect(t, "changed", w.look(at, bad("a", now), bad("b", now)), unknown)
		expect(t, "seen again", w.look(at.Add(time.Minute), bad("a", now), bad("b", now)), unknown)
		expect(t, "a new one registers", w.look(at.Add(time.Hour), good("c", at.Add(time.Minute))), healthy)
	})
	t.Run("begins anew when its class changes", func(t *testing.T) {
		w := newWorld()
		expect(t, "one registered", w.look(now, good("a", now)), healthy)
		w.class.Generation++
		expect(t, "changed", w.look(now.Add(time.Minute), good("a", now)), unknown)
		expect(t, "seen again", w.look(now.Add(2*time.Minute), good("a", now)), unknown)
	})
	t.Run("a claim deleted before its time has not failed", func(t *testing.T) {
		w := newWorld()
		early := bad("a", now)
		at := metav1.NewTime(now.Add(-time.Minute))
		early.DeletionTimestamp = &at
		late := bad("b", now)
		late.DeletionTimestamp = &metav1.Time{Time: now}
		expect(t, "early", w.look(now, early), unknown)
		expect(t, "in time", w.look(now, late), healthy)
		const want = "Launches since 2026-03-02T11:00:00Z: b failed 2026-03-02T12:00:00Z"
		condition := api.GetCondition(w.pool.Status.Conditions, api.ConditionTypeNodeRegistrationHealthy)
		if condition.Message != want {
			t.Errorf("message %q", condition.Message)
		}
	})
	t.Run("a claim without an instance fails after five minutes", func(t *testing.T) {
		w := newWorld()
		var claims []api.NodeClaim
		for _, name := range []string{"a", "b"} {
			claim := launched(name, now.Add(-5*time.Minute), time.Time{})
			claim.Status = api.NodeClaimStatus{}
			claims = append(claims, claim)
		}
		expect(t, "before", w.look(now.Add(-time.Second), claims...), unknown)
		expect(t, "after", w.look(now, claims...), unhealthy)
	})
	t.Run("a claim whose node has vanished registered before", func(t *testing.T) {
		w := newWorld()
		vanished := bad("a", now)
		vanished.Status.NodeName = "node-a"
		expect(t, "two vanished", w.look(now, vanished, vanished), unknown)
	})
	t.Run("what Karpenter wrote stands until something is seen", func(t *testing.T) {
		w := newWorld()
		w.pool.Generation, w.pool.Status.NodeClassObservedGeneration = 7, 1
		w.pool.Status.Conditions = []metav1.Condition{{Type: api.ConditionTypeNodeRegistrationHealthy,
			Status: metav1.ConditionFalse, Reason: api.ReasonRegistrationFailed, Message: "Failed to register node",
			ObservedGeneration: 7}}
		expect(t, "adopted", w.look(now, good("old", now.Add(-time.Hour))), unhealthy)
		expect(t, "the next", w.look(now.Add(time.Minute), good("a", now.Add(time.Minute))), healthy)
	})
	t.Run("the order in which claims are seen changes nothing", func(t *testing.T) {
		var claims []api.NodeClaim
		for i := range 9 {
			at := now.Add(time.Duration(i/2) * time.Second)
			if i%3 == 0 {
				claims = append(claims, bad(fmt.Sprint("claim-", i), at))
			} else {
				claims = append(claims, good(fmt.Sprint("claim-", i), at))
			}
		}
		at := now.Add(time.Minute)
		all := newWorld()
		want := all.look(at, claims...)
		one := newWorld()
		for i := range claims {
			one.look(at, claims[len(claims)-1-i])
		}
		expect(t, "one by one", one.look(at), want)
		message := func(w *world) string {
			return api.GetCondition(w.pool.Status.Conditions, api.ConditionTypeNodeRegistrationHealthy).Message
		}
		if message(one) != message(all) || strings.Count(message(all), ", ") != 3 {
			t.Errorf("%q\n%q", message(one), message(all))
		}
	})
}

// conditionsOf are the conditions that the patch of the pool's status writes.
func conditionsOf(p *api.NodePool, seen nodepool.Seen) []metav1.Condition {
	return nodepool.StatusPatch(p, seen, now)["status"].(map[string]any)["conditions"].([]metav1.Condition)
}

func TestAPoolWithTooManyUnhealthyNodesShowsIt(t *testing.T) {
	p := pool()
	blocked := []repair.PoolHealth{{Pool: "other"}, {Pool: "default", Nodes: 5, Unhealthy: 3,
		Waiting: []string{"a", "b"}}}
	conditions := conditionsOf(p, nodepool.Seen{Blocked: blocked})
	found := api.GetCondition(conditions, api.ConditionTypeNodeRepairBlocked)
	if found == nil || found.Status != metav1.ConditionTrue ||
		!strings.HasPrefix(found.Message, "more than 20% nodes are unhealthy in the nodepool: 3 of 5 are") {
		t.Fatalf("condition %+v", found)
	}
	p.Status.Conditions = slices.Clone(conditions)
	conditions = conditionsOf(p, nodepool.Seen{Blocked: blocked[:1]})
	if found := api.GetCondition(conditions, api.ConditionTypeNodeRepairBlocked); found != nil {
		t.Errorf("it stays: %+v", found)
	}
}

func TestAPoolWhoseReleaseHaltedShowsIt(t *testing.T) {
	p := pool()
	found := func(halts nodepool.Halts) *metav1.Condition {
		p.Status.Conditions = slices.Clone(conditionsOf(p, nodepool.Seen{Halted: halts}))
		return api.GetCondition(p.Status.Conditions, api.ConditionTypeReleaseHalted)
	}
	is := found(nodepool.Halts{Why: map[string]string{"default": "node a: bad", "other": "x"}})
	if is == nil || is.Status != metav1.ConditionTrue || is.Reason != api.ReasonNewNodesWorse || is.Message != "node a: bad" {
		t.Fatalf("condition %+v", is)
	}
	if patch := nodepool.StatusPatch(p, nodepool.Seen{Halted: nodepool.Halts{Unread: true}}, now)["status"]; patch != nil {
		if _, changes := patch.(map[string]any)["conditions"]; changes {
			t.Errorf("what is not known changes it: %v", patch)
		}
	}
	if is = found(nodepool.Halts{Why: map[string]string{"other": "x"}}); is != nil {
		t.Errorf("it stays: %+v", is)
	}
}
