package planner

// ledger is what the nodes planned so far leave of the pools' limits and of reservations.
type ledger struct {
	p *offerings
	// limits are, by pool, what is left of each limit; reserved what is left of each reservation.
	limits   map[*pool][]int64
	reserved []int
}

func (p *placements) newLedger(planned []*node) *ledger {
	l := &ledger{p: p.offers, limits: make(map[*pool][]int64, len(p.offers.pools)), reserved: make([]int, len(p.offers.reservations))}
	for _, pool := range p.offers.pools {
		if len(pool.limits) > 0 {
			l.limits[pool] = pool.left()
		}
	}
	for i := range l.reserved {
		l.reserved[i] = p.offers.reservations[i].capacity
	}
	if p.offers.limited.empty() && p.offers.reserved.empty() {
		return l
	}
	for _, n := range planned {
		l.take(n.column, 1)
	}
	return l
}

// allows reports whether another node of the column's may be planned.
func (l *ledger) allows(column int) bool {
	if !l.p.limited.has(column) && !l.p.reserved.has(column) {
		return true
	}
	if at := l.p.columns[column].reservation; at >= 0 && l.reserved[at] <= 0 {
		return false
	}
	c := l.p.configOf(column)
	for i, left := range l.limits[c.pool] {
		if c.use[i] > left {
			return false
		}
	}
	return true
}

// take counts so many nodes of the column's; less than none gives them back.
func (l *ledger) take(column, times int) {
	if !l.p.limited.has(column) && !l.p.reserved.has(column) {
		return
	}
	if at := l.p.columns[column].reservation; at >= 0 {
		l.reserved[at] -= times
	}
	c := l.p.configOf(column)
	left := l.limits[c.pool]
	for i := range left {
		left[i] -= int64(times) * c.use[i]
	}
}

// replaces reports whether a node of one column's may become one of another's.
func (l *ledger) replaces(from, to int) bool {
	if !l.p.limited.has(to) && !l.p.reserved.has(to) {
		return true
	}
	l.take(from, -1)
	allowed := l.allows(to)
	l.take(from, 1)
	return allowed
}
