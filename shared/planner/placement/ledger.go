package placement

import "github.com/whittle-dev/whittle/shared/planner/offering"

// Ledger is what the nodes planned so far leave of the pools' limits and of reservations.
type Ledger struct {
	p *offering.Index
	// Limits are, by pool, what is left of each limit; reserved what is left of each reservation.
	Limits   map[*offering.Pool][]int64
	reserved []int
}

func (p *State) NewLedger(planned []*PlannedNode) *Ledger {
	l := &Ledger{
		p:        p.Offers,
		Limits:   make(map[*offering.Pool][]int64, len(p.Offers.Pools)),
		reserved: make([]int, len(p.Offers.Reservations)),
	}
	for _, pool := range p.Offers.Pools {
		if len(pool.Limits) > 0 {
			l.Limits[pool] = pool.LimitsLeft()
		}
	}
	for i := range l.reserved {
		l.reserved[i] = p.Offers.Reservations[i].Capacity
	}
	if p.Offers.Limited.Empty() && p.Offers.Reserved.Empty() {
		return l
	}
	for _, n := range planned {
		l.Take(n.Offering, 1)
	}
	return l
}

// Allows reports whether another node of the offering's may be planned.
func (l *Ledger) Allows(column int) bool {
	if !l.p.Limited.Has(column) && !l.p.Reserved.Has(column) {
		return true
	}
	if at := l.p.Offerings[column].Reservation; at >= 0 && l.reserved[at] <= 0 {
		return false
	}
	c := l.p.PoolTypeOf(column)
	for i, left := range l.Limits[c.Pool] {
		if c.LimitUse[i] > left {
			return false
		}
	}
	return true
}

// Take counts so many nodes of the offering's; less than none gives them back.
func (l *Ledger) Take(column, times int) {
	if !l.p.Limited.Has(column) && !l.p.Reserved.Has(column) {
		return
	}
	if at := l.p.Offerings[column].Reservation; at >= 0 {
		l.reserved[at] -= times
	}
	c := l.p.PoolTypeOf(column)
	left := l.Limits[c.Pool]
	for i := range left {
		left[i] -= int64(times) * c.LimitUse[i]
	}
}

// Replaces reports whether a node of one offering's may become one of another's.
func (l *Ledger) Replaces(from, to int) bool {
	if !l.p.Limited.Has(to) && !l.p.Reserved.Has(to) {
		return true
	}
	l.Take(from, -1)
	allowed := l.Allows(to)
	l.Take(from, 1)
	return allowed
}
