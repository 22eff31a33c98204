package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/planner/dense"
)

// reservationsNamed is the most capacity reservations that a reason names.
const reservationsNamed = 8

// explainReservations says that the fitting offerings are all of capacity reservations that this plan
// fills. It is empty if one of them has room, or is no reservation's: then a further plan may use it.
func (p *planning) explainReservations(fitting dense.Set) string {
	taken := map[string]int{}
	for i := range p.plan.NodeClaims {
		if offerings := p.plan.NodeClaims[i].Offerings; len(offerings) > 0 {
			taken[offerings[0].ReservationID]++
		}
	}
	var full []string
	for j := range fitting.All() {
		number := p.offers.Offerings[j].Stock
		if number < 0 {
			return ""
		}
		reservation := &p.offers.Stocks[number]
		if taken[reservation.ID] < reservation.Left {
			return ""
		}
		if text := fmt.Sprintf("%s (%d free)", reservation.ID, reservation.Left); !slices.Contains(full, text) {
			full = append(full, text)
		}
	}
	slices.Sort(full)
	if more := len(full) - reservationsNamed; more > 0 {
		full = append(full[:reservationsNamed], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("this plan's nodes take all free instances of capacity reservation %s: enlarge it, "+
		"or allow other capacity in the pod and in spec.template.spec.requirements", strings.Join(full, ", "))
}
