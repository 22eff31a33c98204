package bound

import (
	"cmp"
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/lp"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// Units is what bounding needs of a number of equal units: their need, how many there are, and the columns that can hold one, size aside.
type Units struct {
	Need      resource.Vector
	Count     int
	Offerings dense.Set
	// Slots are groups of units of which a node takes only so many, with the part of a node's share that a unit takes.
	Slots []placement.Slot
}

const (
	// dualSamples is how many units of a bucket stand for its sizes, dualSlots how many groups of units that repel each other the program counts. Only its precision suffers
	// from few.
	dualSamples = 5
	// fewUnits is how many kinds of units are few: the first, coarse program is worth solving for them.
	fewUnits  = 200
	dualSlots = 8
	// dualRounds is how often columns are priced at most, dualGap how far from the best the solution may stay.
	dualRounds = 48
	dualGap    = 2e-3
	// dualSmooth is how far the prices that columns are filled for stay from the program's.
	dualSmooth = 0.7
	// dualUniform is how much more than by the same weights on all columns units may be worth for that to be little.
	dualUniform = 5e-3
)

// dualBuckets is about how many kinds of units the program tells apart, at first and where that says too little.
var dualBuckets = [...]int{20, 56}

// Dual is the program behind the lower bound (see bound.go): the cheapest way to hold buckets of about equal units, parts of units and of nodes allowed. It is
// solved by generating columns: again and again, for the units' prices so far, each column is filled with what is worth most, and where that is more than it costs
// the filling joins the program.
type Dual struct {
	index  *offering.Index
	offers []Units
	// Axes are the resources that offers ask for, then the slots: what a node has of the first is free, of the second one.
	Axes    []int
	slots   map[int]int
	Scale   []float64
	needs   []float64
	Buckets []*Bucket
	// kinds are the offers, by their positions, that have the same columns and slots.
	kinds [][]int
	// BucketOf is the bucket of each offer; -1 without columns.
	BucketOf []int
	// next is memory for sorting.
	next    []dense.Ranked
	Columns []Column
	// program is what is solved, reserved its rows for reservations.
	program  *lp.Program
	reserved []int32
	// uniform are the weights by which units are worth most if all columns have the same, by axis.
	uniform []float64
	// ReservationPrices is, by reservation, what one of its nodes is worth beyond its price.
	ReservationPrices []float64
	// Prices are what a unit of each offer is worth, best the positions of the columns that say so: see readValues.
	Prices []float64
	Best   []int32
	// fits is memory, lists and memory are what columns' slices are made of.
	fits   []int
	lists  dense.Arena[int]
	memory dense.Arena[float64]
}

// Bucket are units of about the same kind.
type Bucket struct {
	columns dense.Set
	// offers are the bucket's, by their positions.
	offers []int
	Need   []float64
	count  float64
	// samples are some of the units' needs, from small to great.
	samples [][]float64
}

func Solve(p *offering.Index, offers []Units) *Dual {
	d := &Dual{index: p, offers: offers, slots: map[int]int{}, ReservationPrices: make([]float64, len(p.Reservations))}
	d.readAxes(offers)
	d.readKinds(offers)
	for _, buckets := range dualBuckets {
		if buckets == dualBuckets[0] && len(d.kinds) > 1 && (len(d.slots) == 0 || len(offers) <= fewUnits) {
			continue // so few would tell hardly more than the kinds apart
		}
		d.readBuckets(buckets)
		d.readColumns()
		d.start()
		// Where the same weights on all columns say nearly all there is to say, telling more kinds of units apart adds nothing.
		if d.solve() {
			d.readUniformPrices()
			return d
		}
		if len(d.slots) > 0 {
			break // who may share a node with whom counts for more than sizes
		}
	}
	d.readPrices()
	return d
}

// resolve solves the program for the same units, which may have other columns now: from where it was left, which is close by. It reports false, and leaves all as it was, if
// the units are not the same, or those of a bucket have different columns now.
func (d *Dual) resolve(offers []Units) bool {
	if len(offers) != len(d.offers) {
		return false
	}
	for n := range offers {
		if o := &d.offers[n]; &o.Need[0] != &offers[n].Need[0] || o.Count != offers[n].Count || !slices.Equal(o.Slots, offers[n].Slots) {
			return false
		}
	}
	for _, b := range d.Buckets {
		for _, n := range b.offers {
			if &offers[n].Offerings[0] != &offers[b.offers[0]].Offerings[0] {
				return false
			}
		}
	}
	for n, at := range d.BucketOf {
		if at < 0 && !offers[n].Offerings.Empty() {
			return false
		}
	}
	if !slices.ContainsFunc(d.Buckets, func(b *Bucket) bool { return !slices.Equal(b.columns, offers[b.offers[0]].Offerings) }) {
		return true
	}
	d.offers = offers
	for _, b := range d.Buckets {
		b.columns = offers[b.offers[0]].Offerings
	}
	d.readColumns()
	if d.solve() {
		d.readUniformPrices()
	} else {
		d.readPrices()
	}
	return true
}

func (d *Dual) Width() int { return len(d.Axes) + len(d.slots) }

func (d *Dual) readAxes(offers []Units) {
	nodes := map[int]float64{}
	used := make([]bool, len(d.index.Work.Axes.Names))
	for i := range offers {
		for r, amount := range offers[i].Need {
			used[r] = used[r] || amount > 0 && offers[i].Count > 0
		}
		for _, s := range offers[i].Slots {
			nodes[s.Group] += float64(float64(offers[i].Count) * s.Part)
		}
	}
	for r := range used {
		if used[r] {
			d.Axes = append(d.Axes, r)
		}
	}
	groups := make([]int, 0, len(nodes))
	for group := range nodes {
		groups = append(groups, group)
	}
	slices.SortFunc(groups, func(a, b int) int { return cmp.Or(-cmp.Compare(nodes[a], nodes[b]), cmp.Compare(a, b)) })
	for i, group := range groups[:min(len(groups), dualSlots)] {
		d.slots[group] = len(d.Axes) + i
	}
	// An axis is counted in what a column has of it on average, so that weights are about as great as prices.
	d.Scale = make([]float64, d.Width())
	for a := range d.Scale {
		d.Scale[a] = 1
		if a >= len(d.Axes) {
			continue
		}
		sum, count := 0.0, 0
		for i := range d.index.PoolTypes {
			if free := d.index.PoolTypes[i].Free[d.Axes[a]]; free > 0 {
				sum += float64(free)
				count++
			}
		}
		d.Scale[a] = max(sum/float64(max(count, 1)), 1)
	}
	width := d.Width()
	d.needs = make([]float64, len(offers)*width)
	for i := range offers {
		d.amounts(d.needs[i*width:(i+1)*width], &offers[i])
	}
}

// amounts fills in a unit's scaled need.
func (d *Dual) amounts(amounts []float64, o *Units) {
	for a, r := range d.Axes {
		amounts[a] = float64(max(o.Need[r], 0)) / d.Scale[a]
	}
	for _, s := range o.Slots {
		if a, ok := d.slots[s.Group]; ok {
			amounts[a] += s.Part
		}
	}
}

func (d *Dual) NeedOf(offer int) []float64 {
	return d.needs[offer*d.Width() : (offer+1)*d.Width()]
}

// readKinds puts offers together that have the same columns and slots.
func (d *Dual) readKinds(offers []Units) {
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
		if o.Count == 0 || len(o.Offerings) == 0 {
			continue
		}
		// Equal sets count as one, wherever they are.
		first := &o.Offerings[0]
		same, ok := known[first]
		if !ok {
			key = o.Offerings.AppendKey(key[:0])
			if same, ok = byKey[string(key)]; !ok {
				if !o.Offerings.Empty() {
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
		if len(o.Slots) > 0 {
			key = key[:0]
			for _, s := range o.Slots {
				key = append(key, byte(d.slots[s.Group]))
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
func (d *Dual) readBuckets(buckets int) {
	d.Buckets, d.Columns, d.BucketOf = nil, nil, make([]int, len(d.offers))
	for i := range d.BucketOf {
		d.BucketOf[i] = -1
	}
	units, total := make([]int, len(d.kinds)), 0
	for n, kind := range d.kinds {
		for _, i := range kind {
			units[n] += d.offers[i].Count
		}
		total += units[n]
	}
	for n, kind := range d.kinds {
		d.split(kind, max(buckets*units[n]/max(total, 1), 1))
	}
}

// split makes offers of a kind into so many buckets at most: by ratio, then by size.
func (d *Dual) split(kind []int, most int) {
	offers := d.offers
	ratio := func(i int) float64 {
		need := d.NeedOf(i)
		cpu, memory := 0.0, 0.0
		for a, r := range d.Axes {
			switch r {
			case resource.CPU:
				cpu = need[a]
			case resource.Memory:
				memory = need[a]
			}
		}
		return memory / (cpu + memory + 1e-12)
	}
	size := func(i int) float64 {
		sum := 0.0
		for _, amount := range d.NeedOf(i) {
			sum += amount
		}
		return sum
	}
	ratios := max(int(math.Sqrt(float64(most)*2)), 1)
	sizes := max(most/ratios, 1)
	for _, part := range d.sortedParts(kind, ratio, ratios) {
		for _, bucketed := range d.sortedParts(part, size, sizes) {
			b := &Bucket{columns: offers[bucketed[0]].Offerings, offers: bucketed, Need: make([]float64, d.Width())}
			for _, i := range bucketed {
				d.BucketOf[i] = len(d.Buckets)
				b.count += float64(offers[i].Count)
				for a, amount := range d.NeedOf(i) {
					b.Need[a] += float64(float64(offers[i].Count) * amount)
				}
			}
			for a := range b.Need {
				b.Need[a] /= b.count
			}
			for n := range min(len(bucketed), dualSamples) {
				b.samples = append(b.samples, d.NeedOf(bucketed[(2*n+1)*len(bucketed)/(2*min(len(bucketed), dualSamples))]))
			}
			d.Buckets = append(d.Buckets, b)
		}
	}
}

// sortedParts divides numbers into parts of about as many, sorted by a measure.
func (d *Dual) sortedParts(group []int, by func(int) float64, parts int) [][]int {
	parts = min(len(group), parts)
	all := make([]dense.Ranked, len(group))
	for n, i := range group {
		all[n] = dense.Ranked{By: by(i), Item: int32(i)}
	}
	d.next = dense.SortRanked(all, d.next)
	group = make([]int, len(all))
	for n := range all {
		group[n] = int(all[n].Item)
	}
	result := make([][]int, parts)
	for n := range parts {
		result[n] = group[n*len(group)/parts : (n+1)*len(group)/parts]
	}
	return result
}
