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
	kinds := map[string][]int{}
	for i := range measures[0] {
		for side := range measures {
			m := measures[side][i]
			total := 0
			for kind, count := range m.Calls {
				total += count
				if kinds[kind] == nil {
					kinds[kind] = make([]int, len(measures))
				}
				kinds[kind][side] += count
			}
			rows = append(rows, fmt.Sprintf("%s\t%s\t%.1f s\t%.1f s\t%d\t%.4f\t%d\t%d", m.Wave, names[side],
				m.ToCreateFleet.Seconds(), m.ToRunning.Seconds(), m.Nodes, m.PricePerHour, total, m.Requests))
		}
	}
	rows = append(rows, "", "calls to AWS\t"+strings.Join(names, "\t"))
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		row := kind
		for _, count := range kinds[kind] {
			row += fmt.Sprintf("\t%d", count)
		}
		rows = append(rows, row)
	}
	return WriteTable(out, rows)
}
