package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/status"
)

const (
	// hoursPerMonth is the usual number in cloud bills.
	hoursPerMonth = 730
	// barLength is the length of a bar, leastBarLength that on a narrow output.
	barLength, leastBarLength = 10, 4
	// namesShown is how many pods of many are named.
	namesShown = 3
)

// WriteTable writes the plan for people. The snapshot is the planner's input. wide shows a line for
// each node, with its pods.
func (p *Plan) WriteTable(
	out io.Writer, s *plan.Snapshot, problems []PoolProblem, wide bool, style terminal.Style,
) error {
	var text strings.Builder
	p.writeNodes(&text, s, wide, style)
	p.writeExisting(&text, style)
	p.writeWaiting(&text, style)
	p.writeHeld(&text, style)
	writeProblems(&text, problems, style)
	text.WriteString(p.totals(style))
	_, err := io.WriteString(out, text.String())
	return err
}

// group holds new nodes that look alike.
type group struct {
	Node
	nodes, pods int
	// cpu and memory are the mean fractions of allocatable that pods request.
	cpu, memory float64
}

// groups gathers nodes that look alike; each node is a group of its own if they are shown apart.
func (p *Plan) groups(s *plan.Snapshot, apart bool) []*group {
	supply := suppliesOf(s)
	var groups []*group
	index := map[string]*group{}
	for i, n := range p.Nodes {
		key := fmt.Sprint(n.NodePool, n.InstanceType, n.Zone, n.CapacityType, n.PricePerHour, n.RiskPerHour)
		if apart {
			key = strconv.Itoa(i)
		}
		g := index[key]
		if g == nil {
			g = &group{Node: n}
			index[key] = g
			groups = append(groups, g)
		}
		g.nodes++
		g.pods += len(n.Pods)
		allocatable := supply[n.NodePool+" "+n.InstanceType]
		g.cpu += fill(n.Requests, allocatable, corev1.ResourceCPU)
		g.memory += fill(n.Requests, allocatable, corev1.ResourceMemory)
	}
	for _, g := range groups {
		g.cpu /= float64(g.nodes)
		g.memory /= float64(g.nodes)
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return strings.Compare(a.NodePool, b.NodePool) })
	return groups
}

// suppliesOf returns the nodes' capacity for daemon sets and pods, by NodePool and type.
func suppliesOf(s *plan.Snapshot) map[string]corev1.ResourceList {
	supplies := map[string]corev1.ResourceList{}
	for pool, types := range s.InstanceTypes {
		for i := range types {
			if key := pool + " " + types[i].Name; supplies[key] == nil {
				supplies[key] = types[i].Allocatable
			}
		}
	}
	return supplies
}

func fill(requests, allocatable corev1.ResourceList, name corev1.ResourceName) float64 {
	have, want := allocatable[name], requests[name]
	if have.Sign() <= 0 {
		return 0
	}
	return want.AsApproximateFloat64() / have.AsApproximateFloat64()
}

func (p *Plan) writeNodes(out *strings.Builder, s *plan.Snapshot, wide bool, style terminal.Style) {
	if len(p.Nodes) == 0 {
		return
	}
	groups := p.groups(s, wide)
	all := columns{barLength, true, p.ExtrasPerHour > 0, p.RiskPerHour > 0}
	if wide {
		rows := nodeRows(groups, columns{0, true, all.extras, all.risk})
		rows[0] = append(rows[0], terminal.Header("NAMES")...)
		for i, g := range groups {
			rows[i+1] = append(rows[i+1], terminal.Cell{Text: strings.Join(g.Pods, ","), Color: terminal.Dim})
		}
		out.WriteString(style.Table(rows) + "\n")
		return
	}
	rows := nodeRows(groups, all)
	for _, less := range []columns{
		{leastBarLength, true, all.extras, all.risk}, {0, true, all.extras, all.risk}, {0, false, all.extras, all.risk}, {},
	} {
		if style.Width > 0 && terminal.Width(rows) > style.Width {
			rows = nodeRows(groups, less)
		}
	}
	out.WriteString(style.Table(rows) + "\n")
}

// columns are those that a narrow output leaves out.
type columns struct {
	barLength            int
	others, extras, risk bool
}

func nodeRows(groups []*group, with columns) [][]terminal.Cell {
	bars := ""
	if with.barLength == 0 {
		bars = ">" // percentages alone
	}
	header := terminal.Header("NODEPOOL", ">NODES", "TYPE")
	if with.others {
		header = append(header, terminal.Header("OR")...)
	}
	header = append(header, terminal.Header("ZONE", "CAPACITY", ">$/H")...)
	if with.extras {
		header = append(header, terminal.Header(">EXTRAS")...)
	}
	if with.risk {
		header = append(header, terminal.Header(">RISK")...)
	}
	header = append(header, terminal.Header(bars+"CPU", bars+"MEMORY", ">PODS")...)
	rows := [][]terminal.Cell{header}
	before := ""
	for _, g := range groups {
		pool := g.NodePool
		if pool == before {
			pool = ""
		}
		before = g.NodePool
		row := []terminal.Cell{{Text: pool}, {Text: strconv.Itoa(g.nodes), Right: true}, {Text: g.InstanceType}}
		if with.others {
			others := ""
			if n := len(g.InstanceTypes) - 1; n > 0 {
				others = fmt.Sprintf("%d others", n)
				if n == 1 {
					others = "1 other"
				}
			}
			row = append(row, terminal.Cell{Text: others, Color: terminal.Dim})
		}
		row = append(
			row, terminal.Cell{Text: g.Zone}, terminal.Cell{Text: g.CapacityType},
			terminal.Cell{Text: dollars(g.PricePerHour), Right: true},
		)
		if with.extras {
			row = append(row, terminal.Cell{Text: dollars(g.ExtrasPerHour), Right: true})
		}
		if with.risk {
			row = append(row, terminal.Cell{Text: dollars(g.RiskPerHour), Right: true})
		}
		rows = append(rows, append(
			row, filled(g.cpu, with.barLength), filled(g.memory, with.barLength),
			terminal.Cell{Text: strconv.Itoa(g.pods), Right: true},
		))
	}
	return rows
}

// filled returns a bar with a percentage.
func filled(part float64, length int) terminal.Cell {
	c := terminal.Cell{Text: fmt.Sprintf("%3.0f%%", 100*part), Color: terminal.Green, Right: length == 0}
	if length > 0 {
		c.Text = terminal.Bar(part, length) + " " + c.Text
	}
	if part < 0.5 {
		c.Color = terminal.Yellow
	}
	return c
}

func (p *Plan) writeExisting(out *strings.Builder, style terminal.Style) {
	if len(p.Existing) == 0 {
		return
	}
	rows := [][]terminal.Cell{terminal.Header("EXISTING NODE", "NODECLAIM", ">TAKES", "PODS")}
	for _, e := range p.Existing {
		name := e.Node
		if name == "" {
			name = "(launching)"
		}
		rows = append(
			rows,
			[]terminal.Cell{
				{Text: name}, {Text: e.NodeClaim}, {Text: strconv.Itoa(len(e.Pods)), Right: true},
				{Text: names(e.Pods), Color: terminal.Dim},
			},
		)
	}
	out.WriteString(style.Table(rows) + "\n")
}

// names lists the first of many pods.
func names(pods []string) string {
	if len(pods) <= namesShown {
		return strings.Join(pods, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(pods[:namesShown], ", "), len(pods)-namesShown)
}

func (p *Plan) writeWaiting(out *strings.Builder, style terminal.Style) {
	if len(p.Unschedulable) == 0 {
		return
	}
	var order []string
	pods, reasons := map[string][]string{}, map[string][]Reason{}
	for _, u := range p.Unschedulable {
		key := fmt.Sprintf("%q", u.Reasons)
		if pods[key] == nil {
			order, reasons[key] = append(order, key), u.Reasons
		}
		pods[key] = append(pods[key], u.Pod)
	}
	// The reason of most pods comes first.
	slices.SortStableFunc(order, func(a, b string) int { return len(pods[b]) - len(pods[a]) })
	out.WriteString(style.Paint(terminal.Bold, "WITHOUT A PLACE") + "\n")
	for _, key := range order {
		out.WriteString(style.Wrap(style.Paint(terminal.Red, count(len(pods[key]), "pod"))+": "+names(pods[key]), "", "  "))
		for _, reason := range reasons[key] {
			out.WriteString(style.Wrap(reason.text(), "  ", "    "))
		}
	}
	out.WriteString("\n")
}

// text returns the reason with its pool's name.
func (r Reason) text() string {
	if r.NodePool == "" {
		return r.Reason
	}
	return fmt.Sprintf("nodepool %q: %s", r.NodePool, r.Reason)
}

func writeProblems(out *strings.Builder, problems []PoolProblem, style terminal.Style) {
	if len(problems) == 0 {
		return
	}
	out.WriteString(style.Paint(terminal.Bold, "NODEPOOLS THAT CAN OPEN NO NODE") + "\n")
	for _, problem := range problems {
		out.WriteString(
			style.Wrap(fmt.Sprintf("%s: %s", style.Paint(terminal.Yellow, problem.NodePool), problem.Problem), "  ", "    "),
		)
	}
	out.WriteString("\n")
}

// heldShown is how many held pods are explained. A program gets all of them.
const heldShown = 5

// writeHeld says which pods wait and are not planned for now, each for its own reason.
func (p *Plan) writeHeld(out *strings.Builder, style terminal.Style) {
	if len(p.Held) == 0 {
		return
	}
	out.WriteString(style.Paint(terminal.Bold, "HELD") + "\n")
	for _, held := range p.Held[:min(len(p.Held), heldShown)] {
		out.WriteString(style.Wrap(style.Paint(terminal.Red, held.Pod)+": "+held.Message, "", "  "))
	}
	if more := len(p.Held) - heldShown; more > 0 {
		out.WriteString(style.Wrap(fmt.Sprintf("and %d more", more), "", "  "))
	}
	out.WriteString("\n")
}

func (p *Plan) totals(style terminal.Style) string {
	placed, moved := 0, 0
	for _, n := range p.Nodes {
		placed += len(n.Pods)
	}
	for _, e := range p.Existing {
		moved += len(e.Pods)
	}
	waiting, held := len(p.Unschedulable), len(p.Held)
	if placed+moved+waiting+held == 0 {
		return "No pod is pending.\n"
	}
	parts := []string{}
	if len(p.Nodes) > 0 {
		parts = append(parts, fmt.Sprintf("%d on %s", placed, count(len(p.Nodes), "new node")))
	}
	if moved > 0 {
		parts = append(parts, fmt.Sprintf("%d on %s", moved, count(len(p.Existing), "existing node")))
	}
	if waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d without a place", waiting))
	}
	if held > 0 {
		parts = append(parts, fmt.Sprintf("%d held", held))
	}
	text := style.Wrap(fmt.Sprintf("%s: %s", count(placed+moved+waiting+held, "pod"), strings.Join(parts, ", ")), "", "")
	if len(p.Nodes) > 0 {
		text += style.Wrap(fmt.Sprintf(
			"%s%s, $%.2f/month (%d h)%s",
			style.Paint(terminal.Bold, "$"+dollars(p.PricePerHour)+"/h"), extrasText(p.ExtrasPerHour)+riskText(p.RiskPerHour),
			p.PricePerHour*hoursPerMonth, hoursPerMonth,
			p.gap(),
		), "", "")
	}
	return text + pricesLine(style, p.Prices) + p.Line(style) +
		fmt.Sprintf("planned in %s s\n", strconv.FormatFloat(p.Seconds, 'f', 3, 64))
}

// pricesLine says where the prices come from.
func pricesLine(style terminal.Style, prices string) string {
	if prices == "" {
		return ""
	}
	return style.Wrap("prices: "+prices, "", "  ")
}

// gap says how near the plan is to the cheapest one. The bound of a large plan splits pods and
// nodes, so that no plan reaches it.
func (p *Plan) gap() string {
	if p.LowerBoundPerHour <= 0 {
		return ""
	}
	if closeness := status.Closeness(p.PricePerHour+p.RiskPerHour, p.LowerBoundPerHour); closeness != "" {
		return "; " + closeness
	}
	with := ""
	if p.RiskPerHour > 0 {
		with = " and counts the risk"
	}
	return fmt.Sprintf("; the lower bound, which splits pods and nodes%s, is $%s/h", with, dollars(p.LowerBoundPerHour))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// extrasText says how much of a price is not the instances', such as ", of which $0.0022/h are
// extras".
func extrasText(extras float64) string {
	if extras <= 0 {
		return ""
	}
	return ", of which $" + dollars(extras) + "/h are extras"
}

// riskText says what interruptions cost beside a price, such as " and $0.0004/h for the risk of
// interruptions".
func riskText(risk float64) string {
	if risk <= 0 {
		return ""
	}
	return " and $" + dollars(risk) + "/h for the risk of interruptions"
}

// dollars formats a price in dollars with four decimals, or more for very small prices.
func dollars(price float64) string {
	if price > 0 && price < 0.00005 {
		return strconv.FormatFloat(price, 'g', 2, 64)
	}
	return strconv.FormatFloat(math.Round(price*1e4)/1e4, 'f', 4, 64)
}
