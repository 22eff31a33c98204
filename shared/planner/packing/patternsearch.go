package packing

import (
	"cmp"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// patternSteps and firstSteps are how many patterns a search looks at: for the program, and for one
// of the first patterns.
const patternSteps, firstSteps = 400, 30

// patternSearch finds the most valuable pattern on an offering, by branch and bound.
type patternSearch struct {
	*packer
	demands []int32
	// prices are those of a unit, by position in demands.
	prices []float64
	// best has the units of each demand on the best pattern, value is its value.
	best  []int
	value float64
	// counts and free are the pattern that the search is at.
	counts []int
	free   resource.Vector
	items  []patternItem
	// steps counts the patterns looked at, of most.
	steps, most int
}

// patternItem is a demand with the price of a unit, and the price for its weight on the offering.
type patternItem struct {
	at             int
	price, density float64
}

func newPatternSearch(p *packer, demands []int32) patternSearch {
	count := len(demands)
	return patternSearch{
		packer: p, demands: demands, prices: make([]float64, count), best: make([]int, count), counts: make([]int, count),
	}
}

// find looks for the most valuable pattern on the candidate, in a number of steps. With a seed from
// 0 on, it begins with as many units of that demand as fit. It reports whether the pattern's value
// exceeds least.
func (s *patternSearch) find(c *candidate, seed, steps int, least float64) bool {
	s.readItems(c)
	if seed >= 0 && !s.moveToFront(seed) {
		return false
	}
	s.value, s.steps, s.most = least, 0, steps
	clear(s.counts)
	s.free = append(s.free[:0], c.free...)
	s.extend(c, 0, 0)
	s.effort.work += s.steps
	return s.value > least
}

// readItems lists the demands that the candidate can hold by falling price for their weight.
func (s *patternSearch) readItems(c *candidate) {
	s.items = s.items[:0]
	for at, i := range s.demands {
		d := s.state.Demands[i]
		if s.prices[at] > 0 && d.Feasibility.Buyable.Has(c.offering) && c.free.Fits(d.Need) {
			density := s.prices[at] / max(c.weighResources(d.Need), 1e-12)
			s.items = append(s.items, patternItem{at: at, price: s.prices[at], density: density})
		}
	}
	slices.SortFunc(s.items, func(a, b patternItem) int {
		return cmp.Or(-cmp.Compare(a.density, b.density), cmp.Compare(a.at, b.at))
	})
}

// moveToFront moves the seed's item to the front, and reports whether it has one.
func (s *patternSearch) moveToFront(seed int) bool {
	at := slices.IndexFunc(s.items, func(item patternItem) bool { return item.at == seed })
	if at < 0 {
		return false
	}
	first := s.items[at]
	// The items behind it may have the highest density, and extend bounds by that of the first.
	first.density = s.items[0].density
	copy(s.items[1:at+1], s.items[:at])
	s.items[0] = first
	return true
}

// extend adds units of the items from a position on to the pattern, in all ways that may exceed the
// best value.
func (s *patternSearch) extend(c *candidate, from int, value float64) {
	s.steps++
	if value > s.value {
		s.value = value
		copy(s.best, s.counts)
	}
	if from == len(s.items) || s.steps > s.most {
		return
	}
	item := s.items[from]
	if value+float64(item.density*c.weighResources(s.free)) <= s.value {
		return
	}
	i := s.demands[item.at]
	need := s.state.Demands[i].Need
	room := int(s.free.Room(need, int64(s.left[i])))
	for count := room; count >= 0 && s.steps <= s.most; count-- {
		s.free.Add(need, -int64(count))
		s.counts[item.at] = count
		s.extend(c, from+1, value+float64(float64(count)*item.price))
		s.free.Add(need, int64(count))
	}
	s.counts[item.at] = 0
}
