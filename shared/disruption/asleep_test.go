package disruption_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/drift"
	"github.com/whittle-dev/whittle/shared/hours"
)

// poolOf is the pool default with pairs of annotations.
func poolOf(budgetNodes string, pairs ...string) api.NodePool {
	pool := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", Annotations: map[string]string{}}}
	pool.Spec.Disruption.Budgets = []api.Budget{{Nodes: budgetNodes}}
	for i := 0; i < len(pairs); i += 2 {
		pool.Annotations[pairs[i]] = pairs[i+1]
	}
	return pool
}

func candidatesOf(pool api.NodePool, nodes []disruption.Node) (asleep, others, notices string) {
	cluster := &disruption.Cluster{Pools: []api.NodePool{pool}, Nodes: nodes, Origins: map[string]*drift.Origin{}}
	candidates, noticed := disruption.Candidates(cluster, monday)
	ending, rest := disruption.Asleep(candidates)
	names := func(list []disruption.Candidate) string {
		var texts []string
		for _, candidate := range list {
			texts = append(texts, fmt.Sprintf("%s %s", candidate.Node.Claim.Name, candidate.Reason))
		}
		return strings.Join(texts, ", ")
	}
	var texts []string
	for _, notice := range noticed {
		texts = append(texts, notice.Message)
	}
	return names(ending), names(rest), strings.Join(texts, "; ")
}

func TestNodesOfASleepingPoolEnd(t *testing.T) {
	const night, other = "Mon 08:00-18:00", "Tue 08:00-18:00" // monday is at 12:00
	protected := with(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "p", Annotations: map[string]string{api.DoNotDisruptAnnotationKey: "true"}}})
	for _, test := range []struct {
		name                   string
		pool                   api.NodePool
		nodes                  []disruption.Node
		asleep, others, notice string
	}{
		{name: "all within the budget", pool: poolOf("100%", api.SleepAnnotationKey, night),
			nodes: []disruption.Node{node("a", 0, occupied), node("b", 0, occupied)}, asleep: "a Asleep, b Asleep"},
		{name: "no more than the budget allows, empty ones first", pool: poolOf("1", api.SleepAnnotationKey, night),
			nodes: []disruption.Node{node("a", 0, occupied), node("b", 0)}, asleep: "b Asleep",
			notice: "No allowed disruptions for disruption reason Asleep"},
		{name: "not outside of its windows", pool: poolOf("100%", api.SleepAnnotationKey, other),
			nodes: []disruption.Node{node("a", 0)}},
		{name: "not while it wakes", pool: poolOf("100%", api.SleepAnnotationKey, "Mon 08:00-12:04"),
			nodes: []disruption.Node{node("a", 0)}},
		{name: "not with a broken window", pool: poolOf("100%", api.SleepAnnotationKey, "all day"),
			nodes: []disruption.Node{node("a", 0)}},
		{name: "not outside of a maintenance window alone",
			pool:  poolOf("100%", api.SleepAnnotationKey, night, api.MaintenanceWindowAnnotationKey, other),
			nodes: []disruption.Node{node("a", 0)}, asleep: "a Asleep"},
		{name: "a protected pod keeps its node", pool: poolOf("100%", api.SleepAnnotationKey, night),
			nodes: []disruption.Node{node("a", 0, protected), node("b", 0)}, asleep: "b Asleep",
			notice: "karpenter.sh/do-not-disrupt"},
		{name: "until the grace period", pool: poolOf("100%", api.SleepAnnotationKey, night),
			nodes: []disruption.Node{node("a", 0, protected, graceful)}, asleep: "a Asleep"},
		{name: "a drifted one is not replaced", pool: poolOf("100%", api.SleepAnnotationKey, night),
			nodes: []disruption.Node{drifted("a", time.Minute)}, asleep: "a Asleep"},
		{name: "one that AWS takes is not replaced", pool: poolOf("100%", api.SleepAnnotationKey, night),
			nodes: []disruption.Node{departing("a", 24*time.Hour)}, asleep: "a Asleep"},
		{name: "an unhealthy one is not replaced", pool: poolOf("100%", api.SleepAnnotationKey, night),
			nodes: healthy(4, sick("a", time.Hour)), asleep: "a Unhealthy, healthy-0 Asleep, healthy-1 Asleep, " +
				"healthy-2 Asleep", notice: "due to blocking budget"},
	} {
		t.Run(test.name, func(t *testing.T) {
			asleep, others, notices := candidatesOf(test.pool, test.nodes)
			if asleep != test.asleep || others != test.others || !strings.Contains(notices, test.notice) {
				t.Errorf("asleep %q, others %q, notices %q", asleep, others, notices)
			}
		})
	}
}

func TestTheWholeClusterSleeps(t *testing.T) {
	pool := poolOf("100%")
	pool.ClusterOrder = &hours.Order{SleepUntil: monday.Add(time.Hour)}
	if asleep, _, _ := candidatesOf(pool, []disruption.Node{node("a", 0, occupied)}); asleep != "a Asleep" {
		t.Errorf("asleep %q", asleep)
	}
	pool.ClusterOrder = &hours.Order{SleepUntil: monday}
	if asleep, _, _ := candidatesOf(pool, []disruption.Node{node("a", 0, occupied)}); asleep != "" {
		t.Errorf("asleep after the order's end: %q", asleep)
	}
}

func TestMaintenanceWindowsHoldForEveryReason(t *testing.T) {
	const key = api.MaintenanceWindowAnnotationKey
	expiring := func(window string) api.NodePool {
		return poolOf("100%", key, window, api.ExpireWithinBudgetsAnnotationKey, "true")
	}
	for _, test := range []struct {
		name           string
		pool           api.NodePool
		nodes          []disruption.Node
		others, notice string
	}{
		{name: "drift waits", pool: poolOf("100%", key, "Sun"), nodes: []disruption.Node{drifted("a", time.Minute)},
			notice: "for disruption reason Drifted: its maintenance window opens at Sun 8 Mar 00:00 UTC"},
		{name: "drift goes inside", pool: poolOf("100%", key, "Mon"),
			nodes: []disruption.Node{drifted("a", time.Minute)}, others: "a Drifted"},
		{name: "expiry waits", pool: expiring("Sun"), nodes: []disruption.Node{node("a", 0, expires(time.Minute))},
			notice: "Expired: its maintenance window opens at"},
		{name: "expiry goes inside", pool: expiring("Mon"), nodes: []disruption.Node{node("a", 0, expires(time.Minute))},
			others: "a Expired"},
		{name: "rebalance waits", pool: poolOf("100%", key, "Sun"),
			nodes: []disruption.Node{recommended("a", time.Minute, readyFor(time.Hour))}, notice: "Rebalance: its maintenance"},
		{name: "rebalance goes inside", pool: poolOf("100%", key, "Mon"),
			nodes: []disruption.Node{recommended("a", time.Minute, readyFor(time.Hour))}, others: "a Rebalance"},
		{name: "a scheduled change waits for a window before its time", pool: poolOf("100%", key, "Wed"),
			nodes: []disruption.Node{departing("a", 72*time.Hour)}, notice: "ScheduledChange: its maintenance"},
		{name: "it does not wait for one that opens too late", pool: poolOf("100%", key, "Fri"),
			nodes: []disruption.Node{departing("a", 72*time.Hour)}, others: "a ScheduledChange"},
		{name: "nor for one that opens less than an hour before", pool: poolOf("100%", key, "Thu 11:30-14:00"),
			nodes: []disruption.Node{departing("a", 72*time.Hour)}, others: "a ScheduledChange"},
		{name: "nor for one that cannot be read", pool: poolOf("100%", key, "soon"),
			nodes: []disruption.Node{departing("a", 72*time.Hour)}, others: "a ScheduledChange"},
		{name: "it keeps to the budgets", pool: poolOf("0", key, "Fri"),
			nodes: []disruption.Node{departing("a", 72*time.Hour)}, notice: "due to blocking budget"},
		{name: "a repair does not wait", pool: poolOf("100%", key, "Sun"),
			nodes: healthy(4, sick("a", time.Hour)), others: "a Unhealthy"},
		{name: "one that cannot be read is named", pool: poolOf("100%", key, "soon"),
			nodes:  []disruption.Node{drifted("a", time.Minute)},
			notice: "metadata.annotations[whittle.dev/maintenance-window]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			asleep, others, notices := candidatesOf(test.pool, test.nodes)
			if asleep != "" || others != test.others || !strings.Contains(notices, test.notice) {
				t.Errorf("asleep %q, others %q, notices %q", asleep, others, notices)
			}
		})
	}
}

func TestEmptyNodesWaitForTheMaintenanceWindow(t *testing.T) {
	for window, want := range map[string]int{"Sun": 0, "Mon": 1} {
		pool := poolOf("100%", api.MaintenanceWindowAnnotationKey, window)
		pool.Spec.Disruption.ConsolidateAfter = api.DurationOf(0)
		cluster := &disruption.Cluster{Pools: []api.NodePool{pool}, Nodes: []disruption.Node{node("a", time.Hour)}}
		if removed := len(disruption.Empty(cluster, monday).Remove); removed != want {
			t.Errorf("%s: %d nodes are removed, want %d", window, removed, want)
		}
	}
}

func TestASleepingPoolHasNoReplicas(t *testing.T) {
	three := int64(3)
	pool := poolOf("100%", api.SleepAnnotationKey, "Mon 08:00-18:00")
	pool.Spec.Replicas = &three
	nodes := []disruption.Node{node("a", 0)}
	if scaling := disruption.Replicas(&pool, nodes, false, monday); scaling.Create > 0 || len(scaling.Delete) > 0 {
		t.Errorf("asleep: %+v", scaling)
	}
	if scaling := disruption.Replicas(&pool, nodes, false, monday.Add(6*time.Hour-4*time.Minute)); scaling.Create != 2 {
		t.Errorf("it wakes ahead: %+v", scaling)
	}
}
