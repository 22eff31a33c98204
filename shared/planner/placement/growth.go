package placement

import (
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// growth remembers what limits and stocks allow beside the planned nodes.
type growth struct {
	// ledger counts the planned nodes. It is nil until it is needed. changes counts its changes.
	ledger  *Ledger
	changes int
	// to has the offerings to which planned nodes can grow.
	to      map[*PlannedNode]*larger
	scratch dense.Set
}

// larger are the offerings to which a planned node can grow. While no limit or stock is
// released, other nodes only make the set smaller. So it stays a superset until its own node changes.
type larger struct {
	offerings dense.Set
	// most has the greatest free amount of each resource that one of the offerings has.
	most resource.Vector
	// changes is growth.changes when the set was made.
	changes int
}

func newGrowth(offerings int) growth {
	return growth{to: map[*PlannedNode]*larger{}, scratch: dense.NewSet(offerings)}
}

// forget must be called after a change of the planned nodes by other means than PlaceOrGrow and
// PlanNodeFor.
func (g *growth) forget() {
	g.ledger = nil
	clear(g.to)
}

// planned notes a new planned node of offering j.
func (g *growth) planned(j int) {
	g.changes++
	g.ledger.Take(j, 1)
}

// changed notes that a planned node got another unit, and that its offering was another one before.
func (g *growth) changed(offers *offering.Index, n *PlannedNode, before int) {
	delete(g.to, n)
	if n.Offering == before {
		return
	}
	g.changes++
	g.ledger.Take(before, -1)
	g.ledger.Take(n.Offering, 1)
	now := offers.LimitUse(n.Offering)
	was, is := &offers.Offerings[before], &offers.Offerings[n.Offering]
	released := was.Stock != is.Stock || was.Units > is.Units
	for _, use := range offers.LimitUse(before) {
		released = released || use.Amount > offering.UseOf(now, use.Limit)
	}
	if released {
		clear(g.to)
	}
}

// plannedLedger counts the planned nodes. Callers that take from it give back the same.
func (s *State) plannedLedger() *Ledger {
	if s.growth.ledger == nil {
		s.growth.ledger = s.NewLedger(s.Planned)
	}
	return s.growth.ledger
}

// offeringsToGrowTo are the alternatives of the planned node that limits and stocks allow in
// its place. If none has room for the need, the set may have others too.
func (s *State) offeringsToGrowTo(n *PlannedNode, need resource.Vector) *larger {
	known, ok := s.growth.to[n]
	if ok && (known.changes == s.growth.changes || !known.most.Fits(need)) {
		return known
	}
	to := &larger{offerings: s.AlternativesFor(n).Clone(), changes: s.growth.changes}
	s.plannedLedger().KeepReplacing(to.offerings, n.Offering)
	to.most = s.Offers.MostFree(to.offerings)
	s.growth.to[n] = to
	return to
}
