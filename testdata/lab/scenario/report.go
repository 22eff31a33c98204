package scenario

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/lambda"
)

// Lambda's prices in us-east-1 for arm64, without the free tier:
// https://aws.amazon.com/lambda/pricing/
const (
	PricePerGBSecond = 0.0000133334
	PricePerRequest  = 0.20 / 1e6
	hoursAMonth      = 730
)

// Report is the result of a scenario.
type Report struct {
	Steps       []Step
	Replaced    time.Duration // from the spot warning until all pods run again
	Emptied     time.Duration // from no replica until nothing is left
	Invocations []lambda.Invocation
	Bounds      []Bound
}

// Step is one scaling of the workload.
type Step struct {
	Pods, Nodes   int
	PricePerHour  float64       // dollars an hour of all nodes
	ToCreateFleet time.Duration // from the first pod that waits
	ToRunning     time.Duration // of the slowest pod
}

// Bound is what provision logged about a plan.
type Bound struct {
	Pods, NodeClaims int
	Price, Bound     float64 // dollars an hour of its new nodes
}

// Write prints the closing tables. elapsed is the time span of the invocations.
func (r *Report) Write(out io.Writer, elapsed time.Duration) error {
	rows := []string{"", "pods placed\tnodes\t$/h\tpending to CreateFleet\tpending to running"}
	for _, step := range r.Steps {
		rows = append(rows, fmt.Sprintf("%d\t%d\t%.4f\t%.1f s\t%.1f s", step.Pods, step.Nodes, step.PricePerHour,
			step.ToCreateFleet.Seconds(), step.ToRunning.Seconds()))
	}
	rows = append(rows, "", "plan for pods\tnew nodes\t$/h\tfractional lower bound\tratio")
	for _, bound := range r.Bounds {
		rows = append(rows, fmt.Sprintf("%d\t%d\t%.4f\t%.4f\t%.2f", bound.Pods, bound.NodeClaims, bound.Price, bound.Bound,
			bound.Price/bound.Bound))
	}
	rows = append(rows, "",
		fmt.Sprintf("spot warning to all pods running again\t%.1f s", r.Replaced.Seconds()),
		fmt.Sprintf("no replica to no instance\t%.1f s", r.Emptied.Seconds()),
		"")
	rows = append(rows, r.functions(elapsed)...)
	rows = append(
		rows, "", "Billed by Lambda's share of processors, computed from the processor time here.")
	return WriteTable(out, rows)
}

// WriteTable prints rows with aligned columns. A tab ends each cell.
func WriteTable(out io.Writer, rows []string) error {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	if _, err := io.WriteString(table, strings.Join(rows, "\n")+"\n"); err != nil {
		return err
	}
	return table.Flush()
}

// cost adds up a function's invocations.
type cost struct {
	invocations, cold int
	billed            time.Duration
	dollars           float64
}

func (r *Report) costs() map[string]cost {
	costs := map[string]cost{}
	for _, invocation := range r.Invocations {
		name := invocation.Function[strings.LastIndex(invocation.Function, "-")+1:]
		sum := costs[name]
		sum.invocations++
		if invocation.Cold {
			sum.cold++
		}
		sum.billed += invocation.Billed
		sum.dollars += invocation.Billed.Seconds()*float64(invocation.MemoryMB)/1024*PricePerGBSecond + PricePerRequest
		costs[name] = sum
	}
	return costs
}

// functions returns a row for each function: its work and its cost.
func (r *Report) functions(elapsed time.Duration) []string {
	rows := []string{"function\tinvocations\tcold\tbilled ms\t$/month at this rate"}
	costs := r.costs()
	monthly := hoursAMonth * float64(time.Hour) / float64(elapsed)
	total := 0.0
	for _, name := range slices.Sorted(maps.Keys(costs)) {
		sum := costs[name]
		row := fmt.Sprintf("%s\t%d\t%d\t%d\t", name, sum.invocations, sum.cold, sum.billed.Milliseconds())
		// These run once an installation, once an hour, or while a person looks. The rate of this
		// run says nothing about a month.
		if name != "install" && name != "catalog" && name != "console" {
			total += sum.dollars * monthly
			row += fmt.Sprintf("%.2f", sum.dollars*monthly)
		}
		rows = append(rows, row)
	}
	return append(rows, fmt.Sprintf("all\t\t\t\t%.2f", total))
}
