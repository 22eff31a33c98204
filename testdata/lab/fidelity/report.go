package fidelity

import (
	"fmt"
	"io"

	"github.com/whittle-dev/whittle/testdata/lab/scenario"
)

// Write prints the result of some bursts beside its targets.
func (r *Result) Write(out io.Writer) error {
	share := func(part, whole int) string {
		return fmt.Sprintf("%d of %d (%.1f %%)", part, whole, 100*float64(part)/float64(max(whole, 1)))
	}
	return scenario.WriteTable(out, []string{
		"what\tmeasured\ttarget",
		"bursts whose pods all run on the nodes of the first plan\t" + share(r.AsPlanned, r.Bursts) + "\t",
		"bursts without a second launch\t" + share(r.Bursts-r.Relaunched, r.Bursts) + "\t99 %",
		fmt.Sprintf("second launches\t%d, beside %d planned nodes\t", r.SecondLaunches, r.Nodes),
		"pods on the very node of their plan\t" + share(r.OnTheirNode, r.Pods) + "\t99.9 %",
		fmt.Sprintf("pods that a kubelet refused\t%d\t0", r.Refused),
		fmt.Sprintf("pods without a place\t%d\t0", r.Unplaced),
		fmt.Sprintf("paid against planned\t$%.4f/h against $%.4f/h (%+.2f %%)\t+0.5 %%", r.Paid, r.Planned,
			100*(r.Paid/max(r.Planned, 1e-9)-1)),
	})
}
