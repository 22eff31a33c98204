package bound

import (
	"math"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/placement"
)

// The lower bound.
//
// Axes are the resources and the slots. A slot is what units ask for of which a node takes only so many together: of units that repel each other each takes the whole
// of it, of units that a spread over hosts allows m times on a node each takes 1/m, and a node has one of each slot. Take for each column j any weights w(j) of the
// axes, none negative, such that all that its node has weighs no more than it costs,
//
//	w(j).free(j) <= price(j) + rent(j),
//
// where rent is zero but for columns that take units of a reservation, and the same for all that share one. Give a unit s the value
//
//	value(s) = min over the columns j that can hold s of w(j).need(s).
//
// A new node bought through column j holds units that together ask for no more than free(j) of each axis, so that they are together worth
//
//	sum of value(s) <= sum of w(j).need(s) = w(j).(sum of need(s)) <= w(j).free(j) <= price(j) + rent(j).
//
// A column without weights of its own is one of which another column costs no more, has no less of anything and can hold all that it can: that one's weights do for
// both. Summed over the nodes of any fleet that holds all units: the units' values together are at most the fleet's price and the rents of its reserved nodes, of which
// it has at most as many as the reservations have left. So any such weights give a lower bound,
//
//	sum of value(s) - sum over reservations of rent * capacity left,
//
// and good ones are those of the linear program in dual.go, which allows parts of nodes and of units.
//
// A further bound is by count: a fleet has at least one node that can hold each unit, and demands of which a node takes only so many need that many nodes.

// LowerBound is what no fleet of new nodes can cost less than that holds so many units of each demand. Domains that topology bound them to do not count: another plan
// might have chosen others.
func LowerBound(p *placement.State, placed []int, last *Dual) float64 {
	offers, demands := make([]Units, 0, len(p.Demands)), make([]*placement.Demand, 0, len(p.Demands))
	for i, d := range p.Demands {
		if placed[i] == 0 {
			continue
		}
		var columns dense.Set
		if d.Alternatives == d.Group.Alternatives && d.Feasibility != nil {
			columns = d.Feasibility.AnyAlternative // the class follows from the shape's own alternatives
		} else {
			columns = p.Offers.Feasibilities.LabelsFor(d.Group, d.Group.Alternatives, d.Need).AnyAlternative
		}
		offers, demands = append(offers, Units{Need: d.Need, Count: placed[i], Offerings: columns, Slots: d.Slots}), append(demands, d)
	}
	dual := last
	if dual == nil || !dual.resolve(offers) {
		dual = Solve(p.Offers, offers)
	}
	total := 0.0
	for n, value := range dual.Prices {
		total += float64(value * float64(offers[n].Count))
	}
	for at, rent := range dual.ReservationPrices {
		total -= float64(rent * float64(p.Offers.Reservations[at].Capacity))
	}
	// A fleet that meets the bound exactly must not look cheaper than it because sums of prices round differently.
	total *= 1 - 1e-9
	for n, d := range demands {
		nodes := 1.0
		for _, s := range d.Slots {
			nodes = max(nodes, math.Ceil(float64(offers[n].Count)*s.Part-1e-9))
		}
		// The cheapest column that can hold a unit is at most as dear as any that can.
		if best := dual.Best[n]; best >= 0 && nodes*p.Offers.Offerings[dual.Columns[best].Column].Price <= total {
			continue
		}
		if cheapest := p.Offers.CheapestWithRoom(offers[n].Offerings, d.Need); cheapest >= 0 && p.Offers.Offerings[cheapest].Reservation < 0 {
			total = max(total, nodes*p.Offers.Offerings[cheapest].Price)
		}
	}
	return total
}
