package fidelity

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/scenario"
)

// Report is what became of many bursts.
type Report struct {
	// Planned are the bursts whose plan knew all that came, and Late those with a late DaemonSet. Its pods
	// take room that the plan gave to others.
	Planned, Late Result
}

// add adds the result of a burst, and prints it.
func (r *Report) add(out io.Writer, b *burst, late bool, result Result, took time.Duration) error {
	sum, note := &r.Planned, ""
	if late {
		sum, note = &r.Late, ", late DaemonSet"
	}
	sum.Add(result)
	_, err := fmt.Fprintf(out, "%-10s %4d pods on %3d nodes, %3d pods on another node than planned, "+
		"%d second launches, %d without a place, %d preempted, %5.1f s%s\n", b.name, result.Pods, result.Nodes,
		result.Pods-result.OnTheirNode-result.Unplaced, result.SecondLaunches, result.Unplaced, result.Preempted,
		took.Seconds(), note)
	return err
}

// Write prints the results beside their targets.
func (r *Report) Write(out io.Writer) error {
	if err := r.Planned.write(out); err != nil || r.Late.Bursts == 0 {
		return err
	}
	if _, err := fmt.Fprintln(out, "\nBursts whose DaemonSet came after the plan, without targets:"); err != nil {
		return err
	}
	return r.Late.write(out)
}

// refusals are the numbers of refused pods, by reason.
func refusals(refused map[string]int) string {
	if len(refused) == 0 {
		return "0"
	}
	var texts []string
	for _, reason := range slices.Sorted(maps.Keys(refused)) {
		texts = append(texts, fmt.Sprintf("%d %s", refused[reason], reason))
	}
	return strings.Join(texts, ", ")
}

func (r *Result) write(out io.Writer) error {
	share := func(part, whole int) string {
		return fmt.Sprintf("%d of %d (%.1f %%)", part, whole, 100*float64(part)/float64(max(whole, 1)))
	}
	return scenario.WriteTable(out, []string{
		"what\tmeasured\ttarget",
		"bursts whose pods all run on the nodes of the first plan\t" + share(r.AsPlanned, r.Bursts) + "\t",
		"bursts without a second launch\t" + share(r.Bursts-r.Relaunched, r.Bursts) + "\t99 %",
		fmt.Sprintf("second launches\t%d, beside %d planned nodes\t", r.SecondLaunches, r.Nodes),
		"pods on the very node of their plan\t" + share(r.OnTheirNode, r.Pods) + "\t99.9 %",
		"pods that a kubelet refused\t" + refusals(r.Refused) + "\t0",
		fmt.Sprintf("pods that the scheduler preempted\t%d\t", r.Preempted),
		fmt.Sprintf("pods without a place\t%d\t0", r.Unplaced),
		fmt.Sprintf("paid against planned\t$%.4f/h against $%.4f/h (%+.2f %%)\t+0.5 %%", r.Paid, r.Planned,
			100*(r.Paid/max(r.Planned, 1e-9)-1)),
	})
}
