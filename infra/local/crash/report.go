package crash

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// excuses are why a call may not come again when it is to be killed at, by function and
// call. A kill that does not come about at any other call fails the matrix.
func excuses() map[string]string {
	return map[string]string{}
}

// excused tells why a kill in the row's story needs not come about; empty where it has to.
func (r *Row) excused(kill Kill) string { return excuses()[r.Story.Function+" "+kill.Name] }

// unexcused are the kills that had to come about and did not.
func (r *Row) unexcused() []Kill {
	return slices.DeleteFunc(slices.Clone(r.Missed), func(kill Kill) bool { return r.excused(kill) != "" })
}

// Violations are what keeps the row from being well, in words.
func (r *Row) Violations() []string {
	var said []string
	for _, fault := range r.Faults {
		said = append(said, fault.String())
	}
	for _, kill := range r.unexcused() {
		said = append(said, kill.String()+": it never came about")
	}
	if r.Told > 0 && r.Calls == 0 {
		said = append(said, "its function makes no call")
	}
	return said
}

// Write prints a table of the stories, the kills that did not come about with an excuse, the
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
	var calls, kills, tellings, excused int
	var violations []string
	for _, row := range rows {
		calls, kills, tellings, excused = calls+row.Calls, kills+row.Kills, tellings+row.Told, excused+len(row.Missed)-len(row.unexcused())
		for _, kill := range row.Missed {
			if why := row.excused(kill); why != "" {
				fmt.Fprintf(out, "excused, %s: %s never came about: %s\n", row.Story.title(), kill, why)
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
	_, err = fmt.Fprintf(out, "crash matrix: %d stories, %d calls, %d kills in %d tellings, %d kills that are excused, %d violations; %d calls are allowed and never made\n",
		len(rows), calls, kills, tellings, excused, len(violations), len(unmade))
	return len(violations) == 0, err
}

// Select keeps the stories whose titles, such as provision/no room on spot, contain one of the
// texts, between which stand bars.
func Select(stories []Story, texts string) []Story {
	return slices.DeleteFunc(slices.Clone(stories), func(story Story) bool {
		return !slices.ContainsFunc(strings.Split(texts, "|"), func(text string) bool { return strings.Contains(story.title(), text) })
	})
}
