package scenario

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// StormReport is the result of a storm. The times start at a node's first warning.
type StormReport struct {
	Size               StormSize
	Began              time.Time     // the first warning
	Sent               time.Duration // in which the events were sent
	Taint, LastEvicted []time.Duration
	// CreateFleet has one time for each new instance: the first warning to the first launch, the
	// second to the second, and so on. The nodes are alike, and pods may go to any of them.
	CreateFleet []time.Duration
	Running     time.Duration // from the first warning until all pods run again
	Left        int           // events that are to be tried again: the malformed ones
}

func (s *storm) measure(report *StormReport) {
	var launched []time.Time
	for id, at := range s.world.LaunchTimes() {
		if !s.known[id] {
			launched = append(launched, at)
		}
	}
	slices.SortFunc(launched, time.Time.Compare)
	for i, warned := range slices.SortedFunc(maps.Values(s.warned), time.Time.Compare) {
		if i < len(launched) {
			report.CreateFleet = append(report.CreateFleet, launched[i].Sub(warned))
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, node := range s.nodes {
		warned := s.warned[node.instance]
		if warned.IsZero() {
			continue
		}
		report.Taint = append(report.Taint, node.tainted.Sub(warned))
		if !node.vacant.IsZero() {
			report.LastEvicted = append(report.LastEvicted, node.vacant.Sub(warned))
		}
	}
}

// Write prints the percentiles.
func (r *StormReport) Write(out io.Writer) error {
	rows := []string{
		fmt.Sprintf("%d spot warnings in %.0f s over %d nodes\t50th percentile\t99th\tlongest\ttarget of the 99th",
			r.Size.Events, r.Sent.Seconds(), r.Size.Nodes),
	}
	for _, row := range []struct {
		name   string
		times  []time.Duration
		target string
	}{
		{"event to taint", r.Taint, "2 s"}, {"event to CreateFleet of a replacement", r.CreateFleet, "5 s"},
		{"event to last pod evicted", r.LastEvicted, "30 s"},
	} {
		rows = append(rows, fmt.Sprintf("%s\t%.2f s\t%.2f s\t%.2f s\t%s", row.name, Percentile(row.times, 50).Seconds(),
			Percentile(row.times, 99).Seconds(), Percentile(row.times, 100).Seconds(), row.target))
	}
	rows = append(rows, "", fmt.Sprintf("%d events are left to be tried again, %d were malformed", r.Left,
		r.Size.Malformed), fmt.Sprintf("%d new nodes; all pods run again after %.1f s", len(r.CreateFleet),
		r.Running.Seconds()))
	return WriteTable(out, rows)
}

// Percentile is the least time that a percentage of the times do not exceed. It is 0 for no times.
func Percentile(times []time.Duration, percent int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}
