package placement

import (
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
)

// growth remembers the offerings to which planned nodes can grow. While no limit is released, other
// nodes only make these sets smaller, so a set stays a superset until its own node changes.
type growth struct {
	to      map[*PlannedNode]dense.Set
	scratch dense.Set
}

func newGrowth(offerings int) growth {
	return growth{to: map[*PlannedNode]dense.Set{}, scratch: dense.NewSet(offerings)}
}

func (g *growth) forget() { clear(g.to) }

// changed notes that a planned node got another unit, and that its offering was another one before.
func (g *growth) changed(offers *offering.Index, n *PlannedNode, before int) {
	delete(g.to, n)
	if n.Offering == before {
		return
	}
	old, now := offers.PoolTypeOf(before), offers.PoolTypeOf(n.Offering)
	released := offers.Offerings[before].Reservation != offers.Offerings[n.Offering].Reservation
	for i, use := range old.LimitUse {
		released = released || use > now.LimitUse[i]
	}
	if released {
		g.forget()
	}
}

// offeringsToGrowTo are alternatives of the planned node. It leaves out those that limits and
// reservations do not allow in the node's place; the caller checks the others again.
func (s *State) offeringsToGrowTo(n *PlannedNode) dense.Set {
	if known, ok := s.growth.to[n]; ok {
		return known
	}
	set := s.AlternativesFor(n).Clone()
	ledger := s.NewLedger(s.Planned)
	ledger.Take(n.Offering, -1)
	for j := range set.All() {
		if !ledger.Allows(j) {
			set.Remove(j)
		}
	}
	s.growth.to[n] = set
	return set
}
