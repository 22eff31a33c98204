package scenario

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// WriteComparison prints the measures of two autoscalers for the same waves side by side.
func WriteComparison(out io.Writer, names [2]string, measures [2][]Measure) error {
	rows := []string{
		"workload\tautoscaler\tpending to CreateFleet\tpending to running\tnodes\t$/h\tcalls to AWS\trequests to " +
			"the API server",
	}
	kinds := map[string][2]int{}
	for i := range measures[0] {
		for side := range measures {
			m := measures[side][i]
			total := 0
			for kind, count := range m.Calls {
				total += count
				both := kinds[kind]
				both[side] += count
				kinds[kind] = both
			}
			rows = append(rows, fmt.Sprintf("%s\t%s\t%.1f s\t%.1f s\t%d\t%.4f\t%d\t%d", m.Wave, names[side],
				m.ToCreateFleet.Seconds(), m.ToRunning.Seconds(), m.Nodes, m.PricePerHour, total, m.Requests))
		}
	}
	rows = append(rows, "", "calls to AWS\t"+strings.Join(names[:], "\t"))
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		rows = append(rows, fmt.Sprintf("%s\t%d\t%d", kind, kinds[kind][0], kinds[kind][1]))
	}
	return WriteTable(out, rows)
}
