package report

import (
	"fmt"
	"strings"
)

// Markdown is the report as a page: how it was made, then speed, memory and price of each workload.
func (r *Report) Markdown() string {
	var b strings.Builder
	b.WriteString("# Karpenter's scheduler and Whittle's planner on the same snapshots\n\n")
	fmt.Fprintf(
		&b,
		"The run used %s, Karpenter %s as a library, and Kubernetes libraries %s.\n",
		r.Machine,
		r.Karpenter,
		r.Kubernetes,
	)
	fmt.Fprintf(&b, "It has %d instance types of us-east-1 with three zones.\n", r.InstanceTypes)
	b.WriteString("Both planners ran in one process, one after the other.\n")
	fmt.Fprintf(&b, "Karpenter's scheduler had %d worker(s) and at most %s.\n\n", r.Workers, duration(r.Limit))
	fmt.Fprintf(&b, "```\n%s\n```\n\n![speed and price](chart.svg)\n\n", r.command())
	b.WriteString("Workloads:\n\n")
	seen := map[string]bool{}
	for i := range r.Rows {
		if row := &r.Rows[i]; !seen[row.Workload] {
			seen[row.Workload] = true
			fmt.Fprintf(&b, "- **%s**: %s.\n", row.Workload, row.Description)
		}
	}
	b.WriteString("\n")
	for _, features := range []bool{false, true} {
		rows := r.rows(features)
		if len(rows) == 0 {
			continue
		}
		if features {
			b.WriteString(
				"## Features\n\nSmall clusters compare the features that both understand: prices, and the pods that are left out.\n\n",
			)
			writeTable(&b, rows, priceColumns)
			writeTable(&b, rows, timeColumns)
			continue
		}
		b.WriteString(`## Speed

The time runs from objects in memory to a finished plan.
Data that Karpenter keeps between passes, such as converted instance types, was ready before the clock started.

`)
		writeTable(&b, rows, timeColumns)
		b.WriteString("## Memory\n\nHeap allocations of one plan.\n\n")
		writeTable(&b, rows, memoryColumns)
		b.WriteString(`## Price

The prices are US dollars per hour of the new nodes, each at the cheapest offering that its planner leaves open.
Each node also costs $0.0022/h for its volume of 20 GiB.
The last two columns add $0.03/h for each node, as agents charge.
Karpenter's plan does not know either, and Whittle's does.
No fleet can cost less than the bound.
The table compares prices where both plans are finished and leave out equally many pods.

`)
		writeTable(&b, rows, priceColumns)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// command is what repeats the run from the repository's root. The folder for the report is no part
// of it.
func (r *Report) command() string {
	var arguments []string
	for i := 0; i < len(r.Arguments); i++ {
		name, _, joined := strings.Cut(strings.TrimLeft(r.Arguments[i], "-"), "=")
		if name == "out" {
			if !joined {
				i++
			}
			continue
		}
		argument := r.Arguments[i]
		if strings.ContainsAny(argument, " '\"") {
			argument = "'" + argument + "'"
		}
		arguments = append(arguments, argument)
	}
	if len(arguments) == 0 {
		return "make bench-peer"
	}
	return fmt.Sprintf("make bench-peer arguments=%q", strings.Join(arguments, " "))
}

func (r *Report) rows(features bool) []*Row {
	var rows []*Row
	for i := range r.Rows {
		if r.Rows[i].Features == features {
			rows = append(rows, &r.Rows[i])
		}
	}
	return rows
}

// column is a table's column; numbers stand to the right.
type column struct {
	title string
	text  bool
	cell  func(*Row) string
}

var (
	workloadColumn = column{"workload", true, func(r *Row) string { return r.Workload }}
	podsColumn     = column{"pods", false, func(r *Row) string { return count(uint64(r.Pods)) }}
	capacityColumn = column{"capacity", true, (*Row).capacity}
)

func timeColumns() []column {
	return []column{
		workloadColumn, podsColumn, capacityColumn,
		{"Karpenter", false, func(r *Row) string { k := median(r.Karpenter); return over(k.TimedOut) + duration(k.Wall) }},
		{"of cpu", false, func(r *Row) string { return duration(median(r.Karpenter).CPU) }},
		{"Whittle", false, func(r *Row) string { return duration(median(r.Whittle).Wall) }},
		{"of cpu", false, func(r *Row) string { return duration(median(r.Whittle).CPU) }},
		{"times faster", false, func(r *Row) string { return over(median(r.Karpenter).TimedOut) + times(r.speed()) }},
		{"by cpu", false, func(r *Row) string { return over(median(r.Karpenter).TimedOut) + times(r.thrift()) }},
	}
}

func memoryColumns() []column {
	return []column{
		workloadColumn, podsColumn, capacityColumn,
		{"Karpenter", false, func(r *Row) string {
			k := median(r.Karpenter)
			return over(k.TimedOut) + count(k.Allocations)
		}},
		{"bytes", false, func(r *Row) string { return size(median(r.Karpenter).Bytes) }},
		{"Whittle", false, func(r *Row) string { return count(median(r.Whittle).Allocations) }},
		{"bytes", false, func(r *Row) string { return size(median(r.Whittle).Bytes) }},
		{"times fewer", false, func(r *Row) string { return over(median(r.Karpenter).TimedOut) + times(r.allocations()) }},
	}
}

func priceColumns() []column {
	return []column{
		workloadColumn, podsColumn, capacityColumn,
		{"Karpenter", false, func(r *Row) string {
			k := median(r.Karpenter)
			if k.TimedOut {
				return "unfinished"
			}
			return price(k.PricePerHour)
		}},
		{"nodes", false, func(r *Row) string { return count(uint64(median(r.Karpenter).Nodes)) }},
		{"left out", false, func(r *Row) string { return count(uint64(median(r.Karpenter).LeftOut)) }},
		{"Whittle", false, func(r *Row) string { return price(median(r.Whittle).PricePerHour) }},
		{"nodes", false, func(r *Row) string { return count(uint64(median(r.Whittle).Nodes)) }},
		{"left out", false, func(r *Row) string { return count(uint64(median(r.Whittle).LeftOut)) }},
		{"bound", false, func(r *Row) string { return price(r.LowerBoundPerHour) }},
		{"Whittle / Karpenter", false, func(r *Row) string {
			if ratio, ok := r.price(); ok {
				return fmt.Sprintf("%.3f", ratio)
			}
			return ""
		}},
		{"Whittle / bound", false, func(r *Row) string { return r.overBound(median(r.Whittle)) }},
		{"Karpenter / bound", false, func(r *Row) string { return r.overBound(median(r.Karpenter)) }},
		{"with $0.03/h more for each node: Whittle / Karpenter", false, func(r *Row) string {
			return ratio(r.WithFee.Whittle, r.WithFee.Karpenter, r.comparable() && r.WithFee.LeftOut == median(r.Whittle).LeftOut)
		}},
		{"Whittle / bound", false, func(r *Row) string {
			return ratio(r.WithFee.Whittle, r.WithFee.LowerBound, true)
		}},
	}
}

// ratio is a / b as text; empty where the two do not compare.
func ratio(a, b float64, compares bool) string {
	if !compares || b <= 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", a/b)
}

// overBound is an outcome's price relative to the bound; empty for an unfinished plan, and where
// pods that the bound counts are left out.
func (r *Row) overBound(o Outcome) string {
	if ratio, ok := r.inBound(o); ok {
		return fmt.Sprintf("%.3f", ratio)
	}
	return ""
}

func (r *Row) inBound(o Outcome) (float64, bool) {
	return o.PricePerHour / r.LowerBoundPerHour, !o.TimedOut && o.LeftOut <= median(r.Whittle).LeftOut &&
		r.LowerBoundPerHour > 0
}

func writeTable(b *strings.Builder, rows []*Row, columns func() []column) {
	all := columns()
	for _, c := range all {
		fmt.Fprintf(b, "| %s ", c.title)
	}
	b.WriteString("|\n")
	for _, c := range all {
		if c.text {
			b.WriteString("| --- ")
		} else {
			b.WriteString("| ---: ")
		}
	}
	b.WriteString("|\n")
	for _, row := range rows {
		for _, c := range all {
			fmt.Fprintf(b, "| %s ", c.cell(row))
		}
		b.WriteString("|\n")
	}
	b.WriteString("\n")
}

func price(dollars float64) string { return fmt.Sprintf("%.4f", dollars) }

// count writes a number with commas between the thousands.
func count(n uint64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func size(n uint64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%.0f GiB", float64(n)/(1<<30))
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	default:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
}
