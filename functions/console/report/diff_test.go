package report_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/functions/console/report"
	"github.com/whittle-dev/whittle/functions/console/terminal"
)

func TestDiff(t *testing.T) {
	node := func(instanceType string, price float64, pods ...string) report.Node {
		return report.Node{
			NodePool: "a", InstanceType: instanceType, Zone: "z", CapacityType: "spot", PricePerHour: price, Pods: pods,
		}
	}
	before := &report.Plan{
		Nodes:         []report.Node{node("m5.large", 0.1, "x/1", "x/2"), node("c5.large", 0.2, "x/3")},
		Unschedulable: []report.Unschedulable{{Pod: "x/4"}, {Pod: "x/5"}}, PricePerHour: 0.3,
	}
	after := &report.Plan{
		Nodes:    []report.Node{node("c5.large", 0.2, "x/3"), node("m5.large", 0.1, "x/1"), node("m5.large", 0.1, "x/7")},
		Existing: []report.Existing{{Node: "n", Pods: []string{"x/4"}}}, PricePerHour: 0.4,
		Unschedulable: []report.Unschedulable{{Pod: "x/2"}, {Pod: "x/5"}, {Pod: "x/6"}},
	}
	d := report.DiffOf(before, after)
	if len(d.Nodes) != 1 || d.Nodes[0].InstanceType != "m5.large" || d.Nodes[0].Before != 1 || d.Nodes[0].After != 2 {
		t.Errorf("nodes are %+v", d.Nodes)
	}
	for name, list := range map[string][2][]string{
		"lose": {d.LosePlace, {"x/2", "x/6"}}, "gain": {d.GainPlace, {"x/4"}}, "still": {d.StillNoPlace, {"x/5"}},
		"added":   {d.Added, {"x/6", "x/7"}},
		"removed": {d.Removed, {}},
	} {
		if !reflect.DeepEqual(list[0], list[1]) {
			t.Errorf("%s: %q, want %q", name, list[0], list[1])
		}
	}
	var text strings.Builder
	if err := d.WriteTable(&text, terminal.Style{}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"+  a         m5.large  z     spot      0.1000  1 -> 2", "2 pods without a place now: x/2, x/6",
		"1 pod still without a place: x/5",
		"2 new nodes -> 3 new nodes, $0.3000/h -> $0.4000/h (+0.1000 $/h)",
	} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("lacks %q:\n%s", part, text.String())
		}
	}
	if same := report.DiffOf(after, after); len(same.Nodes)+len(same.LosePlace)+len(same.GainPlace)+len(same.Added) != 0 {
		t.Errorf("a plan differs from itself by %+v", same)
	}
}
