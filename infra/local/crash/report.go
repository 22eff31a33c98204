package crash

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// reached is the least part of the calls that have to have come again when they were to be
// killed at: a function makes some of its calls side by side, or once a while.
const reached = 0.9

// Write prints the table, the faults and the sum by functions, and tells whether all is well.
func Write(out io.Writer, rows []*Row) (well bool, err error) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "function\tstory\tcalls\tkills\tnot reached\tfaults\ttold in")
	for _, row := range rows {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%s\n", row.Story.Function, row.Story.Name, row.Calls, row.Kills, row.Missed, len(row.Faults), row.Took.Round(time.Second))
	}
	if err := table.Flush(); err != nil {
		return false, err
	}
	type sum struct{ calls, kills, missed, faults int }
	sums, order := map[string]*sum{}, []string{}
	for _, row := range rows {
		name := row.Story.Function
		if sums[name] == nil {
			sums[name], order = &sum{}, append(order, name)
		}
		s := sums[name]
		s.calls, s.kills, s.missed, s.faults = s.calls+row.Calls, s.kills+row.Kills, s.missed+row.Missed, s.faults+len(row.Faults)
		for _, fault := range row.Faults {
			fmt.Fprintf(out, "FAULT %s: %s\n", row.Story.title(), fault)
		}
	}
	well = true
	var parts []string
	for _, name := range order {
		s := sums[name]
		parts = append(parts, fmt.Sprintf("%s %d calls, %d kills, %d faults", name, s.calls, s.kills, s.faults))
		well = well && s.faults == 0
		if float64(s.kills) < reached*float64(2*s.calls) || s.kills == 0 {
			well = false
			fmt.Fprintf(out, "FAULT %s: only %d of %d kills came about\n", name, s.kills, 2*s.calls)
		}
	}
	_, err = fmt.Fprintf(out, "crash matrix: %s\n", strings.Join(parts, "; "))
	return well, err
}

// Select keeps the stories whose titles, such as provision/no room on spot, contain the text.
func Select(stories []Story, text string) []Story {
	return slices.DeleteFunc(slices.Clone(stories), func(story Story) bool { return !strings.Contains(story.title(), text) })
}
