package exact

import (
	"cmp"
	"math"
	"slices"
)

// choice looks for the cheapest choice of columns.
type choice struct {
	*solver
	columns []candidate
	// byKind are, for each kind, the positions of the columns that have it, by rising reduced cost.
	byKind [][]int32
	// order are the kinds, the dearest first.
	order []int
	// radix is the place of each kind's count in the number of a state.
	radix []uint64
	// left are the units without a node, and state is their number.
	left  []int
	state uint64
	used  []float64
	// chosen are the columns so far, best those of the cheapest choice.
	chosen, best []int32
	// allowed is how much a choice may cost beyond the bound.
	allowed float64
	// seen has what it cost to reach each state.
	seen        map[uint64]reached
	steps, most int
}

// reached is the cost of a state, without the worth of its units, and what it takes of the limits.
type reached struct {
	spent float64
	used  [MostLimits]float64
}

// candidate is a full column with its reduced cost.
type candidate struct {
	node    int
	counts  []int16
	reduced float64
}

// choose looks for cheaper nodes than the known ones, with a growing allowance.
func (s *solver) choose(r *Result) {
	c := &choice{solver: s, left: make([]int, len(s.Kinds)), used: make([]float64, len(s.Limits))}
	if !c.number() {
		return
	}
	gap := r.Price - s.lower
	if math.IsInf(r.Price, 1) {
		gap = s.lower
	}
	for _, part := range allowances {
		if isProven(r.Lower, r.Price) {
			return
		}
		c.allowed = gap * part
		if part == 1 {
			c.allowed -= float64(s.lower * proven)
		}
		if s.lower+c.allowed <= r.Lower {
			continue
		}
		allowed := c.allowed
		if !c.list() {
			return
		}
		ended := c.search()
		if c.best != nil {
			r.Columns, r.Price = c.result()
		}
		if !ended {
			return
		}
		if r.Lower = max(r.Lower, s.lower+allowed); c.best != nil {
			r.Lower = r.Price
			return
		}
	}
	if !math.IsInf(r.Price, 1) {
		r.Lower = r.Price
	}
}

// number gives each kind its place in the number of a state. It reports false if there are too many
// states to number.
func (c *choice) number() bool {
	place := 1.0
	for k := range c.Kinds {
		c.radix = append(c.radix, uint64(place))
		if place *= float64(c.Kinds[k].Count + 1); place > 1<<62 {
			return false
		}
		c.order = append(c.order, k)
	}
	slices.SortStableFunc(c.order, func(a, b int) int { return -cmp.Compare(c.prices[a], c.prices[b]) })
	return true
}

// list lists the columns that a choice within the allowance can have. It reports false if there are
// too many.
func (c *choice) list() bool {
	c.columns = c.columns[:0]
	for i := range c.nodes {
		n := &c.nodes[i]
		cost := c.cost(n, c.limitPrices)
		if !c.fill.all(n, c.prices, cost-c.allowed, max(c.Work-c.work, 0), func(value float64) {
			counts := make([]int16, len(c.Kinds))
			for k, count := range c.fill.counts {
				counts[k] = int16(count)
			}
			c.columns = append(c.columns, candidate{node: n.at, counts: counts, reduced: max(cost-value, 0)})
		}) || len(c.columns) > mostColumns {
			return false
		}
	}
	c.byKind = make([][]int32, len(c.Kinds))
	order := make([]int32, len(c.columns))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(c.columns[a].reduced, c.columns[b].reduced) })
	for _, i := range order {
		for k, count := range c.columns[i].counts {
			if count > 0 {
				c.byKind[k] = append(c.byKind[k], i)
			}
		}
	}
	return true
}

// search looks for the cheapest choice. It reports false if it was cut short.
func (c *choice) search() bool {
	c.seen = map[uint64]reached{}
	c.state, c.best, c.chosen = 0, nil, c.chosen[:0]
	clear(c.used)
	for k := range c.Kinds {
		c.left[k] = c.Kinds[k].Count
		c.state += uint64(c.left[k]) * c.radix[k]
	}
	c.steps, c.most = 0, max(c.Work-c.work, 0)
	c.cover(0)
	c.work += c.steps
	return c.steps <= c.most
}

// cover chooses a column for a unit of the first kind that is left, in each way within the
// allowance. spent is what the columns so far cost beyond the bound.
func (c *choice) cover(spent float64) {
	lead := slices.IndexFunc(c.order, func(k int) bool { return c.left[k] > 0 })
	if lead < 0 {
		// What the nodes leave of the limits has a price too, since the bound counts all of them.
		for l, price := range c.limitPrices {
			spent += float64(price * (c.Limits[l] - c.used[l]))
		}
		if spent < c.allowed {
			c.allowed, c.best = spent, append(c.best[:0], c.chosen...)
		}
		return
	}
	if c.visited(spent) {
		return
	}
	var before [MostKinds]int
	copy(before[:], c.left)
	state := c.state
	for _, i := range c.byKind[c.order[lead]] {
		if c.steps++; c.steps > c.most {
			return
		}
		column := &c.columns[i]
		next := spent + column.reduced
		if next >= c.allowed {
			return
		}
		for k, count := range column.counts {
			if count == 0 {
				continue
			}
			held := min(int(count), c.left[k])
			next += float64(c.prices[k] * float64(int(count)-held))
			c.left[k] -= held
			c.state -= uint64(held) * c.radix[k]
		}
		if next < c.allowed && c.use(column, 1) {
			c.chosen = append(c.chosen, i)
			c.cover(next)
			c.chosen = c.chosen[:len(c.chosen)-1]
			c.use(column, -1)
		}
		copy(c.left, before[:])
		c.state = state
	}
}

// use takes what the column's node needs of the limits, or gives it back. It reports false, and
// takes nothing, if that is too much.
func (c *choice) use(column *candidate, times float64) bool {
	uses := c.Nodes[column.node].Uses
	for _, use := range uses {
		if times > 0 && c.used[use.Limit]+use.Amount > c.Limits[use.Limit]+1e-9 {
			return false
		}
	}
	for _, use := range uses {
		c.used[use.Limit] += float64(times * use.Amount)
	}
	return true
}

// visited reports whether the search was in this state before, at no greater cost, and notes the
// state otherwise.
func (c *choice) visited(spent float64) bool {
	before, ok := c.seen[c.state]
	now := reached{spent: spent}
	copy(now.used[:], c.used)
	for l, price := range c.limitPrices {
		now.spent -= float64(price * c.used[l])
	}
	if !ok {
		c.seen[c.state] = now
		return false
	}
	if before.spent <= now.spent && atMost(before.used, now.used) {
		return true
	}
	if now.spent <= before.spent && atMost(now.used, before.used) {
		c.seen[c.state] = now
	}
	return false
}

func atMost(a, b [MostLimits]float64) bool {
	for l := range a {
		if a[l] > b[l] {
			return false
		}
	}
	return true
}

// result are the columns of the cheapest choice, and their price.
func (c *choice) result() ([]Column, float64) {
	columns, price := make([]Column, 0, len(c.best)), 0.0
	for _, i := range c.best {
		column := Column{Node: c.columns[i].node, Counts: make([]int, len(c.Kinds))}
		for k, count := range c.columns[i].counts {
			column.Counts[k] = int(count)
		}
		columns = append(columns, column)
		price += c.Nodes[column.Node].Price
	}
	return columns, price
}
