package plan

import (
	"cmp"
	"math"
	"slices"
)

// offer is what bounding needs of a number of equal units: their need, how many there are, and the columns that can hold one, size aside.
type offer struct {
	need    vector
	count   int
	columns bitset
	// slots are groups of units of which a node takes only so many, with the part of a node's share that a unit takes.
	slots []slot
}

type slot struct {
	group int
	part  float64
}

const (
	// dualBuckets is about how many kinds of units the program tells apart, dualSlots how many groups of units that repel
	// each other it counts. Only its precision suffers from few.
	dualBuckets = 56
	// dualSamples is how many units of a bucket stand for its sizes.
	dualSamples = 5
	dualSlots   = 8
	// dualRounds is how often columns are priced at most for the bound, packRounds for packing, which needs to know only about what units are worth; dualGap how far from the best the solution may stay.
	dualRounds = 48
	packRounds = 16
	dualGap    = 2e-3
)

// dual is the program behind the lower bound (see bound.go): the cheapest way to hold buckets of about equal units, parts of units and of nodes allowed. It is
// solved by generating columns: again and again, for the units' prices so far, each column is filled with what is worth most, and where that is more than it costs
// the filling joins the program.
type dual struct {
	p      *problem
	offers []offer
	// surcharge is counted for each node beside its price.
	surcharge float64
	// axes are the resources that offers ask for, then the slots: what a node has of the first is free, of the second one.
	axes    []int
	slots   map[int]int
	scale   []float64
	needs   []float64
	buckets []*bucket
	// bucketOf is the bucket of each offer; -1 without columns.
	bucketOf []int
	columns  []dualColumn
	// program is what is solved, bought the columns that its own are fillings of, reserved its rows for reservations.
	program  *covering
	bought   []int
	reserved []int32
	// rent is, by reservation, what one of its nodes is worth beyond its price.
	rent []float64
	// values are what a unit of each offer is worth, best the positions of the columns that say so: see readValues.
	values []float64
	best   []int32
	// fits is memory, lists and memory are what columns' slices are made of.
	fits   []int
	lists  arena[int]
	memory arena[float64]
}

// bucket are units of about the same kind.
type bucket struct {
	columns bitset
	// offers are the bucket's, by their positions.
	offers []int
	need   []float64
	count  float64
	// samples are some of the units' needs, from small to great.
	samples [][]float64
}

func (p *problem) solveDual(offers []offer, surcharge float64, rounds int) *dual {
	d := &dual{p: p, offers: offers, surcharge: surcharge, slots: map[int]int{}, rent: make([]float64, len(p.reservations))}
	d.readAxes(offers)
	d.readBuckets(offers)
	d.readColumns()
	d.start()
	d.solve(rounds)
	d.readValues()
	return d
}

// again solves the program anew for the same units, of which others may have other columns, and without a surcharge: from where it was left, which is close by. It reports false, and leaves
// all as it was, if the units are not the same, or those of a bucket have different columns now.
func (d *dual) again(offers []offer, rounds int) bool {
	if len(offers) != len(d.offers) {
		return false
	}
	for n := range offers {
		if o := &d.offers[n]; &o.need[0] != &offers[n].need[0] || o.count != offers[n].count || !slices.Equal(o.slots, offers[n].slots) {
			return false
		}
	}
	for _, b := range d.buckets {
		for _, n := range b.offers {
			if &offers[n].columns[0] != &offers[b.offers[0]].columns[0] {
				return false
			}
		}
	}
	for n, at := range d.bucketOf {
		if at < 0 && !offers[n].columns.empty() {
			return false
		}
	}
	d.offers, d.surcharge = offers, 0
	for _, b := range d.buckets {
		b.columns = offers[b.offers[0]].columns
	}
	d.readColumns()
	for i, j := range d.bought {
		d.program.columns[i].cost = d.cost(j)
	}
	d.program.reprice()
	d.solve(rounds)
	d.readValues()
	return true
}

func (d *dual) width() int { return len(d.axes) + len(d.slots) }

func (d *dual) readAxes(offers []offer) {
	nodes := map[int]float64{}
	used := make([]bool, len(d.p.axes.names))
	for i := range offers {
		for r, amount := range offers[i].need {
			used[r] = used[r] || amount > 0 && offers[i].count > 0
		}
		for _, s := range offers[i].slots {
			nodes[s.group] += float64(float64(offers[i].count) * s.part)
		}
	}
	for r := range used {
		if used[r] {
			d.axes = append(d.axes, r)
		}
	}
	groups := make([]int, 0, len(nodes))
	for group := range nodes {
		groups = append(groups, group)
	}
	slices.SortFunc(groups, func(a, b int) int { return cmp.Or(-cmp.Compare(nodes[a], nodes[b]), cmp.Compare(a, b)) })
	for i, group := range groups[:min(len(groups), dualSlots)] {
		d.slots[group] = len(d.axes) + i
	}
	// An axis is counted in what a column has of it on average, so that weights are about as great as prices.
	d.scale = make([]float64, d.width())
	for a := range d.scale {
		d.scale[a] = 1
		if a >= len(d.axes) {
			continue
		}
		sum, count := 0.0, 0
		for i := range d.p.configs {
			if free := d.p.configs[i].free[d.axes[a]]; free > 0 {
				sum += float64(free)
				count++
			}
		}
		d.scale[a] = max(sum/float64(max(count, 1)), 1)
	}
	width := d.width()
	d.needs = make([]float64, len(offers)*width)
	for i := range offers {
		d.amounts(d.needs[i*width:(i+1)*width], &offers[i])
	}
}

// amounts fills in a unit's scaled need.
func (d *dual) amounts(amounts []float64, o *offer) {
	for a, r := range d.axes {
		amounts[a] = float64(max(o.need[r], 0)) / d.scale[a]
	}
	for _, s := range o.slots {
		if a, ok := d.slots[s.group]; ok {
			amounts[a] += s.part
		}
	}
}

func (d *dual) needOf(offer int) []float64 {
	return d.needs[offer*d.width() : (offer+1)*d.width()]
}

// readBuckets puts offers together that have the same columns and slots, and about the same ratio of cpu and memory and the same size.
func (d *dual) readBuckets(offers []offer) {
	type kind struct {
		columns *uint64
		slots   int
	}
	d.bucketOf = make([]int, len(offers))
	groups := map[kind]int{}
	byKey, bySlots := map[string]*uint64{}, map[string]int{}
	known := map[*uint64]*uint64{}
	var members [][]int
	var key []byte
	for i := range offers {
		o := &offers[i]
		d.bucketOf[i] = -1
		if o.count == 0 || len(o.columns) == 0 {
			continue
		}
		// Equal sets count as one, wherever they are.
		first := &o.columns[0]
		same, ok := known[first]
		if !ok {
			key = o.columns.appendKey(key[:0])
			if same, ok = byKey[string(key)]; !ok {
				if !o.columns.empty() {
					same = first
				}
				byKey[string(key)] = same
			}
			known[first] = same
		}
		if same == nil {
			continue
		}
		k := kind{columns: same}
		if len(o.slots) > 0 {
			key = key[:0]
			for _, s := range o.slots {
				key = append(key, byte(d.slots[s.group]))
			}
			if k.slots, ok = bySlots[string(key)]; !ok {
				k.slots = len(bySlots) + 1
				bySlots[string(key)] = k.slots
			}
		}
		at, ok := groups[k]
		if !ok {
			at = len(members)
			groups[k] = at
			members = append(members, nil)
		}
		members[at] = append(members[at], i)
	}
	// Each group gets buckets by how many units it has.
	units, total := make([]int, len(members)), 0
	for n, group := range members {
		for _, i := range group {
			units[n] += offers[i].count
		}
		total += units[n]
	}
	for n, group := range members {
		d.split(offers, group, max(dualBuckets*units[n]/max(total, 1), 1))
	}
}

// split makes a group of offers into buckets: by ratio, then by size.
func (d *dual) split(offers []offer, group []int, most int) {
	ratio := func(i int) float64 {
		need := d.needOf(i)
		cpu, memory := 0.0, 0.0
		for a, r := range d.axes {
			switch r {
			case axisCPU:
				cpu = need[a]
			case axisMemory:
				memory = need[a]
			}
		}
		return memory / (cpu + memory + 1e-12)
	}
	size := func(i int) float64 {
		sum := 0.0
		for _, amount := range d.needOf(i) {
			sum += amount
		}
		return sum
	}
	ratios := max(int(math.Sqrt(float64(most)*2)), 1)
	sizes := max(most/ratios, 1)
	for _, part := range sortedParts(group, ratio, ratios) {
		for _, bucketed := range sortedParts(part, size, sizes) {
			b := &bucket{columns: offers[bucketed[0]].columns, offers: bucketed, need: make([]float64, d.width())}
			for _, i := range bucketed {
				d.bucketOf[i] = len(d.buckets)
				b.count += float64(offers[i].count)
				for a, amount := range d.needOf(i) {
					b.need[a] += float64(float64(offers[i].count) * amount)
				}
			}
			for a := range b.need {
				b.need[a] /= b.count
			}
			for n := range min(len(bucketed), dualSamples) {
				b.samples = append(b.samples, d.needOf(bucketed[(2*n+1)*len(bucketed)/(2*min(len(bucketed), dualSamples))]))
			}
			d.buckets = append(d.buckets, b)
		}
	}
}

// sortedParts divides numbers into parts of about as many, sorted by a measure.
func sortedParts(group []int, by func(int) float64, parts int) [][]int {
	parts = min(len(group), parts)
	all := make([]sortedDemand, len(group))
	for n, i := range group {
		all[n] = sortedDemand{by(i), int32(i)}
	}
	slices.SortFunc(all, compareSorted)
	group = make([]int, len(all))
	for n := range all {
		group[n] = int(all[n].demand)
	}
	result := make([][]int, parts)
	for n := range parts {
		result[n] = group[n*len(group)/parts : (n+1)*len(group)/parts]
	}
	return result
}

// start makes the program, in which each bucket is alone on the column that is cheapest for it.
func (d *dual) start() {
	d.program = &covering{}
	for _, b := range d.buckets {
		d.program.row(b.count, false)
	}
	d.reserved = make([]int32, len(d.p.reservations))
	for i := range d.reserved {
		d.reserved[i] = d.program.row(float64(d.p.reservations[i].capacity), true)
	}
	best, most := make([]int, len(d.buckets)), make([]float64, len(d.buckets))
	for j := range d.columns {
		c := &d.columns[j]
		if d.p.columns[c.column].reservation >= 0 {
			continue
		}
		cost := d.cost(c.column)
		for n, i := range c.fits {
			if units := unitsIn(c.needs[n*len(c.free):(n+1)*len(c.free)], c.free) / cost; units > most[i] {
				best[i], most[i] = j, units
			}
		}
	}
	for i := range d.buckets {
		if most[i] > 0 {
			c := &d.columns[best[i]]
			d.add(c, []int32{int32(i)}, []float64{unitsIn(c.needOf(i), c.free)})
		}
	}
	d.program.start()
}

// add adds a filling of the column's to the program.
func (d *dual) add(c *dualColumn, rows []int32, entries []float64) {
	if at := d.p.columns[c.column].reservation; at >= 0 {
		rows, entries = append(rows, d.reserved[at]), append(entries, 1)
	}
	d.program.columns = append(d.program.columns, coveringColumn{cost: d.cost(c.column), rows: rows, entries: entries})
	d.bought = append(d.bought, c.column)
}

// solve generates columns until none is worth more than it costs.
func (d *dual) solve(rounds int) {
	program := d.program
	prices := make([]float64, len(d.buckets))
	k := newKnapsack(d.width() + len(d.axes)*dualParts)
	for range rounds {
		program.optimise()
		for i := range prices {
			// Less than a billionth of a dollar is nothing: rounding alone makes such prices.
			if prices[i] = program.price[i]; prices[i] < 1e-9 {
				prices[i] = 0
			}
		}
		for i, row := range d.reserved {
			d.rent[i] = max(-program.price[row], 0)
		}
		worst := 0.0
		for j := range d.columns {
			c := &d.columns[j]
			price := d.price(c.column)
			if k.bounds(c, prices, price) {
				continue
			}
			k.solve(c, prices)
			if c.worth > price*(1+dualGap/4) {
				worst = max(worst, c.worth/price-1)
				rows, entries := k.filling(c)
				d.add(c, rows, entries)
			}
		}
		if worst < dualGap {
			break
		}
	}
	// The weights are those of the last prices; all of a column has to weigh what it costs, no more and no less.
	for j := range d.columns {
		c := &d.columns[j]
		if weight := weighted(c.weights, c.free); weight > 0 {
			for a := range c.weights {
				c.weights[a] *= d.price(c.column) / weight
			}
			c.worth = d.price(c.column)
		}
	}
}

func (d *dual) cost(column int) float64 {
	return max(d.p.columns[column].offering.Price, 1e-9) + d.surcharge
}

// price is what a column costs with the rent of its reservation.
func (d *dual) price(column int) float64 {
	price := d.cost(column)
	if at := d.p.columns[column].reservation; at >= 0 {
		price += d.rent[at]
	}
	return price
}

// weighed is a column that may be the one on which units of a bucket weigh least: least is less than any of them weighs.
type weighed struct {
	least  float64
	column int32
}

// readValues fills in what a unit of each offer is worth: the least that it weighs on any of the columns that can hold it. A column on which the least unit that might be in
// the bucket weighs more than the greatest does on another is not looked at again.
func (d *dual) readValues() {
	width := d.width()
	d.values, d.best = make([]float64, len(d.offers)), make([]int32, len(d.offers))
	for n := range d.best {
		d.best[n] = -1
	}
	var columns []weighed
	low, high := make([]float64, width), make([]float64, width)
	for _, b := range d.buckets {
		copy(low, d.needOf(b.offers[0]))
		copy(high, low)
		for _, n := range b.offers[1:] {
			for a, amount := range d.needOf(n) {
				low[a], high[a] = min(low[a], amount), max(high[a], amount)
			}
		}
		most := math.Inf(1)
		columns = columns[:0]
		for j := range d.columns {
			c := &d.columns[j]
			if !b.columns.has(c.column) || !fitsIn(low[:len(d.axes)], c.free) {
				continue
			}
			least := c.weigh(low, most)
			if least > most*(1+1e-9) {
				continue
			}
			columns = append(columns, weighed{least * (1 - 1e-9), int32(j)})
			if fitsIn(high[:len(d.axes)], c.free) {
				most = min(most, c.weigh(high, most))
			}
		}
		slices.SortFunc(columns, func(a, b weighed) int {
			return cmp.Or(cmp.Compare(a.least, b.least), cmp.Compare(a.column, b.column))
		})
		for _, n := range b.offers {
			need := d.needOf(n)
			value, at := math.Inf(1), int32(-1)
			for i := range columns {
				if columns[i].least > value {
					break
				}
				j := columns[i].column
				c := &d.columns[j]
				if weight := c.weigh(need, value); (weight < value || weight == value && j < at) && fitsIn(need[:len(d.axes)], c.free) {
					value, at = weight, j
				}
			}
			if at >= 0 {
				d.values[n], d.best[n] = value, at
			}
		}
	}
}

func weighted(w, amounts []float64) float64 {
	sum := 0.0
	for r := range w {
		sum += float64(w[r] * amounts[r])
	}
	return sum
}
