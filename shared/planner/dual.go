package planner

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

const (
	// dualSamples is how many units of a bucket stand for its sizes, dualSlots how many groups of units that repel each other the program counts. Only its precision suffers
	// from few.
	dualSamples = 5
	dualSlots   = 8
	// dualRounds is how often columns are priced at most, dualGap how far from the best the solution may stay.
	dualRounds = 48
	dualGap    = 2e-3
	// dualSmooth is how far the prices that columns are filled for stay from the program's.
	dualSmooth = 0.7
	// dualEven is how much more than by the same weights on all columns units may be worth for that to be little.
	dualEven = 5e-3
)

// dualBuckets is about how many kinds of units the program tells apart, at first and where that says too little.
var dualBuckets = [...]int{20, 56}

// dual is the program behind the lower bound (see bound.go): the cheapest way to hold buckets of about equal units, parts of units and of nodes allowed. It is
// solved by generating columns: again and again, for the units' prices so far, each column is filled with what is worth most, and where that is more than it costs
// the filling joins the program.
type dual struct {
	p      *offerings
	offers []offer
	// axes are the resources that offers ask for, then the slots: what a node has of the first is free, of the second one.
	axes    []int
	slots   map[int]int
	scale   []float64
	needs   []float64
	buckets []*bucket
	// kinds are the offers, by their positions, that have the same columns and slots.
	kinds [][]int
	// bucketOf is the bucket of each offer; -1 without columns.
	bucketOf []int
	// next is memory for sorting.
	next    []ranked
	columns []dualColumn
	// program is what is solved, reserved its rows for reservations.
	program  *covering
	reserved []int32
	// even are the weights by which units are worth most if all columns have the same, by axis.
	even []float64
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

func solveDual(p *offerings, offers []offer) *dual {
	d := &dual{p: p, offers: offers, slots: map[int]int{}, rent: make([]float64, len(p.reservations))}
	d.readAxes(offers)
	d.readKinds(offers)
	for _, buckets := range dualBuckets {
		if buckets == dualBuckets[0] && len(d.kinds) > 1 && (len(d.slots) == 0 || len(offers) <= fewDemands) {
			continue // so few would tell hardly more than the kinds apart
		}
		d.readBuckets(buckets)
		d.readColumns()
		d.start()
		// Where the same weights on all columns say nearly all there is to say, telling more kinds of units apart adds nothing.
		if d.solve() {
			d.readEvenValues()
			return d
		}
		if len(d.slots) > 0 {
			break // who may share a node with whom counts for more than sizes
		}
	}
	d.readValues()
	return d
}

// again solves the program for the same units, which may have other columns now: from where it was left, which is close by. It reports false, and leaves all as it was, if
// the units are not the same, or those of a bucket have different columns now.
func (d *dual) again(offers []offer) bool {
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
	if !slices.ContainsFunc(d.buckets, func(b *bucket) bool { return !slices.Equal(b.columns, offers[b.offers[0]].columns) }) {
		return true
	}
	d.offers = offers
	for _, b := range d.buckets {
		b.columns = offers[b.offers[0]].columns
	}
	d.readColumns()
	if d.solve() {
		d.readEvenValues()
	} else {
		d.readValues()
	}
	return true
}

func (d *dual) width() int { return len(d.axes) + len(d.slots) }

func (d *dual) readAxes(offers []offer) {
	nodes := map[int]float64{}
	used := make([]bool, len(d.p.work.axes.names))
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

// readKinds puts offers together that have the same columns and slots.
func (d *dual) readKinds(offers []offer) {
	type kind struct {
		columns *uint64
		slots   int
	}
	groups := map[kind]int{}
	byKey, bySlots := map[string]*uint64{}, map[string]int{}
	known := map[*uint64]*uint64{}
	var key []byte
	for i := range offers {
		o := &offers[i]
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
			at = len(d.kinds)
			groups[k] = at
			d.kinds = append(d.kinds, nil)
		}
		d.kinds[at] = append(d.kinds[at], i)
	}
}

// readBuckets makes about so many buckets of the kinds, by how many units each has.
func (d *dual) readBuckets(buckets int) {
	d.buckets, d.columns, d.bucketOf = nil, nil, make([]int, len(d.offers))
	for i := range d.bucketOf {
		d.bucketOf[i] = -1
	}
	units, total := make([]int, len(d.kinds)), 0
	for n, kind := range d.kinds {
		for _, i := range kind {
			units[n] += d.offers[i].count
		}
		total += units[n]
	}
	for n, kind := range d.kinds {
		d.split(kind, max(buckets*units[n]/max(total, 1), 1))
	}
}

// split makes offers of a kind into so many buckets at most: by ratio, then by size.
func (d *dual) split(kind []int, most int) {
	offers := d.offers
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
	for _, part := range d.sortedParts(kind, ratio, ratios) {
		for _, bucketed := range d.sortedParts(part, size, sizes) {
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
func (d *dual) sortedParts(group []int, by func(int) float64, parts int) [][]int {
	parts = min(len(group), parts)
	all := make([]ranked, len(group))
	for n, i := range group {
		all[n] = ranked{by(i), int32(i)}
	}
	d.next = sortRanked(all, d.next)
	group = make([]int, len(all))
	for n := range all {
		group[n] = int(all[n].thing)
	}
	result := make([][]int, parts)
	for n := range parts {
		result[n] = group[n*len(group)/parts : (n+1)*len(group)/parts]
	}
	return result
}
