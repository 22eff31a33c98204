package report

import (
	"fmt"
	"strings"
	"time"
)

// Consolidation compares what becomes of one fleet.
type Consolidation struct {
	Fleet, Description string
	Nodes, Pods        int
	// PricePerHour is the fleet's before, LowerBoundPerHour what no fleet for its pods can cost less than, in US dollars.
	PricePerHour, LowerBoundPerHour float64
	Karpenter, Whittle              Consolidated
	// MovedToPrice is how many pods Whittle had moved when its fleet first cost no more than what Karpenter comes to; -1 if it never did.
	MovedToPrice int
}

// Consolidated is what one side has come to when it has nothing more to do, or its time has run out.
type Consolidated struct {
	// PricePerHour is the fleet's in US dollars, of NodesLeft nodes.
	PricePerHour float64
	NodesLeft    int
	// Moved counts evicted pods, one that is evicted twice as two; Removed and Launched count nodes, Decisions how often something was decided.
	Moved, Removed, Launched, Decisions int
	// Wall and CPU are of all decisions together, First and Slowest of one; SlowestCPU is the most processor time that one took.
	Wall, CPU, First, Slowest, SlowestCPU time.Duration
	// Memory is the most in bytes that the process had while it decided; zero if nobody has looked.
	Memory uint64
	// Unfinished says that there was more to do when time had run out.
	Unfinished bool
}

// String is the row as a line for a terminal.
func (c *Consolidation) String() string {
	side := func(d *Consolidated) string {
		return fmt.Sprintf("%s$%.2f, %d nodes (-%d +%d), %d pods moved, %d decisions in %s", over(d.Unfinished), d.PricePerHour, d.NodesLeft, d.Removed, d.Launched, d.Moved, d.Decisions, duration(d.Wall))
	}
	return fmt.Sprintf("%-16s %5d nodes %6d pods $%.2f, bound $%.2f | Karpenter %s | Whittle %s, slowest %s (cpu %s), %d MB, %d pods to Karpenter's price",
		c.Fleet, c.Nodes, c.Pods, c.PricePerHour, c.LowerBoundPerHour, side(&c.Karpenter), side(&c.Whittle), duration(c.Whittle.Slowest), duration(c.Whittle.SlowestCPU), c.Whittle.Memory/1e6, c.MovedToPrice)
}

// Consolidation is the comparison as a page. Rest is how often Whittle was asked again about each fleet at rest.
func (r *Report) Consolidation(rows []Consolidation, rest int) string {
	var b strings.Builder
	b.WriteString("# Karpenter's consolidation and Whittle's on the same fleets\n\n")
	fmt.Fprintf(&b, "%s, Karpenter %s as a library; %d instance types of us-east-1 with three zones.\n\n```\n%s\n```\n\n", r.Machine, r.Karpenter, r.InstanceTypes, strings.Replace(r.command(), "bench-peer", "bench-consolidation", 1))
	fmt.Fprintf(&b, `Karpenter's own methods decide (emptiness, multi-node, single-node, in its controller's order, with its own candidates, budgets and simulation), on its own picture of
the cluster. What they decide is carried out on that picture at once: a replacement becomes its cheapest offering, pods go where the method's simulation has put them, and the
methods are asked again until they find nothing more, or have used %s of processor time for the fleet; what they have begun by then they finish, and the row says "unfinished": its price and its pods are
those of that moment, and with more time both would go on. Their own limits, a minute for a search among many nodes and three for one node by node, hold as well, by the clock. Left out is the wait of fifteen seconds before each decision is looked
at again. Objects are read from memory, by index, as from its cache. Spot nodes may be replaced by spot nodes, which is off unless a user switches it on. Whittle is asked, its moves are carried
out in the same way, and it is asked again once all has settled, until it finds nothing more, with its default thresholds; then %d times more, and the run ends with an error if it moves anything. Budgets allow both everything: what is compared is where they end, and what it takes.

`, duration(r.Limit), rest)
	seen := map[string]bool{}
	for i := range rows {
		if row := &rows[i]; !seen[row.Fleet] {
			seen[row.Fleet] = true
			fmt.Fprintf(&b, "- **%s**: %s.\n", row.Fleet, row.Description)
		}
	}
	b.WriteString("\n## Price and disturbance\n\nUS dollars an hour of all nodes. A pod that is moved twice counts as two. \"To that price\" is how many pods Whittle had moved when the fleet first cost no more than Karpenter's at its end.\n\n")
	b.WriteString("| fleet | nodes | pods | before | bound | Karpenter | pods moved | nodes gone | new | Whittle | pods moved | to that price | nodes gone | new | price, Whittle / Karpenter | pods moved | to that price |\n")
	b.WriteString("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for i := range rows {
		c := &rows[i]
		k, w := &c.Karpenter, &c.Whittle
		to, part := "never", ""
		if c.MovedToPrice >= 0 {
			to, part = number(c.MovedToPrice), fmt.Sprintf("%.2f", float64(c.MovedToPrice)/float64(max(k.Moved, 1)))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %.2f | %.2f | %s%.2f | %s | %s | %s | %.2f | %s | %s | %s | %s | %.2f | %.2f | %s |\n", c.Fleet, number(c.Nodes), number(c.Pods), c.PricePerHour, c.LowerBoundPerHour,
			unfinished(k), k.PricePerHour, number(k.Moved), number(k.Removed), number(k.Launched), w.PricePerHour, number(w.Moved), to, number(w.Removed), number(w.Launched),
			w.PricePerHour/k.PricePerHour, float64(w.Moved)/float64(max(k.Moved, 1)), part)
	}
	b.WriteString("\n## Time\n\nOf deciding alone. Memory is the most that the process had while Whittle decided, with the instance types and whatever the comparison keeps. Garbage may gather to four times what is in use, on both sides: as in the functions, whose memory is paid for anyway.\n\n")
	b.WriteString("| fleet | nodes | Karpenter: decisions | in all | of cpu | slowest | of cpu | Whittle: decisions | in all | of cpu | first | slowest | of cpu | memory |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for i := range rows {
		c := &rows[i]
		k, w := &c.Karpenter, &c.Whittle
		fmt.Fprintf(&b, "| %s | %s | %s | %s%s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %d MB |\n", c.Fleet, number(c.Nodes), number(k.Decisions), over(k.Unfinished), duration(k.Wall), duration(k.CPU), duration(k.Slowest), duration(k.SlowestCPU),
			number(w.Decisions), duration(w.Wall), duration(w.CPU), duration(w.First), duration(w.Slowest), duration(w.SlowestCPU), w.Memory/1e6)
	}
	return b.String()
}

func number(n int) string { return count(uint64(n)) }

func unfinished(c *Consolidated) string {
	if c.Unfinished {
		return "unfinished at "
	}
	return ""
}
