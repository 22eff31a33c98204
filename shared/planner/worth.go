package planner

import (
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/bound"
	"github.com/whittle-dev/whittle/shared/planner/placement"

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
	p.topology.Divide(p.work.Groups)
	p.state.FinishDemands()
	index := make(map[*corev1.Pod]int, len(s.Pods))
	for i := range s.Pods {
		index[&s.Pods[i]] = i
	}
	var offers []bound.Units
	var demands []*placement.Demand
	for _, d := range p.state.Demands {
		if d.Waiting == 0 {
			continue
		}
		columns := p.offers.Feasibilities.LabelsFor(d.Group, d.Group.Alternatives, d.Need).AnyAlternative
		offers, demands = append(offers, bound.Units{Need: d.Need, Count: d.Waiting, Offerings: columns, Slots: d.Slots}), append(demands, d)
	}
	if len(offers) == 0 {
		return worth
	}
	values := bound.Solve(p.offers, offers).Prices
	for n, d := range demands {
		for _, unit := range d.Units {
			for _, pod := range unit {
				if i, ok := index[pod]; ok {
					worth[i] = values[n] / float64(len(unit))
				}
			}
		}
	}
	return worth
}
