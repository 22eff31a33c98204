package view

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/duration"
)

const (
	// maximumPods is how many pods a table shows. The first ones show the problem.
	maximumPods = 50
	// oldAfter is the age of a catalogue after two missed hourly readings.
	oldAfter = 2*time.Hour + 10*time.Minute
	none     = "-"
)

// WriteTables writes the view for people. It shows the most important nodes, and all of them for 0.
func (v *View) WriteTables(out io.Writer, most int) error {
	table := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(table, strings.Join(cells, "\t")) }

	row(v.verdictText())
	row()
	for i, problem := range v.Problems {
		row("PROBLEM: " + problem)
		if i == len(v.Problems)-1 {
			row()
		}
	}
	for _, zone := range v.ShiftedZones {
		row("ZONAL SHIFT: " + zone.String())
		row()
	}
	row("NODEPOOL", "NODECLASS", "NODES", "CPU", "MEMORY", "LIMITS", "READY", "WHY NOT")
	for _, pool := range v.NodePools {
		row(pool.Name, dash(pool.NodeClass), strconv.Itoa(pool.Nodes), Cores(pool.CPU), Gibibytes(pool.Memory),
			dash(pool.LimitsText()), yes(pool.Ready),
			dash(strings.Join(pool.Reasons, "; ")))
	}
	if len(v.NodePools) == 0 {
		row("none: Whittle launches no node without a NodePool; apply one and an EC2NodeClass")
	}
	row()
	row(
		"NODECLAIM", "NODE", "NODEPOOL", "TYPE", "CAPACITY", "ZONE", "AGE", "STATE", "$/H", "EXTRAS", "PODS", "CPU", "MEMORY",
		"NOTE",
	)
	for i, node := range v.byImportance() {
		if most > 0 && i == most {
			row(fmt.Sprintf("and %d more: -A shows all", len(v.Nodes)-most))
			break
		}
		row(dash(node.NodeClaim), dash(node.Name), dash(node.NodePool), dash(node.InstanceType), dash(node.CapacityType),
			dash(node.Zone),
			v.Age(node.Created), string(node.State), dollars(node.InstancePerHour()), dollars(node.ExtrasPerHour),
			strconv.Itoa(node.Pods),
			Cores(node.Requested.CPU)+" of "+Cores(node.Allocatable.CPU),
			Gibibytes(node.Requested.Memory)+" of "+Gibibytes(node.Allocatable.Memory),
			dash(node.Reason))
	}
	if len(v.Nodes) == 0 {
		row("none")
	}
	row()
	row("PENDING POD", "AGE", "SOURCE", "MESSAGE")
	for i, pod := range v.Waiting {
		if i == maximumPods {
			row(fmt.Sprintf("and %d more: -output json has all", len(v.Waiting)-maximumPods))
			break
		}
		row(pod.Namespace+"/"+pod.Name, v.Age(pod.Created), dash(pod.Source), dash(pod.Message))
	}
	if len(v.Waiting) == 0 {
		row("none")
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the tables: %w", err)
	}
	_, err := fmt.Fprintf(out, "\n%s\n%s\n%s\n", v.sum(), v.lastPlan(), v.CatalogText())
	return err
}

// byImportance returns the nodes that are not ready first, then the most expensive. Equal ones keep
// their order.
func (v *View) byImportance() []Node {
	rank := map[State]int{StateNotReady: 0, StateDraining: 1, StateRegistered: 2, StateLaunched: 3, StateLaunching: 4,
		StateTerminating: 5, StateReady: 6}
	return slices.SortedStableFunc(slices.Values(v.Nodes), func(a, b Node) int {
		return cmp.Or(cmp.Compare(rank[a.State], rank[b.State]), cmp.Compare(b.PricePerHour, a.PricePerHour))
	})
}

func (v *View) sum() string {
	text := fmt.Sprintf("Whittle's instances: %d, $%.4f/h", v.Instances, v.PricePerHour-v.ExtrasPerHour)
	if v.Savings.PerHour >= 0.00005 {
		text += fmt.Sprintf(", $%.4f/h or %.0f %% less than on demand", v.Savings.PerHour, 100*v.Savings.Fraction)
	}
	if v.ExtrasPerHour > 0 {
		text += fmt.Sprintf("; with extras $%.4f/h", v.PricePerHour)
	}
	if v.Unpriced > 0 {
		text += fmt.Sprintf("; without %d of unknown price", v.Unpriced)
	}
	return text
}

func (v *View) lastPlan() string {
	if v.Plan == nil {
		return "Last plan: none yet"
	}
	text := fmt.Sprintf(
		"Last plan: %s ago, %d nodes for %d pods, $%.4f/h", v.Age(v.Plan.Time), v.Plan.NewNodes(),
		v.Plan.Pods-v.Plan.Existing-v.Plan.Unplaced, v.Plan.PricePerHour,
	)
	if v.Plan.ExtrasPerHour > 0 {
		text += fmt.Sprintf(" with extras of $%.4f/h", v.Plan.ExtrasPerHour)
	}
	if ratio := v.Plan.OfBound(); ratio > 0 {
		text += fmt.Sprintf(", %.2f × the lower bound", ratio)
	}
	return text
}

// CatalogStale reports whether the catalogue is missing or too old.
func (v *View) CatalogStale() bool {
	return v.Catalog == nil || v.Time.Sub(v.Catalog.Time) > oldAfter
}

// CatalogText says how old the catalogue is, and what to do if it is too old.
func (v *View) CatalogText() string {
	if v.Catalog == nil {
		return "Catalogue: none yet, so Whittle can launch nothing and knows no price: invoke the catalog function, or " +
			"read its log"
	}
	text := fmt.Sprintf("Catalogue: %d instance types, %s old", v.Catalog.InstanceTypes, v.Age(v.Catalog.Time))
	if v.CatalogStale() {
		text += "; catalog reads EC2 each hour: see its log"
	} else if v.Time.Sub(v.Catalog.SpotPriceTime) > oldAfter && !v.Catalog.SpotPriceTime.IsZero() {
		text += fmt.Sprintf("; spot prices %s old: see the log of the catalog function", v.Age(v.Catalog.SpotPriceTime))
	}
	return text
}

// Age formats the time since then like kubectl: 45s, 12m, 3h.
func (v *View) Age(since time.Time) string {
	return duration.HumanDuration(max(v.Time.Sub(since), 0))
}

func dash(text string) string {
	if text == "" {
		return none
	}
	return text
}

func yes(ready bool) string {
	if ready {
		return "yes"
	}
	return "no"
}

func dollars(price float64) string {
	if price == 0 {
		return none
	}
	return strconv.FormatFloat(price, 'f', 4, 64)
}

// Cores formats CPU with at most two decimals: 1.93.
func Cores(quantity resource.Quantity) string {
	return decimals(float64(quantity.MilliValue())/1000, 2)
}

// Gibibytes formats memory with at most one decimal: 7.6Gi.
func Gibibytes(quantity resource.Quantity) string {
	if quantity.IsZero() {
		return "0"
	}
	return decimals(float64(quantity.Value())/(1<<30), 1) + "Gi"
}

func decimals(value float64, places int) string {
	text := strconv.FormatFloat(value, 'f', places, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// LimitsText lists the pool's limits, such as "cpu 100, memory 400Gi". Without limits it is empty.
func (p *NodePool) LimitsText() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p.Limits)) {
		quantity := p.Limits[name]
		text := quantity.String()
		switch name {
		case corev1.ResourceCPU:
			text = Cores(quantity)
		case corev1.ResourceMemory:
			text = Gibibytes(quantity)
		}
		parts = append(parts, string(name)+" "+text)
	}
	return strings.Join(parts, ", ")
}
