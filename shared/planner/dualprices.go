package planner

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/bound"
	"github.com/whittle-dev/whittle/shared/planner/placement"
)

// DualPrices returns each pod's dual price in US dollars an hour, in the order of the snapshot's
// pods: its share of the lower bound on new nodes for all of them. Existing nodes do not count. A
// pod that no new node can hold has a price of zero.
//
// New nodes for some of the pods cost no less than the sum of their dual prices, less the stocks'
// price: the weights of package bound hold for any of the units. Stocks is what all that is left of
// capacity reservations and commitments is worth, in US dollars an hour. The other pods of the
// snapshot may get it, or these alone.
func DualPrices(s *plan.Snapshot) (prices []float64, stocks float64) {
	prices = make([]float64, len(s.Pods))
	if len(s.Pods) == 0 {
		return prices, 0
	}
	alone := *s
	alone.Nodes = nil
	p := readStages(&alone)
	p.domain.Divide(p.work.Groups)
	index := make(map[*corev1.Pod]int, len(s.Pods))
	for i := range s.Pods {
		index[&s.Pods[i]] = i
	}
	var units []bound.Units
	var demands []*placement.Demand
	for _, d := range p.state.Demands {
		if d.Waiting == 0 {
			continue
		}
		offerings := p.offers.Feasibilities.LabelsFor(d.Group, d.Group.Alternatives, d.Need).AnyAlternative
		units = append(units, bound.Units{
			ID: d.NeedID(), Need: d.Need, Count: d.Waiting, Offerings: offerings, Slots: d.Slots,
		})
		demands = append(demands, d)
	}
	if len(units) == 0 {
		return prices, 0
	}
	dual := bound.Solve(p.offers, units)
	unitPrices := dual.Prices
	for n, d := range demands {
		for _, unit := range d.Units {
			for _, pod := range unit {
				if i, ok := index[pod]; ok {
					prices[i] = unitPrices[n] / float64(len(unit))
				}
			}
		}
	}
	return prices, dual.StocksPrice()
}
