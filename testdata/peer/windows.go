package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/whittle-dev/whittle/functions/watch/signal"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/testdata/peer/workload"
)

// windows compares how long the watch gathers pods before it wakes provision.
type windows struct {
	types []catalog.InstanceType
	pods  int
}

// arrivals are numbers of pods a second. A controller manager with its default settings creates 20,
// beside other work fewer, and a batch system more.
func arrivals() []float64 { return []float64{5, 20, 100} }

// gathered is what comes of one window.
type gathered struct {
	plans int
	price float64
	waits []time.Duration // of the pods, until their first plan
}

func (w *windows) run(out io.Writer) error {
	choices := []struct {
		name   string
		window signal.Window
	}{
		{"all in one plan", signal.Window{Quiet: time.Hour, Longest: time.Hour}},
		{"each pod alone", signal.Window{}},
		{"150 ms, 1 s", signal.Window{Quiet: 150 * time.Millisecond, Longest: time.Second, Apart: time.Second}},
		{"150 ms, 5 s", signal.Window{Quiet: 150 * time.Millisecond, Longest: 5 * time.Second, Apart: time.Second}},
		{"Whittle's", signal.WindowOf(signal.WakePods)},
		{"1 s, 10 s, Karpenter's", signal.Window{Quiet: time.Second, Longest: 10 * time.Second}},
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "workload\tpods/s\tquiet, longest\tplans\tprice\tmean wait") // Flush returns its error
	for _, name := range []string{"diverse", "deployments", "batch"} {
		chosen, err := chooseWorkloads(name)
		if err != nil {
			return err
		}
		for _, rate := range arrivals() {
			whole := 0.0
			for i, choice := range choices {
				result, err := w.gather(chosen[0], rate, choice.window)
				if err != nil {
					return err
				}
				wait := fmt.Sprintf("%.2f s", mean(result.waits).Seconds())
				if i == 0 {
					whole, wait = result.price, ""
				}
				_, _ = fmt.Fprintf(table, "%s\t%g\t%s\t%d\t%.3f\t%s\n", name, rate, choice.name, result.plans,
					result.price/whole, wait)
			}
		}
	}
	return table.Flush()
}

// gather lets the pods of a workload come one by one, and plans at the end of each window. Pods that
// came before are still pending, and the nodes of earlier plans are on their way. A plan takes no
// time here.
func (w *windows) gather(of workload.Workload, rate float64, window signal.Window) (gathered, error) {
	s := of.Snapshot(w.pods, workload.CapacityTypes()[1], w.types)
	pods, began := s.Pods, time.Time{}.Add(time.Hour)
	at := func(pod int) time.Time { return began.Add(time.Duration(float64(pod) / rate * float64(time.Second))) }
	var (
		result gathered
		woken  time.Time
	)
	for first := 0; first < len(pods); {
		last := first
		due := window.Due(at(first), at(last), woken)
		for last+1 < len(pods) && !at(last+1).After(due) {
			last++
			due = window.Due(at(first), at(last), woken)
		}
		s.Pods = slices.Clone(pods[:last+1])
		planned := planning.Solve(s)
		if len(planned.Unplaced) > 0 {
			return gathered{}, fmt.Errorf("%d pods of %s have no place", len(planned.Unplaced), of.Name)
		}
		for i := range planned.NodeClaims {
			name := fmt.Sprintf("plan-%03d-%03d", result.plans, i)
			node, err := workload.InFlight(name, planned.NodeClaims[i].Offerings[0], w.types)
			if err != nil {
				return gathered{}, err
			}
			s.Nodes = append(s.Nodes, node)
		}
		result.plans++
		result.price += planned.PricePerHour
		for pod := first; pod <= last; pod++ {
			result.waits = append(result.waits, due.Sub(at(pod)))
		}
		woken, first = due, last+1
	}
	return result, nil
}

func mean(waits []time.Duration) time.Duration {
	var sum time.Duration
	for _, wait := range waits {
		sum += wait
	}
	return sum / time.Duration(len(waits))
}
