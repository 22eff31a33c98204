package packing

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/lp"
	"github.com/whittle-dev/whittle/shared/planner/placement"
)

const (
	// patternDemands is how many demands are few enough for patterns. patternUnits is how many units
	// each must have on average.
	patternDemands, patternUnits = 40, 8
	// patternRounds is how many times the offerings are filled at most.
	patternRounds = 40
	// patternWork is the work that improving does to find patterns.
	patternWork = 60_000
	// patternGain is the part of its price by which a pattern's value must exceed it for the program
	// to gain from it.
	patternGain = 1e-4
	// firstRatio is the ratio of value to price that a pattern needs to be among the first.
	firstRatio = 0.975
	// patternSmoothing is how close to the bound's prices the prices for filling stay at first.
	// patternSmoothingStep is by how much less in the next round without a new pattern.
	patternSmoothing, patternSmoothingStep = 0.6, 0.2
	// wholeNodes makes up for rounding errors where the program has a whole number of nodes.
	wholeNodes = 1e-3
)

// patterns finds patterns by column generation. A good plan of few demands with many units repeats a
// few patterns. A linear program finds the cheapest amounts of patterns that hold all units.
type patterns struct {
	*packer
	demands []int32
	program *lp.Program
	// offerings are those of the program's columns.
	offerings []int
	// known has the keys of all columns, key is memory for one.
	known  *dense.Table
	key    []byte
	counts []int
	search patternSearch
}

// packPatterns packs the demands, if they are few and unconstrained: once as packBest does, and once
// with the whole nodes of the linear program first. The cheaper result stays. It reports false and
// does nothing for other demands.
func (p *packer) packPatterns(demands []int32) bool {
	if !p.suitPatterns(demands) {
		return false
	}
	demands = slices.Clone(demands)
	slices.Sort(demands)
	t := &patterns{
		packer: p, demands: demands, program: &lp.Program{}, known: dense.NewTable(256),
		counts: make([]int, len(demands)),
		search: newPatternSearch(p, demands),
	}
	if !t.addUniform() {
		return false
	}
	first, before := len(p.nodes), slices.Clone(p.left)
	p.learn = t.addNodes
	p.packBest(demands)
	p.improve(first, patternWork)
	p.learn = nil
	after, packed := slices.Clone(p.left), slices.Clone(p.nodes[first:])
	p.nodes = p.nodes[:first]
	copy(p.left, before)
	t.addFirst()
	t.solve()
	cost := p.costOf(packed)
	if t.cost() < cost-minimumGain {
		t.planWholeNodes()
		p.packBest(demands)
		if slices.Equal(p.left, after) && p.costOf(p.nodes[first:]) < cost {
			return true
		}
	}
	p.nodes = append(p.nodes[:first], packed...)
	copy(p.left, after)
	return true
}

// suitPatterns reports whether the demands are few, have many units, and nothing but room keeps any
// node from being planned.
func (p *packer) suitPatterns(demands []int32) bool {
	units := 0
	for _, i := range demands {
		d := p.state.Demands[i]
		if d.Conflicts != nil || d.HostRules != nil || d.Feasibility.Resolves != nil {
			return false
		}
		units += p.left[i]
	}
	if len(demands) > patternDemands || units < patternUnits*len(demands) {
		return false
	}
	for i := range p.candidates.all {
		c := &p.candidates.all[i]
		if c.scarce || c.exotic || len(p.state.Offers.PoolTypeOf(c.offering).Pool.MinValues) > 0 {
			return false
		}
	}
	return true
}

// addUniform adds a pattern for each demand alone, on the offering that is cheapest for it. It
// reports false if a demand has none.
func (t *patterns) addUniform() bool {
	for at, i := range t.demands {
		d := t.state.Demands[i]
		t.program.AddRow(float64(t.left[i]), false)
		var best *candidate
		units, least := 0, math.Inf(1)
		for j := range t.candidates.all {
			c := &t.candidates.all[j]
			if !d.Feasibility.Buyable.Has(c.offering) {
				continue
			}
			room := int(c.free.Room(d.Need, int64(t.left[i])))
			if room > 0 && c.price/float64(room) < least {
				best, units, least = c, room, c.price/float64(room)
			}
		}
		if best == nil {
			return false
		}
		counts := make([]int, len(t.demands))
		counts[at] = units
		t.addPattern(best.offering, counts)
	}
	return true
}

// addNodes adds the patterns of planned nodes.
func (t *patterns) addNodes(nodes []*placement.PlannedNode) {
	for _, n := range nodes {
		clear(t.counts)
		for _, f := range n.Fills {
			at, _ := slices.BinarySearch(t.demands, int32(f.Demand))
			t.counts[at] = f.Count
		}
		t.addPattern(n.Offering, t.counts)
	}
}

// addFirst adds patterns with a good ratio at the bound's prices, one for each candidate and seed.
func (t *patterns) addFirst() {
	for at, i := range t.demands {
		t.search.prices[at] = t.prices.unit[i]
	}
	for i := range t.candidates.all {
		c := &t.candidates.all[i]
		for seed := range t.demands {
			if t.search.find(c, seed, firstSteps, c.price*firstRatio) {
				t.addPattern(c.offering, t.search.best)
			}
		}
	}
}

// addPattern adds a pattern to the program, and reports whether it is new.
func (t *patterns) addPattern(number int, counts []int) bool {
	t.key = binary.AppendUvarint(t.key[:0], uint64(number))
	for _, count := range counts {
		t.key = binary.AppendUvarint(t.key, uint64(count))
	}
	if _, isNew := t.known.Number(t.key); !isNew {
		return false
	}
	c := lp.Column{Cost: t.state.Offers.Cost(number)}
	for at, count := range counts {
		if count > 0 {
			c.Rows, c.Entries = append(c.Rows, int32(at)), append(c.Entries, float64(count))
		}
	}
	t.program.Columns = append(t.program.Columns, c)
	t.offerings = append(t.offerings, number)
	return true
}

// solve adds patterns until the program gains from none. The prices for filling lie between the
// program's and the bound's, and move towards the program's.
func (t *patterns) solve() {
	t.program.Start()
	smooth := patternSmoothing
	for range patternRounds {
		t.program.Optimise()
		for at, i := range t.demands {
			t.search.prices[at] = float64(smooth*t.prices.unit[i]) + float64((1-smooth)*t.program.DualPrices[at])
		}
		added := false
		for i := range t.candidates.all {
			c := &t.candidates.all[i]
			if t.search.find(c, -1, patternSteps, c.price*(1+patternGain)) && t.addPattern(c.offering, t.search.best) {
				added = true
			}
		}
		switch {
		case !added && smooth == 0:
			return
		case !added:
			smooth = max(smooth-patternSmoothingStep, 0)
		}
	}
	t.program.Optimise()
}

// cost is the price of the program's solution, with its parts of nodes, in US dollars an hour.
func (t *patterns) cost() float64 {
	cost := 0.0
	for number, amount := range t.program.Amounts() {
		cost += float64(amount * t.program.Columns[number].Cost)
	}
	return cost
}

// planWholeNodes plans the nodes of which the program's solution has a whole one.
func (t *patterns) planWholeNodes() {
	for number, amount := range t.program.Amounts() {
		c := &t.program.Columns[number]
		for range int(amount + wholeNodes) {
			n := t.state.NewNode(t.offerings[number])
			for entry, at := range c.Rows {
				i := t.demands[at]
				if count := min(int(c.Entries[entry]), t.left[i]); count > 0 {
					t.state.Place(n, t.state.Demands[i], count)
				}
			}
			if len(n.Fills) > 0 {
				t.add(n)
			}
		}
	}
}
