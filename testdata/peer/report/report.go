// Package report writes comparisons of the two planners down: as lines, as a Markdown table and as
// a chart.
package report

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Report is a run's comparisons, and what one must know to repeat it.
type Report struct {
	// InstanceTypes is the number that both planners chose from.
	InstanceTypes int
	// Limit ends Karpenter's search; Workers are its goroutines.
	Limit   time.Duration
	Workers int
	// Machine names processors and Go; Karpenter and Kubernetes are the versions of the modules.
	Machine, Karpenter, Kubernetes string
	// Arguments are those of the run.
	Arguments []string
	Rows      []Row
}

// New starts the report of a run of this process.
func New(instanceTypes int, limit time.Duration, workers int, arguments []string) *Report {
	r := &Report{
		InstanceTypes: instanceTypes, Limit: limit, Workers: workers, Arguments: arguments, Karpenter: "of unknown version",
		Kubernetes: "of unknown version",
		Machine:    fmt.Sprintf("%d cores (%s/%s), %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version()),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			switch module.Path {
			case "sigs.k8s.io/karpenter":
				r.Karpenter = module.Version
			case "k8s.io/api":
				r.Kubernetes = module.Version
			}
		}
	}
	return r
}

// Row compares the planners on one workload.
type Row struct {
	Workload, Description string
	Features              bool
	CapacityTypes         []string
	Pods                  int
	// Karpenter and Whittle have an outcome for each repetition.
	Karpenter, Whittle []Outcome
	// LowerBoundPerHour is what no fleet for these pods can cost less than, in US dollars, as Whittle
	// computes it.
	LowerBoundPerHour float64
	// WithFee compares the same with a further fee for each node.
	WithFee WithFee
	// The pods without a place, with the planner's reason.
	LeftOutByKarpenter, LeftOutByWhittle []string
}

// WithFee is prices in US dollars an hour where each node has a further fee. Karpenter's plan is the
// same as without the fee, because nobody can tell it. Whittle plans by the fee.
type WithFee struct {
	Karpenter, Whittle, LowerBound float64
	// LeftOut counts the pods without a place in Whittle's plan.
	LeftOut int
}

// Outcome is what one plan took and came to.
type Outcome struct {
	Cost
	// Nodes are the new ones, PricePerHour their sum in US dollars, each at its cheapest offering and
	// with its extras.
	Nodes        int
	PricePerHour float64
	// LeftOut counts the pods without a place.
	LeftOut int
	// TimedOut says that the plan is unfinished.
	TimedOut bool
}

// Cost is what a plan took.
type Cost struct {
	Wall, CPU time.Duration
	// Allocations on the heap, and their Bytes.
	Allocations, Bytes uint64
	// Memory is the most in bytes that the process had meanwhile.
	Memory uint64
}

// median is the outcome in the middle by wall time.
func median(outcomes []Outcome) Outcome {
	sorted := slices.SortedFunc(slices.Values(outcomes), func(a, b Outcome) int { return cmp.Compare(a.Wall, b.Wall) })
	return sorted[len(sorted)/2]
}

// capacity is the row's way to buy in words.
func (r *Row) capacity() string { return strings.Join(r.CapacityTypes, " and ") }

// speed is how many times faster Whittle is, by wall time. Where Karpenter was ended by the limit
// it is a lower bound.
func (r *Row) speed() float64 {
	return median(r.Karpenter).Wall.Seconds() / max(median(r.Whittle).Wall.Seconds(), 1e-9)
}

// thrift is how many times less cpu time Whittle uses. Other work on the machine changes it less
// than the wall time.
func (r *Row) thrift() float64 {
	return median(r.Karpenter).CPU.Seconds() / max(median(r.Whittle).CPU.Seconds(), 1e-6)
}

// allocations is how many times more Karpenter allocates.
func (r *Row) allocations() float64 {
	return float64(median(r.Karpenter).Allocations) / float64(max(median(r.Whittle).Allocations, 1))
}

// comparable reports whether the prices are of the same thing: both plans are finished and leave
// out the same number of pods.
func (r *Row) comparable() bool {
	k, w := median(r.Karpenter), median(r.Whittle)
	return !k.TimedOut && k.LeftOut == w.LeftOut
}

// price is Whittle's relative to Karpenter's, false if there is nothing to compare.
func (r *Row) price() (float64, bool) {
	k := median(r.Karpenter).PricePerHour
	return median(r.Whittle).PricePerHour / k, r.comparable() && k > 0
}

// String is the row as a line for a terminal.
func (r *Row) String() string {
	k, w := median(r.Karpenter), median(r.Whittle)
	line := fmt.Sprintf(
		"%-20s %6d %-18s Karpenter %s%s %5d nodes %9.4f $/h %d left out | Whittle %s (cpu %s) %5d nodes %9.4f $/h %d left out, bound %.4f | %s%s faster (%s by cpu), %s fewer allocations",
		r.Workload,
		r.Pods,
		r.capacity(),
		over(k.TimedOut),
		duration(k.Wall),
		k.Nodes,
		k.PricePerHour,
		k.LeftOut,
		duration(
			w.Wall,
		),
		duration(w.CPU),
		w.Nodes,
		w.PricePerHour,
		w.LeftOut,
		r.LowerBoundPerHour,
		over(k.TimedOut),
		times(r.speed()),
		times(r.thrift()),
		times(r.allocations()),
	)
	if price, ok := r.price(); ok {
		line += fmt.Sprintf(", price %.3f of Karpenter's", price)
	}
	return line
}

// WriteLeftOut lists the pods without a place, ten of each planner at most.
func WriteLeftOut(w io.Writer, r *Row) {
	const most = 10
	for _, side := range []struct {
		planner string
		lines   []string
	}{{"Karpenter", r.LeftOutByKarpenter}, {"Whittle", r.LeftOutByWhittle}} {
		for _, line := range side.lines[:min(len(side.lines), most)] {
			fmt.Fprintf(w, "  %s leaves out %s\n", side.planner, line)
		}
	}
}

func over(timedOut bool) string {
	if timedOut {
		return "> "
	}
	return ""
}

// duration with three digits that count.
func duration(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= 100*time.Millisecond:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1e3)
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
	default:
		return fmt.Sprintf("%.2f ms", d.Seconds()*1e3)
	}
}

// times is a ratio with two or three digits that count.
func times(ratio float64) string {
	if ratio >= 10 {
		return fmt.Sprintf("%.0f×", ratio)
	}
	return fmt.Sprintf("%.1f×", ratio)
}
