package crash

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Violations lists the row's faults, its kills that never happened and have no excuse, and a function
// without calls.
func (r *Row) Violations() []string {
	var said []string
	for _, fault := range r.Faults {
		said = append(said, fault.String())
	}
	for _, kill := range r.Missed {
		if unreachable()[r.Scenario.title()+": "+kill.side()+" "+kill.what()] == "" {
			said = append(said, kill.String()+": it never happened")
		}
	}
	if r.Trials > 0 && r.Calls == 0 {
		said = append(said, "its function makes no call")
	}
	return said
}

// Write prints the table of scenarios, the kills and rights that are excused, every violation, and the
// totals. Unmade are rights that no scenario uses. It reports whether there is no violation.
func Write(out io.Writer, rows []*Row, unmade []string) (well bool, err error) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "function\tscenario\tcalls\tkills\tnot reached\tviolations\ttrials\ttime")
	var calls, kills, trials int
	var violations []string
	for _, row := range rows {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", row.Scenario.Function, row.Scenario.Name, row.Calls, row.Kills,
			len(row.Missed)+len(row.Moved), len(row.Violations()), row.Trials, row.Took.Round(time.Second))
		calls, kills, trials = calls+row.Calls, kills+row.Kills, trials+row.Trials
		for _, violation := range row.Violations() {
			violations = append(violations, row.Scenario.title()+": "+violation)
		}
	}
	if err := table.Flush(); err != nil {
		return false, err
	}
	for _, right := range unmade {
		if reason := unused()[right]; reason != "" {
			fmt.Fprintf(out, "not used by any scenario: %s: %s\n", right, reason)
		} else {
			violations = append(violations, "a right that no scenario uses: "+right)
		}
	}
	for _, violation := range violations {
		fmt.Fprintln(out, "VIOLATION", violation)
	}
	_, err = fmt.Fprintf(out, "crash matrix: %d scenarios, %d calls, %d kills in %d trials, %d violations\n",
		len(rows), calls, kills, trials, len(violations))
	return len(violations) == 0, err
}

// Select returns the scenarios whose titles, such as provision/no room on spot, contain one of the
// texts. Bars separate the texts.
func Select(scenarios []Scenario, texts string) []Scenario {
	return slices.DeleteFunc(slices.Clone(scenarios), func(scenario Scenario) bool {
		return !slices.ContainsFunc(strings.Split(texts, "|"), func(text string) bool {
			return strings.Contains(scenario.title(), text)
		})
	})
}
