package cost_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/functions/console/cost"
	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/status"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// plan is a Compute Savings Plan of so many dollars an hour, which pays half.
func plan(id string, perHour float64, onDemand map[string]float64) commitment.SavingsPlan {
	rates := map[string]float64{}
	for name, price := range onDemand {
		rates[name] = price / 2
	}
	return commitment.SavingsPlan{ID: id, PerHour: perHour, Rates: rates, Start: now.AddDate(-1, 0, 0),
		End: now.AddDate(1, 0, 0)}
}

// count applies the commitments to the bill's nodes, as lifecycle and the view do.
func (b *bill) count(facts commitment.Facts, instances []commitment.Instance) {
	reading := &commitment.Reading{Time: now, Share: 1, Applied: commitment.Apply(facts, instances, now)}
	reading.Own(instances)
	b.objects.Commitments, b.shown.Time = reading, now
	b.shown.Commitments = view.Of(&b.objects, now).Commitments
	for i := range b.shown.Nodes {
		n := &b.shown.Nodes[i]
		n.CoveredPerHour = reading.Covered[n.Name] * n.InstancePerHour()
		n.CommitmentsPerHour = reading.Costs[n.Name]
	}
}

// TestTheRowsAddUpAfterCommitments shares random bills that commitments pay in part. The rows are the
// nodes' bill: what commitments do not pay for, and what the used parts of these cost.
func TestTheRowsAddUpAfterCommitments(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		b, list, few := &bill{}, 0.0, 1e-6
		facts := commitment.Facts{OnDemand: map[string]float64{}}
		var instances []commitment.Instance
		for n := range random.IntN(20) {
			name, price, extras := fmt.Sprint("n", n), 0.01+random.Float64(), random.Float64()/10
			b.node(name, fmt.Sprint("pool-", n%3), price+extras, cpu("4", "16Gi")).ExtrasPerHour = extras
			kind := fmt.Sprintf("m%d.large", n)
			facts.OnDemand[kind] = price
			instances = append(instances, commitment.Instance{ID: name, Type: kind, Own: true})
			list, few = list+price+extras, few+5e-6
			for range random.IntN(30) {
				b.pod(name, fmt.Sprint("ns-", random.IntN(5)), cpu(fmt.Sprintf("%dm", random.IntN(700)), "100Mi"))
			}
		}
		instances = append(instances, commitment.Instance{ID: "other", Type: "m0.large"})
		for n := range random.IntN(3) {
			facts.Plans = append(facts.Plans, plan(fmt.Sprint("sp-", n), random.Float64()*3, facts.OnDemand))
		}
		b.count(facts, instances)
		for _, by := range []cost.By{{}, {NodePool: true}, {Label: "team"}} {
			report := cost.Of(&b.objects, &b.shown, by)
			var paid, market, committed float64
			for _, row := range report.Rows {
				paid, market, committed = paid+row.PerHour, market+row.ListPerHour, committed+row.CommitmentsPerHour
			}
			for what, pair := range map[string][2]float64{
				"rows and bill":           {paid, report.PerHour},
				"rows and list":           {market, report.ListPerHour},
				"rows and commitments":    {committed, report.CommitmentsPerHour},
				"list and the nodes":      {report.ListPerHour, list},
				"use of commitments":      {report.CommitmentsPerHour, report.Commitments.OwnPerHour},
				"what they pay for":       {report.ListPerHour - report.CoveredPerHour + report.CommitmentsPerHour, report.PerHour},
				"half of what is covered": {report.CoveredPerHour / 2, report.CommitmentsPerHour},
			} {
				if math.Abs(pair[0]-pair[1]) > few {
					t.Errorf("seed %d by %s: %s: $%v/h and $%v/h", seed, by, what, pair[0], pair[1])
				}
			}
			if billed := sumOf(t, report, "BilledCost"); math.Abs(billed-(report.PerHour-report.CommitmentsPerHour)) > few {
				t.Errorf("seed %d by %s: the CSV bills $%v/h of %+v", seed, by, billed, report)
			}
		}
	}
}

// sumOf adds up a column of the CSV.
func sumOf(t *testing.T, report *cost.Report, column string) float64 {
	t.Helper()
	var text strings.Builder
	if err := report.WriteCSV(&text); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at, sum := slices.Index(lines[0], column), 0.0
	for _, line := range lines[1:] {
		value, err := strconv.ParseFloat(line[at], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += value
	}
	return sum
}

// TestAnIdleCommitmentNamesItsEnd has plans that are idle, by what keeps the cluster from them.
func TestAnIdleCommitmentNamesItsEnd(t *testing.T) {
	pool := func(key string, values ...string) api.NodePool {
		made := api.NodePool{}
		made.Name = "web"
		made.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
			{Key: key, Operator: "In", Values: values},
		}
		return made
	}
	for name, test := range map[string]struct {
		pool  api.NodePool
		share float64
		want  string
	}{
		"a pool may use it":  {pool(api.LabelInstanceFamily, "m5"), 1, "whittle plan -consolidate shows the moves onto it"},
		"of another family":  {pool(api.LabelInstanceFamily, "c7g"), 1, "No nodepool may use it: allow " + api.CapacityTypeLabelKey},
		"of spot alone":      {pool(api.CapacityTypeLabelKey, "spot"), 1, "allow " + api.CapacityTypeLabelKey + " on-demand"},
		"a part of it alone": {pool(api.LabelInstanceFamily, "m5"), 0, "raise the setting commitmentPercent"},
	} {
		b := &bill{}
		b.objects.NodePools = []api.NodePool{test.pool}
		b.node("n", "web", 0.1, cpu("4", "16Gi"))
		onDemand := map[string]float64{"m5.large": 0.1}
		facts := commitment.Facts{OnDemand: onDemand}
		for n := range 7 {
			facts.Plans = append(facts.Plans, plan(fmt.Sprint("sp-", n), 1+float64(n), onDemand))
		}
		b.count(facts, []commitment.Instance{{ID: "n", Type: "m5.large", Own: true}})
		b.objects.Commitments.Share = test.share
		price := 0.4
		b.shown.Day = []status.Sample{{PricePerHour: &price}, {}, {PricePerHour: &price}}
		report := cost.Of(&b.objects, &b.shown, cost.By{})
		var text strings.Builder
		if err := report.WriteText(&text, 0, terminal.Style{}); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(strings.Fields(text.String()), " ")
		for _, want := range []string{
			"1 node: $0.0500/h", "At list prices it is $0.1000/h. Commitments pay for $0.1000/h of that, and their used parts " +
				"cost $0.0500/h.", "$7.0000/h: Compute Savings Plan sp-6 is idle by this much of $7.0000/h", test.want,
			"$2.9500/h: other commitments are idle by this much", "In 0.5 of the last 24 hours the nodes cost $0.20",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: lacks %q:\n%s", name, want, text.String())
			}
		}
		b.shown.Commitments.Current = false
		if report = cost.Of(&b.objects, &b.shown, cost.By{}); len(report.Waste) != 2 {
			t.Errorf("%s: an old count makes %+v", name, report.Waste)
		}
	}
}
