package exact

import (
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/lp"
)

// generate grows the linear program until no column is worth more than it costs. It keeps the dual
// prices that prove the highest bound.
func (s *solver) generate() {
	s.program = &lp.Program{}
	for k := range s.Kinds {
		s.program.AddRow(float64(s.Kinds[k].Count), false)
	}
	for _, limit := range s.Limits {
		s.program.AddRow(limit, true)
	}
	s.prices, s.limitPrices = make([]float64, len(s.Kinds)), make([]float64, len(s.Limits))
	s.addUniform()
	for _, c := range s.Start {
		s.add(c.Node, c.Counts)
	}
	s.program.Start()
	prices, limitPrices := make([]float64, len(s.Kinds)), make([]float64, len(s.Limits))
	steps := quickSteps
	for range rounds {
		s.program.Optimise()
		for k := range prices {
			prices[k] = max(s.program.DualPrices[k], 0)
		}
		for l := range limitPrices {
			limitPrices[l] = max(-s.program.DualPrices[len(s.Kinds)+l], 0)
		}
		factor, added := s.price(prices, limitPrices, steps)
		if lower := s.worth(factor, prices, limitPrices); lower > s.lower {
			s.lower = lower
			for k, price := range prices {
				s.prices[k] = factor * price
			}
			copy(s.limitPrices, limitPrices)
		}
		if s.work > s.Work*3/4 || !added && steps == fillSteps || isProven(s.lower, s.Upper) {
			break
		}
		if !added {
			steps = fillSteps
		}
	}
}

// addUniform adds a column for each kind alone, on the node that is cheapest for it.
func (s *solver) addUniform() {
	for k := range s.Kinds {
		if s.Kinds[k].Count == 0 {
			continue
		}
		best, units, least := -1, 0, math.Inf(1)
		alone := item{kind: k, need: s.Kinds[k].Need, count: s.Kinds[k].Count}
		for i := range s.nodes {
			n := &s.nodes[i]
			if s.mask(n)&(1<<k) == 0 {
				continue
			}
			copy(s.fill.free, n.free)
			s.fill.items = s.fill.items[:0]
			if room := s.fill.room(&alone); room > 0 && s.Nodes[n.at].price()/float64(room) < least {
				best, units, least = n.at, room, s.Nodes[n.at].price()/float64(room)
			}
		}
		if best < 0 {
			continue
		}
		counts := make([]int, len(s.Kinds))
		counts[k] = units
		s.add(best, counts)
	}
}

// add adds a column to the program.
func (s *solver) add(at int, counts []int) {
	s.columns = append(s.columns, Column{Node: at, Counts: slices.Clone(counts)})
	c := lp.Column{Cost: s.Nodes[at].price()}
	for k, count := range counts {
		if count > 0 {
			c.Rows, c.Entries = append(c.Rows, int32(k)), append(c.Entries, float64(count))
		}
	}
	for _, use := range s.Nodes[at].Uses {
		c.Rows, c.Entries = append(c.Rows, int32(len(s.Kinds)+use.Limit)), append(c.Entries, use.Amount)
	}
	s.program.Columns = append(s.program.Columns, c)
}

// price adds the best column of each node that is worth more than it costs, and reports whether
// there is one. It returns the factor for the prices at which none is.
func (s *solver) price(prices, limitPrices []float64, steps int) (factor float64, added bool) {
	factor = 1
	for i := range s.nodes {
		n := &s.nodes[i]
		cost := s.cost(n, limitPrices)
		value := s.fill.take(n, prices, cost*(1+gain), steps)
		if value > cost {
			factor = min(factor, cost/value)
		}
		if s.fill.found {
			s.add(n.at, s.fill.best)
			added = true
		}
	}
	return factor, added
}
