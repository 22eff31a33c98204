package disruption_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/budget"
)

// withGPUError is a node whose GPU has had the error for an hour.
func withGPUError(name, reason string, change ...func(*disruption.Node)) disruption.Node {
	return node(name, 0, append([]func(*disruption.Node){func(n *disruption.Node) {
		n.Node.Status.Conditions = append(n.Node.Status.Conditions, corev1.NodeCondition{
			Type: "AcceleratedHardwareReady", Status: corev1.ConditionFalse, Reason: reason,
			LastTransitionTime: metav1.NewTime(monday.Add(-time.Hour)),
		})
	}}, change...)...)
}

// rebooting is a node whose reboot was ordered. It is not initialized, as after EC2 has accepted.
func rebooting(n *disruption.Node) {
	n.Claim.Status.Conditions = []metav1.Condition{
		{Type: api.ConditionTypeInitialized, Status: metav1.ConditionUnknown},
		{Type: api.ConditionTypeRebooting, Status: metav1.ConditionTrue},
	}
	delete(n.Node.Labels, api.NodeInitializedLabelKey)
}

// orderedOnly is a node whose reboot was ordered, and that is initialized until EC2 has accepted.
func orderedOnly(n *disruption.Node) {
	n.Claim.Status.Conditions = append(n.Claim.Status.Conditions,
		metav1.Condition{Type: api.ConditionTypeRebooting, Status: metav1.ConditionTrue})
}

func poolWithBudget(nodes string) api.NodePool {
	pool := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Disruption.Budgets = []api.Budget{{Nodes: nodes}}
	pool.Default()
	return pool
}

func TestReboots(t *testing.T) {
	grace := func(d time.Duration) func(*disruption.Node) {
		return func(n *disruption.Node) { n.Claim.Spec.TerminationGracePeriod = &metav1.Duration{Duration: d} }
	}
	twice := annotated(api.RebootsAnnotationKey, monday.Add(-2*time.Hour).Format(time.RFC3339)+","+
		monday.Add(-time.Hour).Format(time.RFC3339))
	longAgo := annotated(api.RebootsAnnotationKey, monday.Add(-48*time.Hour).Format(time.RFC3339)+","+
		monday.Add(-time.Hour).Format(time.RFC3339))
	for _, test := range []struct {
		name  string
		node  disruption.Node
		drain time.Duration // zero for a replacement
	}{
		{"an error that a reboot may end", withGPUError("a", "XID63"), 5 * time.Minute},
		{"a claim with a shorter grace period", withGPUError("a", "XID63", grace(time.Minute)), time.Minute},
		{"a claim with a longer grace period", withGPUError("a", "XID63", grace(time.Hour)), 5 * time.Minute},
		{"broken hardware", withGPUError("a", "XID79"), 0},
		{"a node that is not ready", sick("a", time.Hour), 0},
		{"the third repair within a day", withGPUError("a", "XID63", twice), 0},
		{"the third repair within two days", withGPUError("a", "XID63", longAgo), 5 * time.Minute},
	} {
		s := &disruption.Cluster{Pools: []api.NodePool{poolWithBudget("100%")}, Nodes: healthy(4, test.node)}
		candidates, _ := disruption.Candidates(s, monday)
		reboots, replaced := disruption.Reboots(candidates, monday)
		if len(reboots)+len(replaced) != 1 {
			t.Fatalf("%s: reboots %v, replaces %v", test.name, reboots, replaced)
		}
		if got := len(reboots) == 1; got != (test.drain > 0) {
			t.Errorf("%s: rebooted %t", test.name, got)
		} else if got && (reboots[0].Drain != test.drain || reboots[0].Because() != "AcceleratedHardwareReady/XID63") {
			t.Errorf("%s: drains for %s, because of %s", test.name, reboots[0].Drain, reboots[0].Because())
		}
	}
}

// TestARebootingNodeTakesOfEveryBudget holds that a node that is rebooted is nobody's candidate, and that
// the other nodes of its pool wait for it.
func TestARebootingNodeTakesOfEveryBudget(t *testing.T) {
	for name, state := range map[string]func(*disruption.Node){"ordered": orderedOnly, "issued": rebooting} {
		t.Run(name, func(t *testing.T) {
			ill := withGPUError("ill", "XID63", state)
			s := &disruption.Cluster{
				Pools: []api.NodePool{poolWithBudget("2")},
				Nodes: healthy(8, ill, withGPUError("next", "XID63"), drifted("old", time.Minute)),
			}
			chosen, _ := disruption.Candidates(s, monday)
			if len(chosen) != 1 || chosen[0].Node.Claim.Name != "next" {
				t.Errorf("chosen %+v", chosen)
			}
			if due := names(disruption.Empty(s, monday).Due); strings.Contains(due, "ill") {
				t.Error("it counts as empty")
			}
			if s.Movable([]string{"ill"}, monday) != nil {
				t.Error("consolidation may move it")
			}
			for _, reason := range []api.DisruptionReason{
				api.DisruptionReasonEmpty, api.DisruptionReasonUnderutilized, api.DisruptionReasonUnhealthy,
			} {
				if allowed, _ := s.Allowances(reason, monday); allowed["default"] != 1 {
					t.Errorf("%s: %d nodes may go", reason, allowed["default"])
				}
			}
			s.Nodes = s.Nodes[:1] // a percentage is of this node too
			s.Pools = []api.NodePool{poolWithBudget("100%")}
			if allowed, _ := s.Allowances(api.DisruptionReasonEmpty, monday); allowed["default"] != 0 ||
				allowed["default"] == budget.Unlimited {
				t.Errorf("alone: %v", allowed)
			}
		})
	}
}
