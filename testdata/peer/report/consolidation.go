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
	// PricePerHour is the fleet's before, LowerBoundPerHour what no fleet for its pods can cost less
	// than, in US dollars.
	PricePerHour, LowerBoundPerHour float64
	Karpenter, Whittle              Consolidated
	// MovedToPrice is how many pods Whittle had moved when its fleet first cost no more than what
	// Karpenter comes to; -1 if it never did.
	MovedToPrice int
}

// Consolidated is what one side has come to when it has nothing more to do, or its time has run
// out.
type Consolidated struct {
	// PricePerHour is the fleet's in US dollars, of NodesLeft nodes.
	PricePerHour float64
	NodesLeft    int
	// Moved counts evicted pods, one that is evicted twice as two; Removed and Launched count nodes,
	// Decisions how often something was decided.
	Moved, Removed, Launched, Decisions int
	// Wall and CPU are of all decisions together, First and Slowest of one; SlowestCPU is the most
	// processor time that one took.
	Wall, CPU, First, Slowest, SlowestCPU time.Duration
	// Memory is the most in bytes that the process had while it decided; zero if nobody has looked.
	Memory uint64
	// Unfinished says that there was more to do when time had run out.
	Unfinished bool
}

// String is the row as a line for a terminal.
func (c *Consolidation) String() string {
	side := func(d *Consolidated) string {
		return fmt.Sprintf(
			"%s$%.2f, %d nodes (-%d +%d), %d pods moved, %d decisions in %s",
			over(d.Unfinished),
			d.PricePerHour,
			d.NodesLeft,
			d.Removed,
			d.Launched,
			d.Moved,
			d.Decisions,
			duration(d.Wall),
		)
	}
	return fmt.Sprintf(
		"%-16s %5d nodes %6d pods $%.2f, bound $%.2f | Karpenter %s | Whittle %s, slowest %s (cpu %s), %d MB, %d pods to Karpenter's price",
		c.Fleet,
		c.Nodes,
		c.Pods,
		c.PricePerHour,
		c.LowerBoundPerHour,
		side(&c.Karpenter),
		side(&c.Whittle),
		duration(c.Whittle.Slowest),
		duration(c.Whittle.SlowestCPU),
		c.Whittle.Memory/1e6,
		c.MovedToPrice,
	)
}

// Consolidation is the comparison as a page. Rest is how often Whittle was asked again about each
// fleet at rest.
func (r *Report) Consolidation(rows []Consolidation, rest int) string {
	var b strings.Builder
	b.WriteString("# Karpenter's consolidation and Whittle's on the same fleets\n\n")
	fmt.Fprintf(
		&b,
		"%s, Karpenter %s as a library; %d instance types of us-east-1 with three zones.\n\n```\n%s\n```\n\n",
		r.Machine,
		r.Karpenter,
		r.InstanceTypes,
		strings.Replace(r.command(), "bench-peer", "bench-consolidation", 1),
	)
	fmt.Fprintf(&b, `## How

* **Karpenter's own methods decide**: emptiness, multi-node and single-node, in its controller's order.
  They use its own candidates, budgets and simulation, on its own picture of the cluster.
* **The program carries their decisions out** on that picture at once. A replacement becomes its cheapest offering.
  Pods go where the method's simulation has put them.
* **It repeats** until the methods find nothing more, or have used %s of processor time for the fleet.
  They finish what they have begun by then. The row says "unfinished", with the price and the pods of that moment.
* **The methods' own limits hold too**: one minute to search among many nodes, and three minutes to search node by node.
* **It leaves out** the wait of fifteen seconds before Karpenter validates a decision.
* Karpenter reads objects from memory, by index, as from its cache.
* Karpenter may replace spot nodes by spot nodes, which is off by default.
* **Whittle runs with its default thresholds**, until it finds nothing more. The program carries its moves out in the
  same way, and asks again once all has settled. It then asks %d times more. A move then is an error.
* Budgets allow both everything. The program compares their final fleets, and the cost of getting there.

## Fleets

`, duration(r.Limit), rest)
	seen := map[string]bool{}
	for i := range rows {
		if row := &rows[i]; !seen[row.Fleet] {
			seen[row.Fleet] = true
			fmt.Fprintf(&b, "- **%s**: %s.\n", row.Fleet, row.Description)
		}
	}
	b.WriteString(`
## Price and disturbance

The prices are US dollars per hour of all nodes. A pod that moves twice counts as two.
"To that price" counts the pods that Whittle had moved when its fleet first cost no more than Karpenter's at its end.

`)
	b.WriteString(
		"| fleet | nodes | pods | before | bound | Karpenter | pods moved | nodes gone | new | Whittle | pods moved | to that price | nodes gone | new | price, Whittle / Karpenter | pods moved | to that price |\n",
	)
	b.WriteString(
		"| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
	)
	for i := range rows {
		c := &rows[i]
		k, w := &c.Karpenter, &c.Whittle
		to, part := "never", ""
		if c.MovedToPrice >= 0 {
			to, part = number(c.MovedToPrice), fmt.Sprintf("%.2f", float64(c.MovedToPrice)/float64(max(k.Moved, 1)))
		}
		fmt.Fprintf(
			&b,
			"| %s | %s | %s | %.2f | %.2f | %s%.2f | %s | %s | %s | %.2f | %s | %s | %s | %s | %.2f | %.2f | %s |\n",
			c.Fleet,
			number(c.Nodes),
			number(c.Pods),
			c.PricePerHour,
			c.LowerBoundPerHour,
			unfinished(
				k,
			),
			k.PricePerHour,
			number(k.Moved),
			number(k.Removed),
			number(k.Launched),
			w.PricePerHour,
			number(w.Moved),
			to,
			number(w.Removed),
			number(w.Launched),
			w.PricePerHour/k.PricePerHour,
			float64(w.Moved)/float64(max(k.Moved, 1)),
			part,
		)
	}
	b.WriteString(`
## Time

The times are of deciding alone. Memory is the process's maximum while Whittle decided.
It includes the instance types and the comparison's own data.
On both sides the garbage collector runs at four times the used memory, as in the functions.

`)
	b.WriteString(
		"| fleet | nodes | Karpenter: decisions | in all | of cpu | slowest | of cpu | Whittle: decisions | in all | of cpu | first | slowest | of cpu | memory |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
	)
	for i := range rows {
		c := &rows[i]
		k, w := &c.Karpenter, &c.Whittle
		fmt.Fprintf(
			&b,
			"| %s | %s | %s | %s%s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %d MB |\n",
			c.Fleet,
			number(c.Nodes),
			number(k.Decisions),
			over(k.Unfinished),
			duration(k.Wall),
			duration(k.CPU),
			duration(k.Slowest),
			duration(k.SlowestCPU),
			number(
				w.Decisions,
			),
			duration(w.Wall),
			duration(w.CPU),
			duration(w.First),
			duration(w.Slowest),
			duration(w.SlowestCPU),
			w.Memory/1e6,
		)
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
