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
	order int
	// filter is a part of what a row shows; empty for all rows. While typing is true, keys add to it.
	filter string
	typing bool
	// first is the number of rows that are scrolled away.
	first int
}

// Key returns the Model after a key, such as q, /, enter, up or a letter. It reports whether the person
// wants to quit.
func (m Model) Key(key string) (next Model, quit bool) {
	if m.typing {
		return m.typed(key), key == "ctrl-c"
	}
	switch key {
	case "q", "ctrl-c":
		return m, true
	case "/":
		m.typing, m.filter, m.first = true, "", 0
	case "escape":
		m.filter, m.first = "", 0
	case "down", "j":
		m.first++
	case "up", "k":
		m.first = max(m.first-1, 0)
	default:
		if i := slices.IndexFunc(orders(), func(o order) bool { return o.key == key }); i >= 0 {
			m.order, m.first = i, 0
		}
	}
	return m, false
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
)

// Lines returns the screen: as many lines as its height at most, each no wider than its width. problem
// is why the view is an old one; empty for a current one. A nil view is one that nobody has read yet.
func (m Model) Lines(v *view.View, problem string, style terminal.Style, height int) []string {
	var head []string
	if problem != "" {
		head = append(head, style.Paint(terminal.Red, terminal.Cut("NOT CURRENT: "+problem, style.Width)))
	}
	if v == nil {
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
	rows := m.rows(v)
	room := max(height-len(head)-2, 1) // the header, and the line of keys
	first := min(m.first, max(len(rows)-room, 0))
	shown := append([][]terminal.Cell{header()}, rows[first:min(first+room, len(rows))]...)
	table := strings.Split(strings.TrimSuffix(style.Fit(shown, 3, 9, 4, 7, 2), "\n"), "\n")
	lines := append(head, table...)
	for len(lines) < height-1 {
		lines = append(lines, "")
	}
	return append(lines[:max(height-1, 0)], terminal.Cut(m.keys(first, room, len(rows)), style.Width))
}

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
	return fmt.Sprintf("%d nodes, %d joining, %d leaving; $%.4f/h; %d pods pending; cpu %s; memory %s", len(v.Nodes),
		joining, leaving, v.PricePerHour, len(v.Waiting), bar(requested.CPU, allocatable.CPU).Text,
		bar(requested.Memory, allocatable.Memory).Text)
}

func header() []terminal.Cell {
	return terminal.Header("NODE", "STATE", "TYPE", "CAPACITY", "ZONE", ">AGE", ">$/H", ">PODS", "CPU", "MEMORY", "NOTE")
}

// rows returns the rows that the filter leaves, in their order.
func (m Model) rows(v *view.View) [][]terminal.Cell {
	nodes := slices.Clone(v.Nodes)
	slices.SortStableFunc(nodes, func(a, b view.Node) int {
		return cmp.Or(orders()[m.order].compare(&a, &b), strings.Compare(name(&a), name(&b)))
	})
	var rows [][]terminal.Cell
	for i := range nodes {
		n := &nodes[i]
		row := []terminal.Cell{
			{Text: name(n)}, {Text: string(n.State), Color: view.StateColor(n.State)}, {Text: n.InstanceType},
			{Text: n.CapacityType}, {Text: n.Zone}, {Text: v.Age(n.Created), Right: true},
			{Text: strconv.FormatFloat(n.PricePerHour, 'f', 4, 64), Right: true},
			{Text: strconv.Itoa(n.Pods), Right: true}, bar(n.Requested.CPU, n.Allocatable.CPU),
			bar(n.Requested.Memory, n.Allocatable.Memory), {Text: n.Reason},
		}
		if m.filter == "" || slices.ContainsFunc(row, func(c terminal.Cell) bool {
			return strings.Contains(strings.ToLower(c.Text), strings.ToLower(m.filter))
		}) || strings.Contains(n.NodePool, m.filter) {
			rows = append(rows, row)
		}
	}
	return rows
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
	text := "q quit  / filter  sort by: " + strings.Join(sorts, " ")
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
