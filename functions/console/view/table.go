package view

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/shared/nodestate"
)

const (
	// maximumPods is how many pods a table shows. The first ones show the problem.
	maximumPods = 50
	// oldAfter is the age of a catalogue after two missed hourly readings.
	oldAfter = 2*time.Hour + 10*time.Minute
	none     = "-"
	// hoursPerMonth is the usual number in cloud bills.
	hoursPerMonth = 730
)

// Form is how a view is written for people.
type Form struct {
	// Most is the number of nodes shown, the most important first; 0 for all.
	Most int
	// Wide adds the instances' ids.
	Wide bool
	// Labels are the keys of labels that have a column each.
	Labels []string
	Style  terminal.Style
}

// WriteTables writes the view for people.
func (v *View) WriteTables(out io.Writer, form Form) error {
	var text strings.Builder
	style := form.Style
	text.WriteString(style.Wrap(v.VerdictText(), "", "  ") + "\n")
	for _, problem := range v.Problems {
		text.WriteString(style.Wrap(style.Paint(terminal.Red, "PROBLEM")+": "+problem, "", "  "))
	}
	for _, frozen := range v.Freezes {
		text.WriteString(style.Wrap(style.Paint(terminal.Yellow, "FROZEN")+": "+frozen.Message, "", "  "))
	}
	for _, zone := range v.ShiftedZones {
		text.WriteString(style.Wrap(style.Paint(terminal.Yellow, "ZONAL SHIFT")+": "+zone.String(), "", "  "))
	}
	endings := v.Endings()
	for _, ending := range endings {
		text.WriteString(style.Wrap(style.Paint(terminal.Yellow, "COMMITMENT ENDS")+": "+ending, "", "  "))
	}
	if len(v.Problems)+len(v.Freezes)+len(v.ShiftedZones)+len(endings) > 0 {
		text.WriteString("\n")
	}
	v.writePools(&text, style)
	v.writeLimits(&text, form)
	v.writeCommitments(&text, form)
	v.writeNodes(&text, form)
	v.writeWaiting(&text, style)
	lines := []string{v.sum(), v.lastPlan(), v.CatalogText()}
	if v.Commitments != nil {
		lines = slices.Insert(lines, 1, v.Commitments.Text(v.Age(v.Commitments.Time)))
	}
	for _, line := range lines {
		text.WriteString(style.Wrap(line, "", "  "))
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return fmt.Errorf("writing the tables: %w", err)
	}
	return nil
}

func row(cells ...string) []terminal.Cell {
	made := make([]terminal.Cell, len(cells))
	for i, cell := range cells {
		made[i].Text = cell
	}
	return made
}

func (v *View) writePools(text *strings.Builder, style terminal.Style) {
	rows := [][]terminal.Cell{
		terminal.Header("NODEPOOL", "NODECLASS", "NODES", "CPU", "MEMORY", "LIMITS", "READY", "WHY NOT"),
	}
	for _, pool := range v.NodePools {
		rows = append(rows, row(pool.Name, dash(pool.NodeClass), strconv.Itoa(pool.Nodes), Cores(pool.CPU),
			Gibibytes(pool.Memory), dash(pool.LimitsText()), yes(pool.Ready), dash(strings.Join(pool.Reasons, "; "))))
	}
	text.WriteString(style.Fit(rows, 1, 4, 3, 5))
	if len(v.NodePools) == 0 {
		text.WriteString(style.Wrap("none: Whittle launches no node without a NodePool; apply one and an EC2NodeClass",
			"", "  "))
	}
	v.writeHours(text, style)
	text.WriteString("\n")
}

// writeHours writes a line for each pool with windows.
func (v *View) writeHours(text *strings.Builder, style terminal.Style) {
	for _, pool := range v.NodePools {
		var says []string
		for _, hours := range []*Hours{pool.Sleep, pool.Maintenance} {
			if hours != nil {
				says = append(says, hours.Message)
			}
		}
		if len(says) > 0 {
			text.WriteString(style.Wrap(pool.Name+": "+strings.Join(says, "; "), "", "  "))
		}
	}
}

func (v *View) writeNodes(text *strings.Builder, form Form) {
	// The optional columns are extras, claim, zone, memory, CPU, capacity, pods and pool.
	optional := []int{9, 0, 5, 12, 11, 4, 10, 2}
	rows := [][]terminal.Cell{terminal.Header("NODECLAIM", "NODE", "NODEPOOL", "TYPE", "CAPACITY", "ZONE", "AGE",
		"STATE", "$/H", "EXTRAS", "PODS", "CPU", "MEMORY", "NOTE")}
	others := v.OtherNames()
	for _, name := range slices.Concat(others, form.Labels) {
		rows[0] = slices.Insert(rows[0], len(rows[0])-1, terminal.Header(Column(name))...)
	}
	if form.Wide {
		rows[0], optional = slices.Insert(rows[0], 3, terminal.Header("INSTANCE")...), nil
	}
	for i, node := range v.byImportance() {
		if form.Most > 0 && i == form.Most {
			break
		}
		made := row(dash(node.NodeClaim), dash(node.Name), dash(node.NodePool), dash(node.InstanceType),
			dash(node.CapacityType), dash(node.Zone), v.Age(node.Created), string(node.State),
			dollars(node.PricePerHour), dollars(node.ExtrasPerHour), strconv.Itoa(node.Pods),
			Cores(node.Requested.CPU)+" of "+Cores(node.Allocatable.CPU),
			Gibibytes(node.Requested.Memory)+" of "+Gibibytes(node.Allocatable.Memory), dash(node.Reason))
		made[7].Color = StateColor(node.State)
		made = slices.Insert(made, len(made)-1, node.more(others, form.Labels)...)
		if form.Wide {
			instance := node.ProviderID[strings.LastIndexByte(node.ProviderID, '/')+1:]
			made = slices.Insert(made, 3, row(dash(instance))...)
		}
		rows = append(rows, made)
	}
	text.WriteString(form.Style.Fit(rows, optional...))
	switch more := len(v.Nodes) - form.Most; {
	case len(v.Nodes) == 0:
		text.WriteString("none\n")
	case form.Most > 0 && more > 0:
		fmt.Fprintf(text, "and %d more: -A shows all\n", more)
	}
	text.WriteString("\n")
}

// more are the cells of the other resources and of labels.
func (n *Node) more(others, labels []string) []terminal.Cell {
	var cells []string
	for _, name := range others {
		text := none
		if other, has := n.Other(name); has {
			text = other.Text()
		}
		cells = append(cells, text)
	}
	for _, key := range labels {
		cells = append(cells, dash(n.Labels[key]))
	}
	return row(cells...)
}

// StateColor tells states apart that need a look.
func StateColor(state nodestate.Word) terminal.Color {
	switch nodestate.ToneOf(state) {
	case nodestate.Bad:
		return terminal.Red
	case nodestate.Good:
		return terminal.Green
	}
	return terminal.Yellow
}

func (v *View) writeWaiting(text *strings.Builder, style terminal.Style) {
	rows := [][]terminal.Cell{terminal.Header("PENDING POD", "AGE", "SOURCE", "MESSAGE")}
	for i, pod := range v.Waiting {
		if i == maximumPods {
			break
		}
		rows = append(rows, row(pod.Namespace+"/"+pod.Name, v.Age(pod.Created), dash(pod.Source), dash(pod.Message)))
	}
	text.WriteString(style.Fit(rows, 2))
	switch more := len(v.Waiting) - maximumPods; {
	case len(v.Waiting) == 0:
		text.WriteString("none\n")
	case more > 0:
		fmt.Fprintf(text, "and %d more: -o json has all\n", more)
	}
	text.WriteString("\n")
}

// byImportance returns the nodes that are not ready first, then the most expensive. Equal ones keep
// their order.
func (v *View) byImportance() []Node {
	return slices.SortedStableFunc(slices.Values(v.Nodes), func(a, b Node) int {
		return cmp.Or(cmp.Compare(nodestate.Rank(a.State), nodestate.Rank(b.State)),
			cmp.Compare(b.PricePerHour, a.PricePerHour))
	})
}

func (v *View) sum() string {
	nodes := "1 node costs"
	if v.Instances != 1 {
		nodes = fmt.Sprintf("%d nodes cost", v.Instances)
	}
	text := fmt.Sprintf("%s $%.4f/h ($%.0f/month)", nodes, v.PricePerHour, MonthOf(v.PricePerHour))
	if v.ExtrasPerHour > 0 {
		text += fmt.Sprintf(", of which $%.4f/h are extras", v.ExtrasPerHour)
	}
	if v.Savings.PerHour >= 0.00005 {
		text += fmt.Sprintf(", $%.4f/h (%.0f %%) less than on demand", v.Savings.PerHour, 100*v.Savings.Fraction)
	}
	if v.Unpriced > 0 {
		text += fmt.Sprintf("; without %d of unknown price", v.Unpriced)
	}
	if v.Headroom != nil {
		text += "; " + v.HeadroomText()
	}
	return text
}

// MonthOf is what a price of an hour costs in a month.
func MonthOf(perHour float64) float64 { return perHour * hoursPerMonth }

// HeadroomText says what CapacityBuffers cost, and whether nodes have room for their pods. There
// must be Headroom.
func (v *View) HeadroomText() string {
	text := fmt.Sprintf("headroom $%.4f/h", v.Headroom.PricePerHour)
	if v.Headroom.Placed < v.Headroom.Pods {
		text += fmt.Sprintf(" for %d of %d pods", v.Headroom.Placed, v.Headroom.Pods)
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
		text += fmt.Sprintf(", of which $%.4f/h are extras", v.Plan.ExtrasPerHour)
	}
	if v.Plan.RiskPerHour > 0 {
		text += fmt.Sprintf(" and $%.4f/h for the risk of interruptions", v.Plan.RiskPerHour)
	}
	if closeness := v.Plan.Closeness(); closeness != "" {
		text += ", " + closeness
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
