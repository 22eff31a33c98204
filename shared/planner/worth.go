package planner

import (
	"github.com/whittle-dev/whittle/shared/plan"

	corev1 "k8s.io/api/core/v1"
)

// DualPrices is what each of the snapshot's pods is worth in US dollars an hour, in their order: its part of the lower bound on what new nodes for all of them can cost. The
// existing nodes do not count. A pod that no new node can hold is worth nothing.
//
// No fleet of new nodes for some of the pods costs less than these are worth together, reservations aside: the bound's weights (see bound.go) hold for any of the units.
func DualPrices(s *plan.Snapshot) []float64 {
	worth := make([]float64, len(s.Pods))
	if len(s.Pods) == 0 {
		return worth
	}
	alone := *s
	alone.Nodes = nil
	p := newProblem(&alone)
	p.topology.divide(p.work.shapes)
	p.state.readDemands()
	index := make(map[*corev1.Pod]int, len(s.Pods))
	for i := range s.Pods {
		index[&s.Pods[i]] = i
	}
	var offers []offer
	var demands []*demand
	for _, d := range p.state.demands {
		if d.waiting == 0 {
			continue
		}
		columns := p.offers.sets.labelledFor(d.shape, d.shape.alternatives, d.need).any
		offers, demands = append(offers, offer{need: d.need, count: d.waiting, columns: columns, slots: d.slots}), append(demands, d)
	}
	if len(offers) == 0 {
		return worth
	}
	values := solveDual(p.offers, offers).values
	for n, d := range demands {
		for _, unit := range d.units {
			for _, pod := range unit {
				if i, ok := index[pod]; ok {
					worth[i] = values[n] / float64(len(unit))
				}
			}
		}
	}
	return worth
}
