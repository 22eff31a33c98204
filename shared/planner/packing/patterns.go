package packing

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/lp"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// Where few kinds of units wait, many of each, the nodes of a good plan repeat a few fillings, and
// which ones is a linear program again: the cheapest amounts of whole fillings that hold all units.
// As many whole nodes as it has of each filling are planned at once. What is left, less than a node
// of each, is packed as all else is.

const (
	// patternDemands is how many demands are few, patternUnits how many units of each on average are
	// many.
	patternDemands, patternUnits = 40, 8
	// patternRounds is how often offerings are filled at most, patternSteps how many fillings of one
	// are looked at.
	patternRounds, patternSteps = 40, 400
	// patternWork is the work that improving does to find fillings.
	patternWork = 60_000
	// patternGain is the part of its price that a filling has to be worth more than it for the program
	// to take it.
	patternGain = 1e-4
	// seedWorth is the part of its price that a filling has to be worth by the bound to be among the
	// first, seedSteps how many are looked at for one.
	seedWorth, seedSteps = 0.975, 30
	// patternSmooth is how far the prices that offerings are filled for stay from the program's at
	// first.
	patternSmooth = 0.6
)

// patterns finds the fillings.
type patterns struct {
	k       *packer
	demands []int32
	program *lp.Program
	// known are the program's fillings, bought their offerings.
	known  *dense.Table
	bought []int
	key    []byte
	// prices are what a unit of each demand is worth so far.
	prices []float64
	items  []patternItem
	counts []int
	best   []int
	worth  float64
	// steps counts the fillings looked at, of most at most.
	steps, most int
	free        resource.Vector
}

// patternItem is a demand as filling an offering sees it: what a unit is worth, for what it weighs
// there.
type patternItem struct {
	at             int
	price, density float64
}

// packPatterns packs the demands, if they are few and plain, first as packBest does, then anew with
// as many nodes of the program's as it has whole, and keeps what is cheaper. It reports false, and
// does nothing, if they are not.
func (k *packer) packPatterns(demands []int32) bool {
	units := 0
	for _, i := range demands {
		d := k.p.Demands[i]
		if d.Conflicts != nil || d.HostRules != nil || d.Feasibility.Resolves != nil {
			return false
		}
		units += k.left[i]
	}
	if len(demands) > patternDemands || units < patternUnits*len(demands) {
		return false
	}
	for i := range k.columns {
		if c := &k.columns[i]; c.scarce || c.exotic || len(k.p.Offers.PoolTypeOf(c.column).Pool.MinValues) > 0 {
			return false
		}
	}
	demands = slices.Clone(demands)
	slices.Sort(demands)
	t := &patterns{
		k: k, demands: demands, program: &lp.Program{}, known: dense.NewTable(256), prices: make([]float64, len(demands)),
		counts: make([]int, len(demands)), best: make([]int, len(demands)),
	}
	if !t.start() {
		return false
	}
	first, before := len(k.nodes), slices.Clone(k.left)
	k.learn = t.learn
	k.packBest(demands)
	k.improve(first, patternWork)
	k.learn = nil
	after, packed := slices.Clone(k.left), slices.Clone(k.nodes[first:])
	k.nodes = k.nodes[:first]
	copy(k.left, before)
	t.seed()
	t.solve()
	cost := k.costOf(packed)
	if t.cost() < cost-minimumGain {
		t.open()
		k.packBest(demands)
		if slices.Equal(k.left, after) && k.costOf(k.nodes[first:]) < cost {
			return true
		}
	}
	k.nodes = append(k.nodes[:first], packed...)
	copy(k.left, after)
	return true
}

func (k *packer) costOf(nodes []*placement.PlannedNode) float64 {
	cost := 0.0
	for _, n := range nodes {
		cost += k.p.Offers.Cost(n.Offering)
	}
	return cost
}

// seed adds fillings that are worth nearly what they cost by what the bound says units are worth,
// led by each of the demands.
func (t *patterns) seed() {
	for at, i := range t.demands {
		t.prices[at] = t.k.value[i]
	}
	for i := range t.k.columns {
		c := &t.k.columns[i]
		for leader := range t.demands {
			if t.fill(c, leader, seedSteps, c.price*seedWorth) {
				t.add(c.column, t.best)
			}
		}
	}
}

// solve fills offerings until none is worth more than it costs, for prices between the program's
// and what the bound says units are worth.
func (t *patterns) solve() {
	k := t.k
	t.program.Start()
	smooth := patternSmooth
	for range patternRounds {
		t.program.Optimise()
		for at, i := range t.demands {
			t.prices[at] = float64(smooth*k.value[i]) + float64((1-smooth)*t.program.DualPrices[at])
		}
		added := false
		for i := range k.columns {
			if c := &k.columns[i]; t.fill(c, -1, patternSteps, c.price*(1+patternGain)) && t.add(c.column, t.best) {
				added = true
			}
		}
		switch {
		case !added && smooth == 0:
			return
		case !added:
			smooth = max(smooth-0.2, 0)
		}
	}
	t.program.Optimise()
}

// cost is what the program's nodes cost, parts of nodes included.
func (t *patterns) cost() float64 {
	cost := 0.0
	for number, amount := range t.program.Amounts() {
		cost += float64(amount * t.program.Columns[number].Cost)
	}
	return cost
}

// learn adds the nodes as fillings.
func (t *patterns) learn(nodes []*placement.PlannedNode) {
	for _, n := range nodes {
		clear(t.counts)
		for _, f := range n.Fills {
			at, _ := slices.BinarySearch(t.demands, int32(f.Demand))
			t.counts[at] = f.Count
		}
		t.add(n.Offering, t.counts)
	}
}

// start makes the program, in which each demand is alone on the offering that is cheapest for it,
// and reports whether there is one for each.
func (t *patterns) start() bool {
	for at, i := range t.demands {
		d := t.k.p.Demands[i]
		t.program.AddRow(float64(t.k.left[i]), false)
		var best *candidate
		units, least := 0, math.Inf(1)
		for j := range t.k.columns {
			c := &t.k.columns[j]
			if !d.Feasibility.Buyable.Has(c.column) {
				continue
			}
			if room := int(c.free.Room(d.Need, int64(t.k.left[i]))); room > 0 && c.price/float64(room) < least {
				best, units, least = c, room, c.price/float64(room)
			}
		}
		if best == nil {
			return false
		}
		counts := make([]int, len(t.demands))
		counts[at] = units
		t.add(best.column, counts)
	}
	return true
}

// add adds a filling to the program, and reports whether it is a new one.
func (t *patterns) add(column int, counts []int) bool {
	t.key = binary.AppendUvarint(t.key[:0], uint64(column))
	for _, count := range counts {
		t.key = binary.AppendUvarint(t.key, uint64(count))
	}
	if _, isNew := t.known.Number(t.key); !isNew {
		return false
	}
	c := lp.Column{Cost: t.k.p.Offers.Cost(column)}
	for at, count := range counts {
		if count > 0 {
			c.Rows, c.Entries = append(c.Rows, int32(at)), append(c.Entries, float64(count))
		}
	}
	t.program.Columns = append(t.program.Columns, c)
	t.bought = append(t.bought, column)
	return true
}

// fill looks for the filling of the candidate's offering that is worth most, in so many steps at
// most and with what it can hold of the leading demand's units if there is one, and reports whether
// it is worth more than so much.
func (t *patterns) fill(c *candidate, leader, steps int, least float64) bool {
	t.items = t.items[:0]
	for at, i := range t.demands {
		d := t.k.p.Demands[i]
		if t.prices[at] > 0 && d.Feasibility.Buyable.Has(c.column) && c.free.Fits(d.Need) {
			t.items = append(
				t.items,
				patternItem{at: at, price: t.prices[at], density: t.prices[at] / max(c.resources(d.Need), 1e-12)},
			)
		}
	}
	slices.SortFunc(
		t.items,
		func(a, b patternItem) int { return cmp.Or(-cmp.Compare(a.density, b.density), cmp.Compare(a.at, b.at)) },
	)
	if leader >= 0 {
		at := slices.IndexFunc(t.items, func(item patternItem) bool { return item.at == leader })
		if at < 0 {
			return false
		}
		first := t.items[at]
		// What is left beside the leading units may be worth as much as the best.
		first.density = t.items[0].density
		copy(t.items[1:at+1], t.items[:at])
		t.items[0] = first
	}
	t.worth, t.steps, t.most = least, 0, steps
	clear(t.counts)
	t.free = append(t.free[:0], c.free...)
	t.extend(c, 0, 0)
	t.k.work += t.steps
	return t.worth > least
}

// extend adds the items from the given one on to the filling, in all ways that may come to be worth
// more than the best.
func (t *patterns) extend(c *candidate, from int, worth float64) {
	t.steps++
	if worth > t.worth {
		t.worth = worth
		copy(t.best, t.counts)
	}
	if from == len(t.items) || t.steps > t.most {
		return
	}
	item := t.items[from]
	if worth+float64(item.density*c.resources(t.free)) <= t.worth {
		return
	}
	i := t.demands[item.at]
	need := t.k.p.Demands[i].Need
	room := int(t.free.Room(need, int64(t.k.left[i])))
	for count := room; count >= 0 && t.steps <= t.most; count-- {
		t.free.Add(need, -int64(count))
		t.counts[item.at] = count
		t.extend(c, from+1, worth+float64(float64(count)*item.price))
		t.free.Add(need, int64(count))
	}
	t.counts[item.at] = 0
}

// resources is what an amount of all resources weighs on the offering, whole units aside.
func (c *candidate) resources(amount resource.Vector) float64 {
	weight := 0.0
	for r, w := range c.weights {
		weight += float64(w * float64(max(amount[r], 0)))
	}
	return weight
}

// open plans the nodes that the program has whole.
func (t *patterns) open() {
	for number, amount := range t.program.Amounts() {
		c := &t.program.Columns[number]
		for range int(amount + 1e-3) {
			n := t.k.p.NewNode(t.bought[number])
			for entry, at := range c.Rows {
				i := t.demands[at]
				if count := min(int(c.Entries[entry]), t.k.left[i]); count > 0 {
					t.k.p.Place(n, t.k.p.Demands[i], count)
				}
			}
			if len(n.Fills) > 0 {
				t.k.add(n)
			}
		}
	}
}
