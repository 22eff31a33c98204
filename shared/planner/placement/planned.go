package placement

// This file places single units on planned nodes. Package correction uses it for units that packing
// could not place, or whose places were taken back.

// RoomOrGrow is how many units of a demand the planned node takes, at most limit. If they do not
// fit and the node can grow, it is how many fit then. Limits, stocks and minValues bound the
// growth.
func (s *State) RoomOrGrow(n *PlannedNode, d *Demand, limit int) int {
	s.PrepareDemands()
	s.RefreshHostCounts(n)
	if s.Holds(n.Offering, d) {
		if room := s.Room(n, d, limit); room > 0 {
			if len(s.Offers.PoolTypeOf(n.Offering).Pool.MinValues) == 0 {
				return room
			}
			with := n.Clone()
			if s.Place(with, d, 1); s.CanMeetMinValuesAmong(s.Planned, with, n) {
				return 1
			}
		}
	}
	if grown := s.grown(n, d, 1); grown != nil {
		return s.Room(grown, d, limit)
	}
	return 0
}

// PlaceOrGrow puts units of a demand on the planned node, at most as many as RoomOrGrow allows, and
// lowers Demand.Waiting. The node grows if it must.
func (s *State) PlaceOrGrow(n *PlannedNode, d *Demand, count int) {
	s.PrepareDemands()
	s.RefreshHostCounts(n)
	before := n.Offering
	if !s.Holds(n.Offering, d) || s.Room(n, d, count) < count {
		if grown := s.grown(n, d, count); grown != nil {
			*n = *grown
		}
	}
	s.Place(n, d, count)
	d.Waiting -= count
	s.values.forget()
	s.growth.changed(s.Offers, n, before)
}

// grown is a copy of the planned node with another offering of its pool: the cheapest one that has
// room for so many further units. It is nil if there is none.
func (s *State) grown(n *PlannedNode, d *Demand, count int) *PlannedNode {
	used := s.memory.used
	for r, amount := range s.Offers.PoolTypeOf(n.Offering).Free {
		used[r] = amount - n.Free[r] + int64(count)*d.Need[r]
	}
	to := s.offeringsToGrowTo(n, used)
	if !to.most.Fits(used) {
		return nil
	}
	set := s.growth.scratch
	copy(set, to.offerings)
	set.And(d.Feasibility.Offerings)
	s.Offers.KeepRoom(set, used)
	for j := range set.All() {
		other := n.Clone()
		s.ChangeOffering(other, j)
		if s.Room(other, d, count) < count {
			continue
		}
		with := other.Clone()
		if s.Place(with, d, count); s.CanMeetMinValuesAmong(s.Planned, with, n) {
			return other
		}
	}
	return nil
}

// PlanNodeFor plans a new node for one unit of the demand, puts the unit on it and lowers
// Demand.Waiting. It tries the tiers by weight, and the offerings of a tier by price. It returns
// nil if limits, stocks or minValues allow no such node beside the planned ones.
func (s *State) PlanNodeFor(d *Demand) *PlannedNode {
	s.PrepareDemands()
	ledger, set := s.plannedLedger(), s.growth.scratch
	for i := range 2 * len(s.Offers.Tiers) {
		// The second time around allows exotic types, in case limits leave nothing else.
		allowed, tier := d.Feasibility.Buyable, s.Offers.Tiers[i%len(s.Offers.Tiers)]
		if i >= len(s.Offers.Tiers) {
			allowed = d.Feasibility.Offerings
		}
		copy(set, allowed)
		set.And(tier)
		s.Offers.KeepRoom(set, d.Need)
		ledger.KeepAllowed(set)
		for j := range set.All() {
			n := s.NewNode(j)
			if s.Room(n, d, 1) == 0 {
				continue
			}
			s.Place(n, d, 1)
			if s.CanMeetMinValuesAmong(s.Planned, n, nil) {
				d.Waiting--
				s.Planned = append(s.Planned, n)
				s.growth.planned(j)
				s.values.forget()
				return n
			}
		}
	}
	return nil
}
