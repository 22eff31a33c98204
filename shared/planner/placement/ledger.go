package placement

import (
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
)

// Ledger is what the planned nodes leave of NodePool limits and capacity reservations.
type Ledger struct {
	index *offering.Index
	// Limits is what is left of each limit of a pool, in the order of Pool.Limits. Variants of a
	// NodePool share it. Pools without limits have no entry.
	Limits map[*offering.Pool][]int64
	// reserved is how many instances each reservation has left.
	reserved []int
}

// NewLedger counts the planned nodes. Pool.LimitsLeft has counted the existing ones.
func (s *State) NewLedger(planned []*PlannedNode) *Ledger {
	l := &Ledger{
		index:    s.Offers,
		Limits:   make(map[*offering.Pool][]int64, len(s.Offers.Pools)),
		reserved: make([]int, len(s.Offers.Reservations)),
	}
	for _, variants := range s.Offers.ByNodePool() {
		left := variants[0].LimitsLeft()
		for _, pool := range variants {
			if len(left) > 0 {
				l.Limits[pool] = left
			}
		}
	}
	for i := range l.reserved {
		l.reserved[i] = s.Offers.Reservations[i].Capacity
	}
	if s.Offers.Limited.Empty() && s.Offers.Reserved.Empty() {
		return l
	}
	for _, n := range planned {
		l.Take(n.Offering, 1)
	}
	return l
}

// Allows reports whether the plan may have another node of offering j.
func (l *Ledger) Allows(j int) bool {
	if !l.index.Limited.Has(j) && !l.index.Reserved.Has(j) {
		return true
	}
	if at := l.index.Offerings[j].Reservation; at >= 0 && l.reserved[at] <= 0 {
		return false
	}
	t := l.index.PoolTypeOf(j)
	for i, left := range l.Limits[t.Pool] {
		if t.LimitUse[i] > left {
			return false
		}
	}
	return true
}

// ReservedLeft is how many more instances of the reservation the plan may have.
func (l *Ledger) ReservedLeft(reservation int) int { return l.reserved[reservation] }

// KeepAllowed removes the offerings from the set that Allows does not allow.
func (l *Ledger) KeepAllowed(set dense.Set) {
	for pool, left := range l.Limits {
		l.index.KeepWithin(set, pool, left)
	}
	if l.index.Reserved.Intersects(set) {
		for j := range l.index.Reserved.All() {
			if l.reserved[l.index.Offerings[j].Reservation] <= 0 {
				set.Remove(j)
			}
		}
	}
}

// KeepUnreserved removes the offerings of used up reservations from the set, except for those of
// offering own's reservation.
func (l *Ledger) KeepUnreserved(set dense.Set, own int) {
	if !l.index.Reserved.Intersects(set) {
		return
	}
	for j := range l.index.Reserved.All() {
		if at := l.index.Offerings[j].Reservation; l.reserved[at] <= 0 && at != l.index.Offerings[own].Reservation {
			set.Remove(j)
		}
	}
}

// TakeReservations counts an instance of each reservation of the offerings, except for offering
// own's, which Take has counted.
func (l *Ledger) TakeReservations(offerings []int, own int) {
	counted := map[int32]bool{l.index.Offerings[own].Reservation: true}
	for _, j := range offerings {
		if at := l.index.Offerings[j].Reservation; at >= 0 && !counted[at] {
			counted[at] = true
			l.reserved[at]--
		}
	}
}

// KeepReplacing removes the offerings from the set that may not take the place of a counted node of
// offering from.
func (l *Ledger) KeepReplacing(set dense.Set, from int) {
	l.Take(from, -1)
	l.KeepAllowed(set)
	l.Take(from, 1)
}

// Take counts further nodes of offering j. A negative number gives nodes back.
func (l *Ledger) Take(j, nodes int) {
	if !l.index.Limited.Has(j) && !l.index.Reserved.Has(j) {
		return
	}
	if at := l.index.Offerings[j].Reservation; at >= 0 {
		l.reserved[at] -= nodes
	}
	t := l.index.PoolTypeOf(j)
	left := l.Limits[t.Pool]
	for i := range left {
		left[i] -= int64(nodes) * t.LimitUse[i]
	}
}
