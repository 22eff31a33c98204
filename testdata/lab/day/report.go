package day

import (
	"fmt"
	"io"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/scenario"
)

// row is one figure of the table.
type row struct {
	name string
	// value is compared, and text is shown.
	value func(Figures) float64
	text  func(Figures) string
	// more means that more is better.
	more bool
}

func rows() []row {
	count := func(name string, of func(Figures) int) row {
		return row{
			name: name, value: func(f Figures) float64 { return float64(of(f)) },
			text: func(f Figures) string { return fmt.Sprint(of(f)) },
		}
	}
	number := func(name, format string, of func(Figures) float64) row {
		return row{name: name, value: of, text: func(f Figures) string { return fmt.Sprintf(format, of(f)) }}
	}
	seconds := func(name string, of func(Figures) time.Duration) row {
		return number(name, "%.1f s", func(f Figures) float64 { return of(f).Seconds() })
	}
	renewal := func(name string, of func(Figures) Renewal) row {
		// A node that is left at the end weighs more than any time.
		value := func(f Figures) float64 { return of(f).Took.Seconds() + float64(of(f).Left)*1e6 }
		return row{name: name, value: value, text: func(f Figures) string { return of(f).String() }}
	}
	limited := number("mean pods of the full pool that run", "%.2f", func(f Figures) float64 { return f.Limited })
	limited.more = true
	return []row{
		number("price of the day's instances", "$%.4f", func(f Figures) float64 { return f.Dollars }),
		number("processors paid over processors requested", "%.2f", func(f Figures) float64 { return f.Ratio }),
		seconds("pod created to bound, 50th percentile", func(f Figures) time.Duration { return f.PendingMedian }),
		seconds("pod created to bound, 99th percentile", func(f Figures) time.Duration { return f.PendingWorst }),
		seconds("end of the day to the last running pod", func(f Figures) time.Duration { return f.Settled }),
		limited,
		count("evictions", func(f Figures) int { return f.Evictions }),
		count(fmt.Sprintf("pods evicted within %.0f s of their predecessor", again.Seconds()),
			func(f Figures) int { return f.Twice }),
		renewal("image change to the last node, open pool", func(f Figures) Renewal { return f.Renewed }),
		renewal("image change to the last node, full pool", func(f Figures) Renewal { return f.RenewedFull }),
		number("node-minutes without a pod", "%.1f", func(f Figures) float64 { return f.EmptyMinutes }),
		count("instances launched", func(f Figures) int { return f.Instances }),
		count("instances that ended without a pod", func(f Figures) int { return f.Unserved }),
		count("requests to the API server", func(f Figures) int { return f.Requests }),
		count("calls to AWS", func(f Figures) int { return f.Calls }),
	}
}

func (r Renewal) String() string {
	if r.Left > 0 {
		return fmt.Sprintf("%d left at the end", r.Left)
	}
	return fmt.Sprintf("%.1f s", r.Took.Seconds())
}

// Write prints the figures of two autoscalers side by side, and who is ahead.
func Write(out io.Writer, names [2]string, figures [2]Figures) error {
	lines := []string{fmt.Sprintf("\t%s\t%s\tahead", names[0], names[1])}
	for _, row := range rows() {
		lines = append(lines, fmt.Sprintf("%s\t%s\t%s\t%s", row.name, row.text(figures[0]), row.text(figures[1]),
			row.ahead(names, figures)))
	}
	return scenario.WriteTable(out, lines)
}

// ahead names who has the better figure. Figures that look the same are equal.
func (r row) ahead(names [2]string, figures [2]Figures) string {
	if r.text(figures[0]) == r.text(figures[1]) {
		return "equal"
	}
	if (r.value(figures[0]) < r.value(figures[1])) != r.more {
		return names[0]
	}
	return names[1]
}

// WriteWaste prints what each workload bought in vain.
func WriteWaste(out io.Writer, wasted []Waste) error {
	lines := []string{"instances that ended without use, by Whittle's workloads\tall\tmost in a row"}
	for _, waste := range wasted {
		lines = append(lines, fmt.Sprintf("%s\t%d\t%d", waste.Workload, waste.Instances, waste.Row))
	}
	if len(wasted) == 0 {
		lines = append(lines, "none\t0\t0")
	}
	return scenario.WriteTable(out, lines)
}
