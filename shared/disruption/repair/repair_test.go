package repair_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/repair"
)

// monday is Monday, 2 March 2026, 12:00 UTC.
var monday = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// nodeHealth is a healthy node of the pool with the changes.
func nodeHealth(name, pool string, change ...func(*repair.NodeHealth)) repair.NodeHealth {
	p := repair.NodeHealth{
		Claim: &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}},
		Node:  &corev1.Node{},
	}
	if pool != "" {
		p.Claim.Labels[api.NodePoolLabelKey] = pool
	}
	p.Node.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(monday.Add(-time.Hour))},
	}
	for _, f := range change {
		f(&p)
	}
	return p
}

func reports(
	kind corev1.NodeConditionType,
	status corev1.ConditionStatus,
	since time.Duration,
) func(*repair.NodeHealth) {
	return func(p *repair.NodeHealth) {
		p.Node.Status.Conditions = slices.DeleteFunc(
			p.Node.Status.Conditions,
			func(c corev1.NodeCondition) bool { return c.Type == kind },
		)
		p.Node.Status.Conditions = append(
			p.Node.Status.Conditions,
			corev1.NodeCondition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(monday.Add(-since))},
		)
	}
}

// because is a broken accelerator with the reason.
func because(reason string, since time.Duration) func(*repair.NodeHealth) {
	return func(p *repair.NodeHealth) {
		reports("AcceleratedHardwareReady", corev1.ConditionFalse, since)(p)
		p.Node.Status.Conditions[len(p.Node.Status.Conditions)-1].Reason = reason
	}
}

func impaired(since time.Duration) func(*repair.NodeHealth) {
	return func(p *repair.NodeHealth) {
		p.Impairment = &repair.Impairment{Check: "SystemStatus", Since: monday.Add(-since)}
	}
}

// reboots gives the claim the condition Rebooting since a time ago.
func reboots(status metav1.ConditionStatus, since time.Duration) func(*repair.NodeHealth) {
	return func(p *repair.NodeHealth) {
		p.Claim.Status.Conditions = []metav1.Condition{{
			Type: api.ConditionTypeRebooting, Status: status, LastTransitionTime: metav1.NewTime(monday.Add(-since)),
		}}
	}
}

func both(first, second func(*repair.NodeHealth)) func(*repair.NodeHealth) {
	return func(p *repair.NodeHealth) { first(p); second(p) }
}

func endOrdered(p *repair.NodeHealth) { at := metav1.NewTime(monday); p.Claim.DeletionTimestamp = &at }

func TestAnUnhealthyNodeIsRepairedAfterItsTime(t *testing.T) {
	const no, unknown = corev1.ConditionFalse, corev1.ConditionUnknown
	for _, test := range []struct {
		name   string
		change func(*repair.NodeHealth)
		want   string
	}{
		{"a healthy node", func(*repair.NodeHealth) {}, ""},
		{"not ready for half an hour", reports(corev1.NodeReady, no, 30*time.Minute), "Ready is False since"},
		{"not ready for a little less", reports(corev1.NodeReady, no, 30*time.Minute-time.Second), ""},
		{"unreachable for half an hour", reports(corev1.NodeReady, unknown, 30*time.Minute), "Ready is Unknown since"},
		{
			"a GPU's known error for ten minutes", because("NvidiaXID79Error", 10*time.Minute),
			"AcceleratedHardwareReady is False",
		},
		{"a GPU's known error for less", because("NvidiaXID79Error", 10*time.Minute-time.Second), ""},
		{"a GPU's other error for ten minutes", because("NvidiaXID13Error", 10*time.Minute), ""},
		{
			"a GPU's other error for half an hour", because("NvidiaXID13Error", 30*time.Minute),
			"AcceleratedHardwareReady is False",
		},
		{
			"a node that is being rebooted",
			both(because("XID63", time.Hour), reboots(metav1.ConditionTrue, time.Minute)), "",
		},
		{
			"a reboot that ended ten minutes ago",
			both(because("XID63", time.Hour), reboots(metav1.ConditionFalse, 10*time.Minute)), "AcceleratedHardwareReady",
		},
		{
			"a reboot that ended less than ten minutes ago",
			both(because("XID63", time.Hour), reboots(metav1.ConditionFalse, 10*time.Minute-time.Second)), "",
		},
		{
			"a status check since before the reboot", both(impaired(time.Hour), reboots(metav1.ConditionFalse, time.Minute)), "",
		},
		{"an unhealthy node that is new", func(p *repair.NodeHealth) {
			reports(corev1.NodeReady, no, time.Hour)(p)
			p.Node.CreationTimestamp = metav1.NewTime(monday.Add(-10 * time.Minute))
		}, ""},
		{"an accelerator in unknown state", reports("AcceleratedHardwareReady", unknown, time.Hour), ""},
		{"broken storage", reports("StorageReady", no, 30*time.Minute), "StorageReady"},
		{"broken networking", reports("NetworkingReady", no, 30*time.Minute), "NetworkingReady"},
		{"a broken kernel", reports("KernelReady", no, 30*time.Minute), "KernelReady"},
		{"a broken container runtime", reports("ContainerRuntimeReady", no, 30*time.Minute), "ContainerRuntimeReady"},
		{"memory pressure does not count", reports(corev1.NodeMemoryPressure, corev1.ConditionTrue, time.Hour), ""},
		{"a status check that fails for two minutes", impaired(2 * time.Minute), "SystemStatus is impaired since"},
		{"a status check that fails for less", impaired(2*time.Minute - time.Second), ""},
		{
			"a condition without a time",
			func(p *repair.NodeHealth) {
				p.Node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: unknown}}
			}, "",
		},
		{
			"a node whose end has been ordered",
			func(p *repair.NodeHealth) { reports(corev1.NodeReady, no, time.Hour)(p); endOrdered(p) }, "",
		},
		{
			"the condition that is not tolerated any more counts",
			func(p *repair.NodeHealth) { reports(corev1.NodeReady, no, time.Minute)(p); impaired(time.Hour)(p) }, "SystemStatus",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			due, blocked := repair.Due([]repair.NodeHealth{nodeHealth("a", "default", test.change)}, monday)
			if len(blocked) != 0 {
				t.Errorf("blocked %v", blocked)
			}
			condition, found := due["a"]
			if found != (test.want != "") || found && !strings.HasPrefix(condition.String(), test.want) {
				t.Errorf("due %v, want %q", due, test.want)
			}
		})
	}
}

func TestNoNodeOfAPoolWithManyUnhealthyNodesIsRepaired(t *testing.T) {
	late, early := reports(
		corev1.NodeReady,
		corev1.ConditionUnknown,
		time.Hour,
	), reports(
		corev1.NodeReady,
		corev1.ConditionUnknown,
		time.Minute,
	)
	pool := func(name string, well int, sick ...func(*repair.NodeHealth)) []repair.NodeHealth {
		var nodes []repair.NodeHealth
		for i := range well {
			nodes = append(nodes, nodeHealth(fmt.Sprintf("%s-well-%d", name, i), name))
		}
		for i, change := range sick {
			nodes = append(nodes, nodeHealth(fmt.Sprintf("%s-%d", name, i), name, change))
		}
		return nodes
	}
	for _, test := range []struct {
		name    string
		nodes   []repair.NodeHealth
		due     string
		blocked string
	}{
		{"a fifth may be unhealthy", pool("p", 8, late, late), "p-0 p-1", ""},
		{"more may not", pool("p", 7, late, late, late), "", "p 3/10 2"},
		{"the fifth is rounded up", pool("p", 4, late, late), "p-0 p-1", ""},
		{"one node is a fifth of itself", pool("p", 0, late), "p-0", ""},
		{"tolerated conditions count", pool("p", 7, late, early, early), "", "p 3/10 2"},
		{"nothing is blocked where nothing is due", pool("p", 2, early, early, early), "", ""},
		{
			"nodes whose end was ordered count", pool("p", 3, late, func(p *repair.NodeHealth) { late(p); endOrdered(p) }), "",
			"p 2/5 1",
		},
		{"each pool by itself", append(pool("p", 9, late), pool("q", 1, late, late)...), "p-0", "q 2/3 1"},
		{"a node without a pool is not repaired", append(pool("p", 9), pool("", 0, late, late)...), "", ""},
		{"but for its status check", append(pool("p", 9), pool("", 0, impaired(time.Hour))...), "-0", ""},
		{"unless too many nodes are unhealthy", append(pool("p", 1, early), pool("", 0, impaired(time.Hour))...), "",
			" 2/3 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			due, blocked := repair.Due(test.nodes, monday)
			if got := strings.Join(slices.Sorted(maps.Keys(due)), " "); got != test.due {
				t.Errorf("due %q, want %q", got, test.due)
			}
			var texts []string
			for _, pool := range blocked {
				texts = append(texts, fmt.Sprintf("%s %d/%d %d", pool.Pool, pool.Unhealthy, pool.Nodes, pool.Allowed()))
			}
			if got := strings.Join(texts, ", "); got != test.blocked {
				t.Errorf("blocked %q, want %q", got, test.blocked)
			}
		})
	}
}

func TestTheDrainOfARepairIsBounded(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*repair.NodeHealth)
		want   time.Duration
	}{
		{"not ready", reports(corev1.NodeReady, corev1.ConditionFalse, time.Hour), 10 * time.Minute},
		{"a GPU's known error", because("XID64", time.Hour), 5 * time.Minute},
		{"a GPU's known error beside another condition", func(p *repair.NodeHealth) {
			because("XID64", time.Hour)(p)
			reports("KernelReady", corev1.ConditionFalse, time.Hour)(p)
		}, 5 * time.Minute},
		{"a node that has recovered", func(*repair.NodeHealth) {}, 10 * time.Minute},
	} {
		p := nodeHealth("a", "default", test.change)
		if got := repair.DrainBound(p.Node); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestARebootClearsErrorsOfAGPU(t *testing.T) {
	for reason, want := range map[string]bool{
		"NvidiaXID63Error": true, "XID46": true, "XID158": true, "XID64": false, "XID79": false, "XID13": false,
		"XID63 and XID79": false,
	} {
		due, _ := repair.Due([]repair.NodeHealth{nodeHealth("a", "default", because(reason, time.Hour))}, monday)
		if got, found := due["a"]; !found || got.RebootClears != want || got.Reason != reason {
			t.Errorf("%s: %+v", reason, got)
		}
	}
	// A condition that a reboot does not clear comes first, once it is not tolerated any more.
	for since, want := range map[time.Duration]string{
		time.Minute: "AcceleratedHardwareReady", time.Hour: "KernelReady",
	} {
		change := both(because("XID63", time.Hour), reports("KernelReady", corev1.ConditionFalse, since))
		due, _ := repair.Due([]repair.NodeHealth{nodeHealth("a", "default", change)}, monday)
		if got := due["a"]; got.Condition != want {
			t.Errorf("the kernel is broken for %s: %+v", since, got)
		}
	}
}
