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
	p *problem
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
	// rent is, by reservation, what one of its nodes is worth beyond its price.
	rent []float64
	// lists are the columns of each offer's set, by the set's first word.
	lists map[*uint64]*columnList
}

// bucket are units of about the same kind.
type bucket struct {
	columns bitset
	need    []float64
	count   float64
	// samples are some of the units' needs, from small to great.
	samples [][]float64
}

// dualColumn is a column with weights of the axes, such that all of it together weighs as much as it costs.
type dualColumn struct {
	column  int
	free    []float64
	weights []float64
	// steps are further axes: see dualStep. Their weights come after those of the others.
	steps []dualStep
	// worth is what the best filling is worth at the buckets' prices.
	worth float64
	// fits are the buckets that the column can hold, needs what a unit of each asks for of all axes.
	fits  []int
	needs []float64
}

// dualStep counts whole units: with parts = 1 a unit that asks for more than half of the axis takes all of the step, with 2 one that asks for more than a third takes
// half and one that asks for more than two thirds all, and so on. Units that share a node never ask for more than all of a step: floor((parts+1) x) / parts with a little
// taken off is a dual feasible function (S. P. Fekete, J. Schepers: New classes of fast lower bounds for bin packing problems, 2001).
type dualStep struct {
	axis  int
	parts float64
}

// dualParts is the most parts of a step.
const dualParts = 2

// of is what a unit takes of the step that asks for such a part of the axis.
func (s *dualStep) of(part float64) float64 {
	return max(math.Floor(float64((s.parts+1)*part)-1e-9), 0) / s.parts
}

func (p *problem) solveDual(offers []offer, surcharge float64, rounds int) *dual {
	d := &dual{p: p, surcharge: surcharge, slots: map[int]int{}, rent: make([]float64, len(p.reservations)), lists: map[*uint64]*columnList{}}
	d.readAxes(offers)
	d.readBuckets(offers)
	d.readColumns()
	d.solve(rounds)
	return d
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
		slots   string
	}
	d.bucketOf = make([]int, len(offers))
	groups := map[kind]int{}
	byKey := map[string]*uint64{}
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
		key = key[:0]
		for _, s := range o.slots {
			key = append(key, byte(d.slots[s.group]))
		}
		k := kind{columns: same, slots: string(key)}
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
			b := &bucket{columns: offers[bucketed[0]].columns, need: make([]float64, d.width())}
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
	if len(group) <= parts || parts == 1 {
		parts = min(len(group), parts)
	}
	type measured struct {
		measure float64
		number  int
	}
	all := make([]measured, len(group))
	for n, i := range group {
		all[n] = measured{by(i), i}
	}
	slices.SortFunc(all, func(a, b measured) int {
		return cmp.Or(cmp.Compare(a.measure, b.measure), cmp.Compare(a.number, b.number))
	})
	group = make([]int, len(all))
	for n := range all {
		group[n] = all[n].number
	}
	var result [][]int
	for n := range parts {
		if part := group[n*len(group)/parts : (n+1)*len(group)/parts]; len(part) > 0 {
			result = append(result, part)
		}
	}
	return result
}

// readColumns fills in the columns that matter: those of which no other that the same offers can use is as cheap and has as much.
func (d *dual) readColumns() {
	var sets []bitset
	all := newBitset(len(d.p.columns))
	for _, b := range d.buckets {
		all.or(b.columns)
		if !slices.ContainsFunc(sets, func(set bitset) bool { return &set[0] == &b.columns[0] }) {
			sets = append(sets, b.columns)
		}
	}
	type kind struct {
		config, reservation int
		mask                string
	}
	seen := map[kind]bool{}
	kept := map[string][]int{}
	mask := make([]byte, (len(sets)+7)/8)
	for j := range all.all() {
		clear(mask)
		for i, set := range sets {
			if set.has(j) {
				mask[i/8] |= 1 << (i % 8)
			}
		}
		column := &d.p.columns[j]
		free := d.p.configs[column.config].free
		k := kind{column.config, column.reservation, string(mask)}
		if seen[k] {
			continue
		}
		seen[k] = true
		if slices.ContainsFunc(kept[k.mask], func(other int) bool { return d.p.configOf(other).free.atLeast(free) }) {
			continue
		}
		if column.reservation < 0 {
			kept[k.mask] = append(kept[k.mask], j)
		}
		c := dualColumn{column: j, free: make([]float64, d.width())}
		for a := range d.width() {
			c.free[a] = 1
			if a < len(d.axes) {
				c.free[a] = float64(max(free[d.axes[a]], 0)) / d.scale[a]
			}
		}
		for i, b := range d.buckets {
			if b.columns.has(j) && fitsIn(b.need, c.free) {
				c.fits = append(c.fits, i)
			}
		}
		if len(c.fits) > 0 {
			d.readNeeds(&c)
			d.columns = append(d.columns, c)
		}
	}
}

// readNeeds fills in the column's steps, where they count for some bucket, and what the buckets ask for.
func (d *dual) readNeeds(c *dualColumn) {
	for a, r := range d.axes {
		if r == axisPods || c.free[a] == 0 {
			continue
		}
		for parts := 1; parts <= dualParts; parts++ {
			step := dualStep{axis: a, parts: float64(parts)}
			if slices.ContainsFunc(c.fits, func(i int) bool { return step.of(d.buckets[i].samples[len(d.buckets[i].samples)-1][a]/c.free[a]) > 0 }) {
				c.steps = append(c.steps, step)
			}
		}
	}
	for range c.steps {
		c.free = append(c.free, 1)
	}
	for _, i := range c.fits {
		b := d.buckets[i]
		c.needs = append(c.needs, b.need...)
		for s := range c.steps {
			step, sum := &c.steps[s], 0.0
			for _, sample := range b.samples {
				sum += min(step.of(sample[step.axis]/c.free[step.axis]), 1)
			}
			c.needs = append(c.needs, sum/float64(len(b.samples)))
		}
	}
}

// weigh is what a unit of this need weighs on the column; where that is more than most it may be less than the whole.
func (c *dualColumn) weigh(need []float64, most float64) float64 {
	weight := 0.0
	for a, w := range c.weights[:len(need)] {
		weight += float64(need[a] * w)
	}
	if weight > most {
		return weight
	}
	for s := range c.steps {
		if w := c.weights[len(need)+s]; w > 0 {
			weight += float64(w * c.steps[s].of(need[c.steps[s].axis]/c.free[c.steps[s].axis]))
		}
	}
	return weight
}

// columnList are those of the dual's columns that a set has, by their positions; last is the one that was the best for the last unit weighed, -1 before the first.
type columnList struct {
	positions []int32
	last      int
}

// columnsOf are the columns in the set. Each set, by where it is, is gone through once.
func (d *dual) columnsOf(set bitset) *columnList {
	if list, ok := d.lists[&set[0]]; ok {
		return list
	}
	list := &columnList{last: -1}
	for j := range d.columns {
		if set.has(d.columns[j].column) {
			list.positions = append(list.positions, int32(j))
		}
	}
	d.lists[&set[0]] = list
	return list
}

func fitsIn(need, free []float64) bool {
	for a, amount := range need {
		if amount > free[a] {
			return false
		}
	}
	return true
}

// solve generates columns until none is worth more than it costs.
func (d *dual) solve(rounds int) {
	program := &covering{}
	for _, b := range d.buckets {
		program.row(b.count, false)
	}
	reserved := make([]int32, len(d.p.reservations))
	for i := range reserved {
		reserved[i] = program.row(float64(d.p.reservations[i].capacity), true)
	}
	prices := make([]float64, len(d.buckets))
	add := func(c *dualColumn, rows []int32, entries []float64) {
		if at := d.p.columns[c.column].reservation; at >= 0 {
			rows, entries = append(rows, reserved[at]), append(entries, 1)
		}
		program.columns = append(program.columns, coveringColumn{cost: d.cost(c.column), rows: rows, entries: entries})
	}
	// At first each bucket is alone on the column that is cheapest for it.
	for i := range d.buckets {
		best, most := -1, 0.0
		for j := range d.columns {
			c := &d.columns[j]
			if d.p.columns[c.column].reservation >= 0 || !slices.Contains(c.fits, i) {
				continue
			}
			if units := unitsIn(c.needOf(i), c.free); best < 0 || units/d.cost(c.column) > most {
				best, most = j, units/d.cost(c.column)
			}
		}
		if best >= 0 {
			c := &d.columns[best]
			add(c, []int32{int32(i)}, []float64{unitsIn(c.needOf(i), c.free)})
		}
	}
	program.start()
	k := newKnapsack(d.width() + len(d.axes)*dualParts)
	for range rounds {
		program.optimise()
		for i := range prices {
			// Less than a billionth of a dollar is nothing: rounding alone makes such prices.
			if prices[i] = program.price[i]; prices[i] < 1e-9 {
				prices[i] = 0
			}
		}
		for i, row := range reserved {
			d.rent[i] = max(-program.price[row], 0)
		}
		worst := 0.0
		for j := range d.columns {
			c := &d.columns[j]
			price := d.price(c.column)
			if c.bounds(prices, price) {
				continue
			}
			k.solve(c, prices)
			if c.worth > price*(1+dualGap/4) {
				worst = max(worst, c.worth/price-1)
				rows, entries := k.filling(c)
				add(c, rows, entries)
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
		}
	}
}

func (d *dual) cost(column int) float64 {
	return max(d.p.columns[column].offering.Price, 1e-9) + d.surcharge
}

// bounds reports whether the weights that the column has, all of it weighing what it costs, show that no filling is worth more.
func (c *dualColumn) bounds(prices []float64, cost float64) bool {
	if c.weights == nil || c.worth <= 0 {
		return false
	}
	factor := cost / c.worth * (1 + dualGap/8)
	w := len(c.free)
	for n, i := range c.fits {
		if price := prices[i]; price > 0 && factor*weighted(c.weights, c.needs[n*w:n*w+w]) < price {
			return false
		}
	}
	return true
}

// price is what a column costs with the rent of its reservation.
func (d *dual) price(column int) float64 {
	price := d.cost(column)
	if at := d.p.columns[column].reservation; at >= 0 {
		price += d.rent[at]
	}
	return price
}

// needOf is what a unit of a bucket that the column can hold asks for.
func (c *dualColumn) needOf(bucket int) []float64 {
	n := slices.Index(c.fits, bucket) * len(c.free)
	return c.needs[n : n+len(c.free)]
}

// unitsIn is how many units a column has room for, parts of one included.
func unitsIn(need, free []float64) float64 {
	units := math.Inf(1)
	for a, amount := range need {
		if amount > 0 {
			units = min(units, free[a]/amount)
		}
	}
	if math.IsInf(units, 1) {
		return 1
	}
	return units
}

// value is what a unit of the offer is worth: the least that it weighs on any of the columns that can hold it, and that column's position; -1 without one.
func (d *dual) value(n int, o *offer) (float64, int) {
	need := d.needOf(n)
	least, at := math.Inf(1), -1
	list := d.columnsOf(o.columns)
	// The column that was the best for the last such unit is most often a good one, and the others need not be weighed to the end.
	if list.last >= 0 && fitsIn(need[:len(d.axes)], d.columns[list.last].free) {
		least, at = d.columns[list.last].weigh(need, least), list.last
	}
	for _, j := range list.positions {
		c := &d.columns[j]
		if weight := c.weigh(need, least); (weight < least || weight == least && int(j) < at) && fitsIn(need[:len(d.axes)], c.free) {
			least, at = weight, int(j)
		}
	}
	list.last = at
	if at < 0 {
		return 0, -1
	}
	return least, at
}

func weighted(w, amounts []float64) float64 {
	sum := 0.0
	for r := range w {
		sum += float64(w[r] * amounts[r])
	}
	return sum
}
