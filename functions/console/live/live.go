// Package live is the live view of a cluster in a terminal: what is on the screen, and what keys do.
//
// Its place: the command whittle reads the cluster and the keys, and writes the screen. This package
// decides purely: a Model and a key give the next Model, and a Model and a view give lines.
package live

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/nodestate"
)

// order is how nodes are sorted.
type order struct {
	key, name string
	compare   func(a, b *view.Node) int
}

// orders lists the orders, by the keys that choose them. The first is the default: moves in progress
// come before the nodes that are ready.
func orders() []order {
	return []order{
		{"s", "state", func(a, b *view.Node) int { return cmp.Compare(nodestate.Rank(a.State), nodestate.Rank(b.State)) }},
		{"p", "price", func(a, b *view.Node) int { return cmp.Compare(b.PricePerHour, a.PricePerHour) }},
		{"a", "age", func(a, b *view.Node) int { return a.Created.Compare(b.Created) }},
		{"c", "cpu", func(a, b *view.Node) int {
			return cmp.Compare(part(b.Requested.CPU, b.Allocatable.CPU), part(a.Requested.CPU, a.Allocatable.CPU))
		}},
		{"n", "name", func(a, b *view.Node) int { return strings.Compare(name(a), name(b)) }},
	}
}

// name is the node's name, or its claim's until it has joined.
func name(n *view.Node) string { return cmp.Or(n.Name, n.NodeClaim) }

// Model is what the person at the terminal has chosen. The zero Model sorts by state and shows all.
type Model struct {
	// labels are the keys of labels that have a column each.
	labels []string
	order  int
	// filter is a part of what a row shows; empty for all rows. While typing is true, keys add to it.
	filter string
	typing bool
	// chosen is the node of the selected row, and at the row's place, which counts once the node is gone.
	chosen string
	at     int
	// podsHidden hides the pane of pending pods.
	podsHidden bool
	// page is the explanation of a row in place of the table; nil for the table.
	page *page
}

// page is the explanation of a node.
type page struct {
	name, text string // the text is empty until it is there
	first      int    // the number of lines that are scrolled away
}

// New returns a Model whose rows have columns of labels.
func New(labels []string) Model { return Model{labels: labels} }

// Ask is what the command does after a key.
type Ask struct {
	Quit bool
	// Explain is the node or claim to explain with Explained; empty for none.
	Explain string
}

// Key returns the Model after a key, such as q, /, enter, up or a letter, and what the person asks for. The
// view is what is on the screen, or nil.
func (m Model) Key(key string, v *view.View) (next Model, ask Ask) {
	switch {
	case key == "ctrl-c":
		return m, Ask{Quit: true}
	case m.typing:
		return m.typed(key), Ask{}
	case key == "q":
		return m, Ask{Quit: true}
	case m.page != nil:
		return m.read(key), Ask{}
	}
	switch key {
	case "/":
		m.typing, m.filter, m.chosen, m.at = true, "", "", 0
	case "escape":
		m.filter = ""
	case "down", "j":
		return m.move(v, 1), Ask{}
	case "up", "k":
		return m.move(v, -1), Ask{}
	case "w":
		m.podsHidden = !m.podsHidden
	case "enter":
		if nodes := m.nodes(v); len(nodes) > 0 {
			asked := name(&nodes[m.place(nodes)])
			m.page = &page{name: asked}
			return m, Ask{Explain: asked}
		}
	default:
		if i := slices.IndexFunc(orders(), func(o order) bool { return o.key == key }); i >= 0 {
			m.order, m.chosen, m.at = i, "", 0
		}
	}
	return m, Ask{}
}

// read returns the Model after a key on the page of an explanation.
func (m Model) read(key string) Model {
	shown := *m.page
	switch key {
	case "escape", "enter":
		m.page = nil
		return m
	case "down", "j":
		shown.first = min(shown.first+1, max(strings.Count(shown.text, "\n")-1, 0))
	case "up", "k":
		shown.first = max(shown.first-1, 0)
	}
	m.page = &shown
	return m
}

// Explained returns the Model with the explanation of a node, unless the person has left its page.
func (m Model) Explained(name, text string) Model {
	if m.page != nil && m.page.name == name {
		m.page = &page{name: name, text: text}
	}
	return m
}

// move selects another row.
func (m Model) move(v *view.View, by int) Model {
	if nodes := m.nodes(v); len(nodes) > 0 {
		m.at = min(max(m.place(nodes)+by, 0), len(nodes)-1)
		m.chosen = name(&nodes[m.at])
	}
	return m
}

// place is the place of the selected row. There must be rows.
func (m Model) place(nodes []view.Node) int {
	if i := slices.IndexFunc(nodes, func(n view.Node) bool { return m.chosen != "" && name(&n) == m.chosen }); i >= 0 {
		return i
	}
	return min(m.at, len(nodes)-1)
}

// typed returns the Model after a key of the filter.
func (m Model) typed(key string) Model {
	switch key {
	case "enter":
		m.typing = false
	case "escape":
		m.typing, m.filter = false, ""
	case "backspace":
		if runes := []rune(m.filter); len(runes) > 0 {
			m.filter = string(runes[:len(runes)-1])
		}
	default:
		if len([]rune(key)) == 1 {
			m.filter += key
		}
	}
	return m
}

const (
	// maximumProblems is how many problems are on the screen.
	maximumProblems = 3
	// barLength is the length of a bar.
	barLength = 8
	// podsFrom is the height of a screen that has room for the pane of pending pods.
	podsFrom = 16
)

// Lines returns the screen: as many lines as its height at most, each no wider than its width. problem
// is why the view is an old one; empty for a current one. A nil view is one that nobody has read yet.
func (m Model) Lines(v *view.View, problem string, style terminal.Style, height int) []string {
	var head []string
	if problem != "" {
		head = append(head, style.Paint(terminal.Red, terminal.Cut("NOT CURRENT: "+problem, style.Width)))
	}
	switch {
	case m.page != nil:
		return m.page.lines(head, style, height)
	case v == nil:
		return append(head, "reading the cluster…")[:min(len(head)+1, height)]
	}
	head = append(head, style.Paint(terminal.Bold, terminal.Cut(v.VerdictText(), style.Width)))
	for i, text := range v.Problems {
		if i == maximumProblems {
			head = append(head, terminal.Cut(fmt.Sprintf("and %d more problems", len(v.Problems)-i), style.Width))
			break
		}
		head = append(head, style.Paint(terminal.Red, terminal.Cut("PROBLEM: "+text, style.Width)))
	}
	head = append(head, terminal.Cut(totals(v), style.Width), "")
	nodes := m.nodes(v)
	pods := m.pods(v, style, height-len(head))
	room := max(height-len(head)-len(pods)-2, 1) // the header, and the line of keys
	first := 0
	if len(nodes) > room {
		first = min(max(m.place(nodes)-room/2, 0), len(nodes)-room)
	}
	lines := append(head, m.table(v, nodes, first, room, style)...)
	for len(lines)+len(pods) < height-1 {
		lines = append(lines, "")
	}
	lines = append(lines, pods...)
	return append(lines[:min(len(lines), max(height-1, 0))], terminal.Cut(m.keys(first, room, len(nodes)), style.Width))
}

// lines are the screen of an explanation, below other lines.
func (p *page) lines(head []string, style terminal.Style, height int) []string {
	lines := append(head, style.Paint(terminal.Bold, terminal.Cut("explain "+p.name, style.Width)), "")
	text := strings.Split(strings.TrimRight(p.text, "\n"), "\n")
	if p.text == "" {
		text = []string{"reading the cluster…"}
	}
	room := max(height-len(lines)-1, 1)
	first := min(p.first, max(len(text)-room, 0))
	for _, line := range text[first:min(first+room, len(text))] {
		lines = append(lines, terminal.Cut(line, style.Width))
	}
	for len(lines) < height-1 {
		lines = append(lines, "")
	}
	keys := "escape back  up/down scroll  q quit"
	if len(text) > room {
		keys = fmt.Sprintf("%d-%d of %d lines  ", first+1, min(first+room, len(text)), len(text)) + keys
	}
	return append(lines[:min(len(lines), max(height-1, 0))], terminal.Cut(keys, style.Width))
}

// pods is the pane of pending pods: a quarter of the room at most.
func (m Model) pods(v *view.View, style terminal.Style, height int) []string {
	if m.podsHidden || len(v.Waiting) == 0 || height < podsFrom {
		return nil
	}
	most := min(len(v.Waiting), max(height/4, 1))
	rows := [][]terminal.Cell{terminal.Header("PENDING POD", ">AGE", "SOURCE", "MESSAGE")}
	for _, pod := range v.Waiting[:most] {
		rows = append(rows, []terminal.Cell{
			{Text: pod.Namespace + "/" + pod.Name}, {Text: v.Age(pod.Created), Right: true}, {Text: pod.Source},
			{Text: cmp.Or(pod.Message, "no event yet")},
		})
	}
	lines := append([]string{""}, linesOf(style.Fit(rows, 2))...)
	if more := len(v.Waiting) - most; more > 0 {
		lines = append(lines, terminal.Cut(fmt.Sprintf("and %d more pending pods", more), style.Width))
	}
	return lines
}

func linesOf(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// totals sums up the nodes in a line.
func totals(v *view.View) string {
	var requested, allocatable view.Resources
	joining, leaving := 0, 0
	for i := range v.Nodes {
		n := &v.Nodes[i]
		requested.CPU.Add(n.Requested.CPU)
		requested.Memory.Add(n.Requested.Memory)
		allocatable.CPU.Add(n.Allocatable.CPU)
		allocatable.Memory.Add(n.Allocatable.Memory)
		switch {
		case nodestate.Joins(n.State):
			joining++
		case nodestate.Leaves(n.State):
			leaving++
		}
	}
	return fmt.Sprintf("%d nodes, %d joining, %d leaving; $%.4f/h, $%.0f/month; %d pods pending; cpu %s; memory %s",
		len(v.Nodes), joining, leaving, v.PricePerHour, view.MonthOf(v.PricePerHour), len(v.Waiting),
		bar(requested.CPU, allocatable.CPU).Text, bar(requested.Memory, allocatable.Memory).Text)
}

// nodes returns the nodes that the filter leaves, in their order.
func (m Model) nodes(v *view.View) []view.Node {
	if v == nil {
		return nil
	}
	nodes := slices.DeleteFunc(slices.Clone(v.Nodes), func(n view.Node) bool {
		return m.filter != "" && !strings.Contains(n.NodePool, m.filter) &&
			!slices.ContainsFunc(m.row(v, &n, nil), func(c terminal.Cell) bool {
				return strings.Contains(strings.ToLower(c.Text), strings.ToLower(m.filter))
			})
	})
	slices.SortStableFunc(nodes, func(a, b view.Node) int {
		return cmp.Or(orders()[m.order].compare(&a, &b), strings.Compare(name(&a), name(&b)))
	})
	return nodes
}

// The columns of a row before those of other resources and labels, by their places.
const (
	columnType     = 2
	columnCapacity = 3
	columnZone     = 4
	columnMonth    = 7
	columnPods     = 8
	columnMemory   = 10
	columnOthers   = 11
)

// table draws a part of the rows with the header. The selected row has a mark.
func (m Model) table(v *view.View, nodes []view.Node, first, room int, style terminal.Style) []string {
	others := v.OtherNames()
	header := terminal.Header(
		"  NODE", "STATE", "TYPE", "CAPACITY", "ZONE", ">AGE", ">$/H", ">$/MONTH", ">PODS", "CPU", "MEMORY",
	)
	// Narrow screens lose the columns in this order.
	optional := []int{columnCapacity, columnMonth, columnMemory, columnZone, columnPods}
	for i, name := range others {
		header = append(header, terminal.Header(view.Column(name))...)
		optional = append(optional, columnOthers+i)
	}
	optional = append(optional, columnType)
	for i, key := range m.labels {
		header = append(header, terminal.Header(view.Column(key))...)
		optional = append(optional, columnOthers+len(others)+i)
	}
	rows := [][]terminal.Cell{append(header, terminal.Header("NOTE")...)}
	for i := first; i < min(first+room, len(nodes)); i++ {
		cells := m.row(v, &nodes[i], others)
		cells[0].Text = "  " + cells[0].Text
		if i == m.place(nodes) {
			cells[0].Text, cells[0].Color = "▸"+cells[0].Text[1:], terminal.Bold
		}
		rows = append(rows, cells)
	}
	return linesOf(style.Fit(rows, optional...))
}

// row has the cells of a node.
func (m Model) row(v *view.View, n *view.Node, others []string) []terminal.Cell {
	cells := []terminal.Cell{
		{Text: name(n)}, {Text: string(n.State), Color: view.StateColor(n.State)}, {Text: n.InstanceType},
		{Text: n.CapacityType}, {Text: n.Zone}, {Text: v.Age(n.Created), Right: true},
		{Text: strconv.FormatFloat(n.PricePerHour, 'f', 4, 64), Right: true},
		{Text: strconv.FormatFloat(view.MonthOf(n.PricePerHour), 'f', 0, 64), Right: true},
		{Text: strconv.Itoa(n.Pods), Right: true}, bar(n.Requested.CPU, n.Allocatable.CPU),
		bar(n.Requested.Memory, n.Allocatable.Memory),
	}
	for _, name := range others {
		text := ""
		if other, has := n.Other(name); has {
			text = other.Text()
		}
		cells = append(cells, terminal.Cell{Text: text})
	}
	for _, key := range m.labels {
		cells = append(cells, terminal.Cell{Text: n.Labels[key]})
	}
	return append(cells, terminal.Cell{Text: n.Reason})
}

// keys is the last line of the screen.
func (m Model) keys(first, room, rows int) string {
	if m.typing {
		return "filter: " + m.filter + "▏ (enter keeps it, escape ends it)"
	}
	var sorts []string
	for i, o := range orders() {
		text := o.key + " " + o.name
		if i == m.order {
			text = "[" + text + "]"
		}
		sorts = append(sorts, text)
	}
	text := "q quit  enter explain  / filter  w pods  sort by: " + strings.Join(sorts, " ")
	if m.filter != "" {
		text = fmt.Sprintf("filter %q  ", m.filter) + text
	}
	if rows > room {
		text = fmt.Sprintf("%d-%d of %d  ", first+1, min(first+room, rows), rows) + text
	}
	return text
}

// part is the requested part of what is there.
func part(requested, allocatable resource.Quantity) float64 {
	if allocatable.Sign() <= 0 {
		return 0
	}
	return requested.AsApproximateFloat64() / allocatable.AsApproximateFloat64()
}

func bar(requested, allocatable resource.Quantity) terminal.Cell {
	filled := part(requested, allocatable)
	return terminal.Cell{Text: fmt.Sprintf("%s %3.0f%%", terminal.Bar(filled, barLength), 100*filled)}
}
