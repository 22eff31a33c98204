package crash

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// unreached are the kills that had to come about and did not. Where the function died at another
// call of the same name in the story, and on the same side of it, that one stands for it: what a
// function does in which invocation depends on how quick the machine is.
func (r *Row) unreached() []Kill {
	return slices.DeleteFunc(slices.Clone(r.Missed), func(kill Kill) bool { return r.died[death{kill.Name, kill.After}] })
}

// Violations are what keeps the row from being well, in words.
func (r *Row) Violations() []string {
	var said []string
	for _, fault := range r.Faults {
		said = append(said, fault.String())
	}
	for _, kill := range r.unreached() {
		said = append(said, kill.String()+": it never came about")
	}
	if r.Told > 0 && r.Calls == 0 {
		said = append(said, "its function makes no call")
	}
	return said
}

// Write prints a table of the stories, the kills that others stand for, the
// calls that are allowed and never made, every violation, and at last the totals. It tells
// whether all is well.
func Write(out io.Writer, rows []*Row, unmade []string) (well bool, err error) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "function\tstory\tcalls\tkills\tnot reached\tviolations\ttellings\ttold in")
	for _, row := range rows {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", row.Story.Function, row.Story.Name, row.Calls, row.Kills, len(row.Missed), len(row.Violations()), row.Told, row.Took.Round(time.Second))
	}
	if err := table.Flush(); err != nil {
		return false, err
	}
	var calls, kills, tellings, replaced int
	var violations []string
	for _, row := range rows {
		unreached := row.unreached()
		calls, kills, tellings, replaced = calls+row.Calls, kills+row.Kills, tellings+row.Told, replaced+len(row.Missed)-len(unreached)
		for _, kill := range row.Missed {
			if !slices.Contains(unreached, kill) {
				fmt.Fprintf(out, "%s: %s never came about; the function died so at another call of that name\n", row.Story.title(), kill)
			}
		}
		for _, violation := range row.Violations() {
			violations = append(violations, row.Story.title()+": "+violation)
		}
	}
	for _, call := range unmade {
		fmt.Fprintln(out, "allowed, and called in no story told:", call)
	}
	for _, violation := range violations {
		fmt.Fprintln(out, "VIOLATION", violation)
	}
	_, err = fmt.Fprintf(out, "crash matrix: %d stories, %d calls, %d kills in %d tellings, %d kills that others stand for, %d violations; %d calls are allowed and never made\n",
		len(rows), calls, kills, tellings, replaced, len(violations), len(unmade))
	return len(violations) == 0, err
}

// Select keeps the stories whose titles, such as provision/no room on spot, contain one of the
// texts, between which stand bars.
func Select(stories []Story, texts string) []Story {
	return slices.DeleteFunc(slices.Clone(stories), func(story Story) bool {
		return !slices.ContainsFunc(strings.Split(texts, "|"), func(text string) bool { return strings.Contains(story.title(), text) })
	})
}
