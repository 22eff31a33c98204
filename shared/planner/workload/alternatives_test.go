package workload_test

import (
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/planner/stagetest"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// zonesOf lists the zones of each alternative, as "a,b or c".
func zonesOf(a *workload.Alternatives) string {
	var texts []string
	for _, alternative := range a.List() {
		values, _ := alternative[zone].Values()
		texts = append(texts, strings.Join(values, ","))
	}
	return strings.Join(texts, " or ")
}

// inZones are alternatives of some zones each, as "a,b or c".
func inZones(text string) []scheduling.Requirements {
	var list []scheduling.Requirements
	for _, zones := range strings.Split(text, " or ") {
		list = append(list, scheduling.NewRequirements(scheduling.In(zone, strings.Split(zones, ",")...)))
	}
	return list
}

func TestNarrow(t *testing.T) {
	tests := []struct{ alternatives, zones, want string }{
		{"a,b or c", "a,c", "a or c"},
		{"a,b or c", "b", "b"},
		{"a,b or c", "d", ""},
	}
	for _, test := range tests {
		whole := workload.NewAlternatives(inZones(test.alternatives))
		got := whole.Narrow(scheduling.In(zone, strings.Split(test.zones, ",")...))
		if zonesOf(got) != test.want || (got == nil) != (test.want == "") {
			t.Errorf("%q narrowed to %q is %q, want %q", test.alternatives, test.zones, zonesOf(got), test.want)
		}
		if zonesOf(whole) != test.alternatives {
			t.Errorf("Narrow changed %q to %q", test.alternatives, zonesOf(whole))
		}
	}
}

func TestCombine(t *testing.T) {
	tests := []struct{ a, b, want string }{
		{"a,b", "b,c", "b"},
		{"a or b", "a,b", "a or b"},
		{"a or b", "b or c", "b"},
		{"a", "b", ""},
	}
	for _, test := range tests {
		if got := zonesOf(workload.Combine(inZones(test.a), inZones(test.b))); got != test.want {
			t.Errorf("%q and %q make %q, want %q", test.a, test.b, got, test.want)
		}
	}
}

func TestSingleValue(t *testing.T) {
	tests := []struct{ alternatives, want string }{{"a", "a"}, {"a or a", "a"}, {"a or b", ""}, {"a,b", ""}}
	for _, test := range tests {
		got, ok := workload.NewAlternatives(inZones(test.alternatives)).SingleValue(zone)
		if got != test.want || ok != (test.want != "") {
			t.Errorf("%q has the single value %q, want %q", test.alternatives, got, test.want)
		}
	}
	if _, ok := workload.NewAlternatives(nil).SingleValue(zone); ok {
		t.Error("no alternatives have a single value")
	}
}

// TestNodeTerms checks the alternatives and problems of node selectors and node affinity.
func TestNodeTerms(t *testing.T) {
	in := func(values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: zone, Operator: "In", Values: values}
	}
	tests := []struct {
		name          string
		changes       []func(*corev1.Pod)
		want, problem string
	}{
		{name: "a node selector", changes: []func(*corev1.Pod){stagetest.InZone("a")}, want: "a"},
		{name: "a term each", changes: []func(*corev1.Pod){nodeAffinity(in("a", "b"), in("c"))}, want: "a,b or c"},
		{
			name:    "a selector narrows each term",
			changes: []func(*corev1.Pod){stagetest.InZone("a"), nodeAffinity(in("a", "b"))},
			want:    "a",
		},
		{
			name:    "no terms",
			changes: []func(*corev1.Pod){nodeAffinity()},
			problem: "nodeSelectorTerms has no term that could match a node",
		},
		{
			name:    "an unknown operator",
			changes: []func(*corev1.Pod){nodeAffinity(corev1.NodeSelectorRequirement{Key: zone, Operator: "Is"})},
			problem: "nodeSelectorTerms[0]",
		},
		{
			name:    "the heaviest preference is required",
			changes: []func(*corev1.Pod){nodeAffinity(in("a", "b", "c")), prefersZone(1, "a"), prefersZone(9, "b")},
			want:    "b",
		},
		{
			name:    "the first of equal preferences is required",
			changes: []func(*corev1.Pod){nodeAffinity(in("a", "b", "c")), prefersZone(5, "c"), prefersZone(5, "b")},
			want:    "c",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := workload.Read(stagetest.Snapshot(nil, stagetest.Pod("a", "1", "1Gi", test.changes...))).Groups[0]
			if test.problem != "" {
				if !strings.Contains(g.Problem, test.problem) {
					t.Errorf("the problem is %q, want one with %q", g.Problem, test.problem)
				}
				return
			}
			if got := zonesOf(g.Alternatives); g.Problem != "" || got != test.want {
				t.Errorf("got %q (problem %q), want %q", got, g.Problem, test.want)
			}
		})
	}
}
