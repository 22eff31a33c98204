package crash

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// unreached returns the kills that should have happened and did not. A kill counts as covered if
// the function died at another call of the same name, on the same side of it. The calls of an
// invocation depend on the machine's speed.
func (r *Row) unreached() []Kill {
	return slices.DeleteFunc(slices.Clone(r.Missed), func(kill Kill) bool { return r.died[death{kill.Name, kill.After}] })
}

// Violations lists the row's faults, its kills that never happened, and a function without calls.
func (r *Row) Violations() []string {
	var said []string
	for _, fault := range r.Faults {
		said = append(said, fault.String())
	}
	for _, kill := range r.unreached() {
		said = append(said, kill.String()+": it never happened")
	}
	if r.Trials > 0 && r.Calls == 0 {
		said = append(said, "its function makes no call")
	}
	return said
}

// Write prints the table of scenarios, the covered kills, the calls that are allowed and never
// made, every violation, and the totals. It reports whether there is no violation.
func Write(out io.Writer, rows []*Row, unmade []string) (well bool, err error) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "function\tscenario\tcalls\tkills\tnot reached\tviolations\ttrials\ttime")
	for _, row := range rows {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", row.Scenario.Function, row.Scenario.Name, row.Calls, row.Kills,
			len(row.Missed), len(row.Violations()), row.Trials, row.Took.Round(time.Second))
	}
	if err := table.Flush(); err != nil {
		return false, err
	}
	var calls, kills, trials, replaced int
	var violations []string
	for _, row := range rows {
		unreached := row.unreached()
		calls, kills, trials, replaced = calls+row.Calls, kills+row.Kills, trials+row.Trials,
			replaced+len(row.Missed)-len(unreached)
		for _, kill := range row.Missed {
			if !slices.Contains(unreached, kill) {
				fmt.Fprintf(out, "%s: %s never happened; the function died at another call of that name\n", row.Scenario.title(),
					kill)
			}
		}
		for _, violation := range row.Violations() {
			violations = append(violations, row.Scenario.title()+": "+violation)
		}
	}
	for _, call := range unmade {
		fmt.Fprintln(out, "allowed, and called in no scenario:", call)
	}
	for _, violation := range violations {
		fmt.Fprintln(out, "VIOLATION", violation)
	}
	_, err = fmt.Fprintf(out, "crash matrix: %d scenarios, %d calls, %d kills in %d trials, %d kills covered by "+
		"another one, %d violations; %d calls are allowed and never made\n",
		len(rows), calls, kills, trials, replaced, len(violations), len(unmade))
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
