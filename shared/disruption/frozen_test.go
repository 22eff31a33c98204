package disruption_test

import (
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/freeze"
)

const frozenBy = "is frozen by alice until Mon 2 Mar 13:00 UTC (INC-12)"

// frozen freezes the pool, or another one.
func frozen(pool api.NodePool, named string) api.NodePool {
	pool.Freezes = &freeze.Freezes{All: []freeze.Freeze{
		{Pool: named, Who: "alice", Reason: "INC-12", Until: monday.Add(time.Hour)}}}
	return pool
}

func TestAFrozenPoolKeepsItsNodes(t *testing.T) {
	const night = "Mon 08:00-18:00"
	inBudgets := poolOf("100%", api.ExpireWithinBudgetsAnnotationKey, "true")
	for _, test := range []struct {
		name                   string
		pool                   api.NodePool
		nodes                  []disruption.Node
		asleep, others, notice string
	}{
		{name: "drifted", pool: frozen(poolOf("100%"), ""), nodes: []disruption.Node{drifted("a", time.Minute)},
			notice: "reason Drifted: the cluster " + frozenBy},
		{name: "by its own freeze", pool: frozen(poolOf("100%"), "default"),
			nodes:  []disruption.Node{drifted("a", time.Minute)},
			notice: `reason Drifted: nodepool "default" ` + frozenBy},
		{name: "not by that of another", pool: frozen(poolOf("100%"), "batch"),
			nodes: []disruption.Node{drifted("a", time.Minute)}, others: "a Drifted"},
		{name: "expired", pool: frozen(inBudgets, ""), nodes: []disruption.Node{node("a", 0, expires(time.Second))},
			notice: "reason Expired: the cluster " + frozenBy},
		{name: "asleep", pool: frozen(poolOf("100%", api.SleepAnnotationKey, night), ""),
			nodes: []disruption.Node{node("a", 0, occupied)}, notice: "reason Asleep: the cluster " + frozenBy},
		{name: "unhealthy ones go", pool: frozen(poolOf("100%"), ""), nodes: healthy(4, sick("a", time.Hour)),
			others: "a Unhealthy"},
		{name: "those that AWS takes go", pool: frozen(poolOf("100%"), ""),
			nodes:  []disruption.Node{departing("a", 24*time.Hour), recommended("b", time.Minute)},
			others: "a ScheduledChange, b Rebalance"},
		{name: "those that AWS takes go from a pool that sleeps",
			pool:  frozen(poolOf("100%", api.SleepAnnotationKey, night), ""),
			nodes: []disruption.Node{departing("a", 24*time.Hour)}, asleep: "a ScheduledChange"},
	} {
		t.Run(test.name, func(t *testing.T) {
			asleep, others, notices := candidatesOf(test.pool, test.nodes)
			if asleep != test.asleep || others != test.others || !strings.Contains(notices, test.notice) {
				t.Errorf("asleep %q, others %q, notices %q", asleep, others, notices)
			}
		})
	}
}

func TestAFrozenPoolKeepsEmptyNodes(t *testing.T) {
	pools := []api.NodePool{frozen(pool("default", "0s", "100%"), "")}
	cluster := &disruption.Cluster{Pools: pools, Nodes: []disruption.Node{
		node("due", time.Hour), node("marked", time.Hour, tainted),
	}}
	decided := disruption.Empty(cluster, monday)
	if names(decided.Remove) != "" || names(decided.Restore) != "marked" {
		t.Errorf("removes %q, restores %q", names(decided.Remove), names(decided.Restore))
	}
	if len(decided.Notices) != 1 || !strings.HasSuffix(decided.Notices[0].Message, "reason Empty: the cluster "+frozenBy) {
		t.Errorf("notices %+v", decided.Notices)
	}
	if later := disruption.Empty(cluster, monday.Add(time.Hour)); names(later.Remove) != "due,marked" {
		t.Errorf("after its end it removes %q", names(later.Remove))
	}
}

func TestAFrozenReplacementWaits(t *testing.T) {
	old := func(reason api.DisruptionReason) *disruption.Cluster {
		pools := []api.NodePool{frozen(pool("default", "0s", "100%"), "default")}
		return &disruption.Cluster{Pools: pools, Nodes: []disruption.Node{
			node("old", 0, annotated(disruption.ReplacedByAnnotationKey, "new"), begunAgo(time.Hour), because(reason)),
			node("new", 0, annotated(disruption.ReplacesAnnotationKey, "old")),
		}}
	}
	held := disruption.Replacing(old(api.DisruptionReasonDrifted), monday)
	if len(held.Finish)+len(held.RollBack)+len(held.Unbegun) > 0 || len(held.Notices) != 1 ||
		held.Notices[0].Message != `Its replacements are ready, and it waits: nodepool "default" `+frozenBy {
		t.Errorf("%+v", held)
	}
	after := disruption.Replacing(old(api.DisruptionReasonDrifted), monday.Add(time.Hour))
	if names(after.Finish) != "old" {
		t.Errorf("after its end: %+v", after)
	}
	if answer := disruption.Replacing(old(disruption.ReasonRebalance), monday); names(answer.Finish) != "old" {
		t.Errorf("an answer to AWS: %+v", answer)
	}
}

func TestAFrozenPoolSteersNoPods(t *testing.T) {
	cluster := &disruption.Cluster{Pools: []api.NodePool{frozen(steering(), "")}, Nodes: []disruption.Node{
		priced("a", "3", candidate), priced("b", "2"), priced("c", "1"), priced("d", "1"),
	}}
	if got := steer(t, cluster); got != "-a" {
		t.Errorf("changes %q", got)
	}
}

func TestAFrozenPoolKeepsItsReplicas(t *testing.T) {
	replicas := int64(1)
	fixed := pool("default", "0s", "100%")
	fixed.Spec.Replicas = &replicas
	nodes := []disruption.Node{node("a", 0), node("b", 0)}
	if scaled := disruption.Replicas(&fixed, nodes, false, monday); len(scaled.Delete) != 1 {
		t.Fatalf("%+v", scaled)
	}
	held := frozen(fixed, "")
	if scaled := disruption.Replicas(&held, nodes, false, monday); len(scaled.Delete) != 0 {
		t.Errorf("frozen, it deletes %s", names(scaled.Delete))
	}
	if scaled := disruption.Replicas(&held, nil, false, monday); scaled.Create != 1 {
		t.Errorf("a freeze of disruption holds a launch: %+v", scaled)
	}
	held.Freezes.All[0].Launches = true
	if scaled := disruption.Replicas(&held, nil, false, monday); scaled.Create != 0 {
		t.Errorf("a freeze of launches creates %d", scaled.Create)
	}
}
