package cost

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/functions/console/terminal"
)

// WriteText writes the bill for people. most is the number of rows, zero for all.
func (r *Report) WriteText(out io.Writer, most int, style terminal.Style) error {
	text := fmt.Sprintf("%s: $%.4f/h, which is $%.0f/month at this rate. The same nodes cost $%.4f/h on demand.\n",
		count(r.Nodes, "node"), r.PerHour, r.PerMonth, r.OnDemandPerHour)
	text += r.commitmentsText()
	text += fmt.Sprintf("$%.4f/h of it are volumes, public addresses and fees. No pod requests $%.4f/h of it.\n",
		r.ExtrasPerHour, r.IdlePerHour)
	if r.Unpriced > 0 {
		text += fmt.Sprintf("%s of others, or without a known price, are not part of it.\n", count(r.Unpriced, "node"))
	}
	text += "\n" + style.Table(r.table(most))
	if more := len(r.Rows) - most; most > 0 && more > 0 {
		text += fmt.Sprintf("%s more: -A shows all\n", count(more, "row"))
	}
	if r.LastDay != nil {
		text += fmt.Sprintf("\nIn %.1f of the last 24 hours the nodes cost $%.2f, at list prices.\n", r.LastDay.Hours,
			r.LastDay.Dollars)
	}
	if len(r.Waste) > 0 {
		text += "\nWhat somebody can end:\n"
	}
	for _, w := range r.Waste {
		text += style.Wrap(fmt.Sprintf("$%.4f/h: %s. %s", w.PerHour, w.What, w.Remedy), "  * ", "    ")
	}
	_, err := io.WriteString(out, text)
	return err
}

// commitmentsText says what commitments pay for. It is empty where nobody counts them.
func (r *Report) commitmentsText() string {
	switch {
	case r.Commitments == nil:
		return ""
	case !r.Commitments.Current:
		return "What commitments pay for was last counted at " + r.Commitments.Time.UTC().Format(time.RFC3339) +
			", too long ago: these are list prices.\n"
	}
	return fmt.Sprintf("At list prices it is $%.4f/h. Commitments pay for $%.4f/h of that, and their used parts cost "+
		"$%.4f/h.\n", r.ListPerHour, r.CoveredPerHour, r.CommitmentsPerHour)
}

// table has the rows.
func (r *Report) table(most int) [][]terminal.Cell {
	names := []string{"NAME", "PODS", "$/H", "$/MONTH", "PART", "ON DEMAND $/H"}
	if r.Commitments != nil {
		names = append(names, "LIST $/H", "COMMITMENTS $/H")
	}
	pools := r.By == By{NodePool: true}.String()
	if pools {
		names = append(names, "NODES", "IDLE $/H")
	}
	table := [][]terminal.Cell{terminal.Header(names...)}
	for i, row := range r.Rows {
		if most > 0 && i == most {
			break
		}
		cells := []terminal.Cell{
			{Text: printable.Line(row.Name)}, {Text: strconv.Itoa(row.Pods)}, {Text: fmt.Sprintf("%.4f", row.PerHour)},
			{Text: fmt.Sprintf("%.2f", row.PerMonth)}, {Text: fmt.Sprintf("%.1f %%", 100*row.Part)},
			{Text: fmt.Sprintf("%.4f", row.OnDemandPerHour)},
		}
		if r.Commitments != nil {
			cells = append(cells, terminal.Cell{Text: fmt.Sprintf("%.4f", row.ListPerHour)},
				terminal.Cell{Text: fmt.Sprintf("%.4f", row.CommitmentsPerHour)})
		}
		if pools {
			cells = append(cells, terminal.Cell{Text: strconv.Itoa(row.Nodes)},
				terminal.Cell{Text: fmt.Sprintf("%.4f", row.IdlePerHour)})
		}
		table = append(table, cells)
	}
	return table
}

// WriteCSV writes the rows for an hour from the report's time on. Columns that FOCUS 1.2 knows have its names, and
// others its prefix for a provider's own. EffectiveCost has the used parts of commitments, and BilledCost
// does not. Idle parts have no line: they are the account's, and each of its clusters would have them.
// https://focus.finops.org/focus-specification/
func (r *Report) WriteCSV(out io.Writer) error {
	from := r.Time.UTC().Truncate(time.Second)
	lines := [][]string{{
		"ChargePeriodStart", "ChargePeriodEnd", "BillingCurrency", "ServiceCategory", "EffectiveCost", "ListCost",
		"x_By", "x_Name", "x_Pods", "x_IdleCost", "BilledCost", "x_CommitmentCost", "x_MarketCost",
	}}
	for _, row := range r.Rows {
		idle := row.IdlePerHour
		if row.Name == Idle {
			idle = row.PerHour
		}
		lines = append(lines, []string{
			from.Format(time.RFC3339), from.Add(time.Hour).Format(time.RFC3339), "USD", "Compute",
			fmt.Sprintf("%.6f", row.PerHour), fmt.Sprintf("%.6f", row.OnDemandPerHour), r.By, printable.Line(row.Name),
			strconv.Itoa(row.Pods), fmt.Sprintf("%.6f", idle), fmt.Sprintf("%.6f", row.PerHour-row.CommitmentsPerHour),
			fmt.Sprintf("%.6f", row.CommitmentsPerHour), fmt.Sprintf("%.6f", row.ListPerHour),
		})
	}
	return csv.NewWriter(out).WriteAll(lines)
}
