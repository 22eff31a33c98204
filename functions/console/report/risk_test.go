package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// risky is the example with a risk of $0.01/h in the price of the first node.
func risky() (*plan.Snapshot, *plan.Plan) {
	s, p := example()
	first := &p.NodeClaims[0]
	offering := &first.Offerings[0]
	offering.Price, offering.Extras, offering.Risk = first.PricePerHour+0.01, first.ExtrasPerHour, 0.01
	p.AddPrices(first, -1)
	first.TakePrices()
	p.AddPrices(first, 1)
	p.LowerBoundPerHour = p.PricePerHour
	return s, p
}

// The price is what is paid. The bound counts the risk, and so does the comparison with it.
func TestARiskIsShownBesideThePrice(t *testing.T) {
	_, before := example()
	s, p := risky()
	shown := Of(p, 0, "")
	if math.Abs(shown.PricePerHour-before.PricePerHour) > 1e-9 || math.Abs(shown.RiskPerHour-0.01) > 1e-9 ||
		!shown.Optimal {
		t.Errorf("the plan costs %v with a risk of %v, optimal %v; without it costs %v", shown.PricePerHour,
			shown.RiskPerHour, shown.Optimal, before.PricePerHour)
	}
	text, err := json.Marshal(shown.Nodes[0])
	if err != nil || !strings.Contains(string(text), `"riskPerHour":0.01`) {
		t.Errorf("the node is %s, %v", text, err)
	}
	var table bytes.Buffer
	if err := shown.WriteTable(&table, s, nil, false, terminal.Style{}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"RISK", "0.0100", "and $0.0100/h for the risk of interruptions", "optimal"} {
		if !strings.Contains(table.String(), part) {
			t.Errorf("the table lacks %q:\n%s", part, table.String())
		}
	}
	var plain bytes.Buffer
	if err := Of(before, 0, "").WriteTable(&plain, s, nil, false, terminal.Style{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.String(), "RISK") || strings.Contains(plain.String(), "interruptions") {
		t.Errorf("a plan without a risk speaks of it:\n%s", plain.String())
	}
}

func TestSavingsOfMovesAreMoney(t *testing.T) {
	_, p := risky()
	m := consolidation.Move{
		Reason: "Underutilized", SavedPerHour: 0.3, SavedAtLeast: 0.3, RiskSavedPerHour: 0.1,
		Delete: []consolidation.Leaving{{Node: "gone", PricePerHour: 0.5, RiskPerHour: 0.11}}, Launch: p.NodeClaims[:1],
	}
	shown := ConsolidationOf(&consolidation.Plan{
		Moves: []consolidation.Move{m}, PricePerHour: 0.5, RiskPerHour: 0.11, AfterPerHour: 0.2, RiskAfterPerHour: 0.01,
		Stays: []consolidation.Stay{{Node: "stays", PricePerHour: 0.07, RiskPerHour: 0.02}},
	}, 0, "")
	for name, pair := range map[string][2]float64{
		"the price": {shown.PricePerHour, 0.39}, "the price after": {shown.AfterPerHour, 0.19},
		"the saving": {shown.Moves[0].SavedPerHour, 0.2}, "the node that goes": {shown.Moves[0].Delete[0].PricePerHour, 0.39},
		"the node that stays": {shown.Stays[0].PricePerHour, 0.05},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-9 {
			t.Errorf("%s is %v, want %v", name, pair[0], pair[1])
		}
	}
	var table bytes.Buffer
	if err := shown.WriteTable(&table, terminal.Style{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table.String(), "-0.1000 $/h of the risk of interruptions") {
		t.Errorf("the table is\n%s", table.String())
	}
}

// choice is a cluster with a pod and two spot pools of nearly equal prices.
func choice(rates map[string]float64) *plan.Snapshot {
	typ := func(name string, price float64) catalog.InstanceType {
		labels := map[string]string{
			corev1.LabelInstanceTypeStable: name, corev1.LabelTopologyZone: "us-east-1a",
			api.CapacityTypeLabelKey: api.CapacityTypeSpot, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		}
		return catalog.InstanceType{
			Name: name, Capacity: amounts("2", "8Gi", "58"), Allocatable: amounts("2", "8Gi", "58"),
			Requirements: scheduling.FromLabels(labels),
			Offerings: []catalog.Offering{{CapacityType: "spot", Zone: "us-east-1a", Price: price, Available: true,
				Requirements: scheduling.FromLabels(map[string]string{
					corev1.LabelTopologyZone: "us-east-1a", api.CapacityTypeLabelKey: "spot",
				})}},
		}
	}
	var pool api.NodePool
	pool.Name = "default"
	pool.Default()
	cost := 0.05
	types := catalog.WithRisk([]catalog.InstanceType{typ("m6a.large", 0.0400), typ("m6i.large", 0.0401)},
		catalog.Risk{Rates: rates, Cost: &cost})
	s := &plan.Snapshot{NodePools: []api.NodePool{pool}}
	s.InstanceTypes = map[string][]catalog.InstanceType{"default": types}
	s.Pods = pods("web")
	return s
}

func TestExplainSaysWhereTheRiskDecides(t *testing.T) {
	for name, test := range map[string]struct {
		rates map[string]float64
		want  string
	}{
		"calm": {nil, ""},
		"it decides": {
			map[string]float64{"m6a.large:us-east-1a": 0.04},
			"without the risk of interruptions it would be m6a.large, spot in us-east-1a, $0.0400/h: its interruptions " +
				"lately count as $0.0020/h",
		},
		"it does not":    {map[string]float64{"m6a.large:us-east-1a": 0.001}, ""},
		"it is anothers": {map[string]float64{"m6i.large:us-east-1a": 0.04}, ""},
	} {
		s := choice(test.rates)
		p := planning.Solve(s)
		if len(p.NodeClaims) != 1 {
			t.Fatalf("%s: the plan is %+v", name, p)
		}
		e := Explain(s.Pods[0].Namespace, s.Pods[0].Name, seen(s.Pods, s), p)
		if e.Risk != test.want {
			t.Errorf("%s: it says %q, want %q", name, e.Risk, test.want)
		}
		if text := strings.Join(strings.Fields(explainText(t, e)), " "); !strings.Contains(text, test.want) {
			t.Errorf("%s: the text is %s", name, text)
		}
	}
}
