package scenario

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Medians returns the median of each number of several runs of the same waves. The calls are those of
// the first run.
func Medians(runs [][]Measure) []Measure {
	if len(runs) == 0 {
		return nil
	}
	middle := slices.Clone(runs[0])
	for i := range middle {
		m := &middle[i]
		m.ToCreateFleet = median(runs, i, func(m Measure) time.Duration { return m.ToCreateFleet })
		m.ToRunning = median(runs, i, func(m Measure) time.Duration { return m.ToRunning })
		m.Nodes = median(runs, i, func(m Measure) int { return m.Nodes })
		m.PricePerHour = median(runs, i, func(m Measure) float64 { return m.PricePerHour })
		m.Requests = median(runs, i, func(m Measure) int { return m.Requests })
	}
	return middle
}

// median is that of a number of one wave, the lower one of two.
func median[T cmp.Ordered](runs [][]Measure, wave int, number func(Measure) T) T {
	numbers := make([]T, len(runs))
	for i, run := range runs {
		numbers[i] = number(run[wave])
	}
	slices.Sort(numbers)
	return numbers[(len(numbers)-1)/2]
}

// WriteComparison prints the measures of autoscalers for the same waves side by side.
func WriteComparison(out io.Writer, names []string, measures [][]Measure) error {
	rows := []string{
		"workload\tautoscaler\tpending to CreateFleet\tpending to running\tnodes\t$/h\tcalls to AWS\trequests to " +
			"the API server",
	}
	for i := range measures[0] {
		for side := range measures {
			m := measures[side][i]
			total := 0
			for _, count := range m.Calls {
				total += count
			}
			rows = append(rows, fmt.Sprintf("%s\t%s\t%.1f s\t%.1f s\t%d\t%.4f\t%d\t%d", m.Wave, names[side],
				m.ToCreateFleet.Seconds(), m.ToRunning.Seconds(), m.Nodes, m.PricePerHour, total, m.Requests))
		}
	}
	rows = append(rows, counts("calls to AWS", names, measures, func(m Measure) map[string]int { return m.Calls })...)
	for i, m := range measures[0] {
		only := make([][]Measure, len(measures))
		for side := range measures {
			only[side] = measures[side][i : i+1]
		}
		rows = append(rows, counts("requests: "+m.Wave, names, only, func(m Measure) map[string]int { return m.Asked })...)
	}
	return WriteTable(out, rows)
}

// counts are the rows of what each autoscaler counted in the first run.
func counts(title string, names []string, measures [][]Measure, of func(Measure) map[string]int) []string {
	kinds := map[string][]int{}
	for side := range measures {
		for _, m := range measures[side] {
			for kind, count := range of(m) {
				if kinds[kind] == nil {
					kinds[kind] = make([]int, len(measures))
				}
				kinds[kind][side] += count
			}
		}
	}
	rows := []string{"", title + "\t" + strings.Join(names, "\t")}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		row := kind
		for _, count := range kinds[kind] {
			row += fmt.Sprintf("\t%d", count)
		}
		rows = append(rows, row)
	}
	return rows
}
