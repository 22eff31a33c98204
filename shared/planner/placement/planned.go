package placement

import (
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// What constraints between pods need of the nodes that are being planned: topology decides for some
// units, one at a time, which planned node takes them, or that a new one has to.

// RoomOrGrow is how many units of a demand the planned node takes, at most limit. Where its offering
// does not hold them, another of the same pool may that holds what is on the node as well, as far
// as limits and reservations allow.
func (p *State) RoomOrGrow(n *PlannedNode, d *Demand, limit int) int {
	p.PrepareDemands()
	p.RefreshHostCounts(n)
	if p.Holds(n.Offering, d) {
		if room := p.Room(n, d, limit); room > 0 {
			if len(p.Offers.PoolTypeOf(n.Offering).Pool.MinValues) == 0 {
				return room
			}
			with := n.Clone()
			if p.Place(with, d, 1); p.CanMeetMinValuesAmong(p.Planned, with, n) {
				return 1
			}
		}
	}
	if larger := p.grown(n, d, 1); larger != nil {
		return p.Room(larger, d, limit)
	}
	return 0
}

// PlaceOrGrow puts units of a demand on the planned node, as many as roomFor has allowed at most, and
// lowers the demand's waiting.
func (p *State) PlaceOrGrow(n *PlannedNode, d *Demand, count int) {
	p.PrepareDemands()
	p.RefreshHostCounts(n)
	if !p.Holds(n.Offering, d) || p.Room(n, d, count) < count {
		if larger := p.grown(n, d, count); larger != nil {
			*n = *larger
		}
	}
	p.Place(n, d, count)
	d.Waiting -= count
}

// grown is the planned node with another offering of its pool, the cheapest that has room for so
// many further units; nil if there is none.
func (p *State) grown(n *PlannedNode, d *Demand, count int) *PlannedNode {
	set := p.AlternativesFor(n).Clone()
	set.And(d.Feasibility.Offerings)
	used := make(resource.Vector, len(d.Need))
	for r, amount := range p.Offers.PoolTypeOf(n.Offering).Free {
		used[r] = amount - n.Free[r]
	}
	used.Add(d.Need, int64(count))
	p.Offers.KeepRoom(set, used)
	ledger := p.NewLedger(p.Planned)
	for j := range set.All() {
		if !ledger.Replaces(n.Offering, j) {
			continue
		}
		other := n.Clone()
		p.ChangeOffering(other, j)
		if p.Room(other, d, count) < count {
			continue
		}
		with := other.Clone()
		if p.Place(with, d, count); p.CanMeetMinValuesAmong(p.Planned, with, n) {
			return other
		}
	}
	return nil
}

// PlanNodeFor plans the cheapest new node for one unit of the demand, of the heaviest pools that can
// have one; it puts the unit on it and lowers the demand's waiting. It is nil where no pool may
// have such a node beside those planned so far (planned, to which the node is added), for its
// limits or its minValues.
func (p *State) PlanNodeFor(d *Demand) *PlannedNode {
	p.PrepareDemands()
	ledger := p.NewLedger(p.Planned)
	set := dense.NewSet(len(p.Offers.Offerings))
	for i := range 2 * len(p.Offers.Tiers) {
		// Exotic types come last: where limits leave nothing else.
		allowed, tier := d.Feasibility.Buyable, p.Offers.Tiers[i%len(p.Offers.Tiers)]
		if i >= len(p.Offers.Tiers) {
			allowed = d.Feasibility.Offerings
		}
		copy(set, allowed)
		set.And(tier)
		p.Offers.KeepRoom(set, d.Need)
		for j := range set.All() {
			if !ledger.Allows(j) {
				continue
			}
			n := p.NewNode(j)
			if p.Room(n, d, 1) == 0 {
				continue
			}
			p.Place(n, d, 1)
			if p.CanMeetMinValuesAmong(p.Planned, n, nil) {
				d.Waiting--
				p.Planned = append(p.Planned, n)
				return n
			}
		}
	}
	return nil
}
