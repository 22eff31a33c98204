package placement

import (
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
)

// Ledger is what the planned nodes leave of limits and of stocks.
type Ledger struct {
	index *offering.Index
	// Limits is what is left of each limit, in the order of Index.Limits.
	Limits []int64
	// stocks is how many units each stock has left.
	stocks []int
}

// NewLedger counts the planned nodes. Index.LimitsLeft has counted the existing ones.
func (s *State) NewLedger(planned []*PlannedNode) *Ledger {
	l := &Ledger{
		index:  s.Offers,
		Limits: s.Offers.LimitsLeft(),
		stocks: make([]int, len(s.Offers.Stocks)),
	}
	for i := range l.stocks {
		l.stocks[i] = s.Offers.Stocks[i].Left
	}
	if s.Offers.Limited.Empty() && s.Offers.Stocked.Empty() {
		return l
	}
	for _, n := range planned {
		l.Take(n.Offering, 1)
	}
	return l
}

// Allows reports whether the plan may have another node of offering j.
func (l *Ledger) Allows(j int) bool {
	if !l.index.Limited.Has(j) && !l.index.Stocked.Has(j) {
		return true
	}
	if !l.hasStock(j) {
		return false
	}
	for _, use := range l.index.LimitUse(j) {
		if use.Amount > l.Limits[use.Limit] {
			return false
		}
	}
	return true
}

// StockLeft is how many more units of the stock the plan may have.
func (l *Ledger) StockLeft(stock int) int { return l.stocks[stock] }

// hasStock reports whether the offering's stock has enough for a node.
func (l *Ledger) hasStock(j int) bool {
	o := &l.index.Offerings[j]
	return o.Stock < 0 || l.stocks[o.Stock] >= o.Units
}

// KeepAllowed removes the offerings from the set that Allows does not allow.
func (l *Ledger) KeepAllowed(set dense.Set) {
	l.index.KeepWithin(set, l.Limits)
	if l.index.Stocked.Intersects(set) {
		for j := range l.index.Stocked.All() {
			if !l.hasStock(j) {
				set.Remove(j)
			}
		}
	}
}

// KeepInStock removes the offerings from the set whose stocks have too little left for a node. An offering of own's
// stock stays if it takes no more than own, which Take has counted.
func (l *Ledger) KeepInStock(set dense.Set, own int) {
	if !l.index.Stocked.Intersects(set) {
		return
	}
	counted := &l.index.Offerings[own]
	for j := range l.index.Stocked.All() {
		o := &l.index.Offerings[j]
		if covered := o.Stock == counted.Stock && o.Units <= counted.Units; !covered && !l.hasStock(j) {
			set.Remove(j)
		}
	}
}

// TakeStocks counts a node of each stock of the offerings, except for offering own's, which Take has counted. The
// node may become the one that takes most.
func (l *Ledger) TakeStocks(offerings []int, own int) {
	most := map[int32]int{l.index.Offerings[own].Stock: l.index.Offerings[own].Units}
	for _, j := range offerings {
		if o := &l.index.Offerings[j]; o.Stock >= 0 && o.Units > most[o.Stock] {
			l.stocks[o.Stock] -= o.Units - most[o.Stock]
			most[o.Stock] = o.Units
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

// KeepWithinLimits removes the offerings from the set that limits do not allow in the place of a
// counted node of offering own.
func (l *Ledger) KeepWithinLimits(set dense.Set, own int) {
	l.takeLimits(own, -1)
	l.index.KeepWithin(set, l.Limits)
	l.takeLimits(own, 1)
}

// Take counts further nodes of offering j. A negative number gives nodes back.
func (l *Ledger) Take(j, nodes int) {
	if !l.index.Limited.Has(j) && !l.index.Stocked.Has(j) {
		return
	}
	if o := &l.index.Offerings[j]; o.Stock >= 0 {
		l.stocks[o.Stock] -= nodes * o.Units
	}
	l.takeLimits(j, nodes)
}

func (l *Ledger) takeLimits(j, nodes int) {
	for _, use := range l.index.LimitUse(j) {
		l.Limits[use.Limit] -= int64(nodes) * use.Amount
	}
}
