package bound

import (
	"cmp"
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/lp"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// WeightedOffering is an offering with weights of the axes, such that all that its empty node has
// weighs what the node costs. The items of its bin are buckets.
type WeightedOffering struct {
	lp.Bin
	// Offering is its number.
	Offering int
	// best are the weights that gave the greatest bound so far.
	best []float64
	// Steps are further axes of the bin, after those of the program.
	Steps []Step
}

// Step is an axis that counts the large units on a node. With one part, a unit that needs more than
// half of a resource takes all of the step. With two parts, a unit that needs more than a third
// takes half of it, and a unit that needs more than two thirds takes all.
//
// Units that share a node never take more than all of a step: floor((parts+1) x) / parts, with a
// little taken off, is a dual feasible function. See S. P. Fekete and J. Schepers, "New classes of
// fast lower bounds for bin packing problems", 2001.
type Step struct {
	Axis  int
	Parts float64
}

// maxStepParts is the most parts of a step.
const maxStepParts = 2

// Of is what a unit takes of the step if it needs such a part of the node's resource.
func (s *Step) Of(part float64) float64 {
	return max(math.Floor(float64((s.Parts+1)*part)-1e-9), 0) / s.Parts
}

// readOfferings fills in the offerings that matter, without those that another one dominates. An
// offering's earlier weights stay if the same buckets can use it.
func (d *Dual) readOfferings() {
	before := d.Offerings
	d.Offerings = nil
	var sets []*dense.Set
	all := dense.NewSet(len(d.index.Offerings))
	for _, b := range d.Buckets {
		if !slices.Contains(sets, b.offerings) {
			sets = append(sets, b.offerings)
			all.Or(*b.offerings)
		}
	}
	f := newDominance(d.index, sets)
	for j := range all.All() {
		if f.dominated(j) {
			continue
		}
		d.addOffering(j)
		if len(before) == 0 || len(d.Offerings) == 0 {
			continue
		}
		o := &d.Offerings[len(d.Offerings)-1]
		at, ok := slices.BinarySearchFunc(before, o.Offering, func(o WeightedOffering, number int) int {
			return cmp.Compare(o.Offering, number)
		})
		if ok && o.Offering == j && slices.Equal(o.Fits, before[at].Fits) {
			o.Weights, o.Value = before[at].Weights, before[at].Value
		}
	}
}

// dominance finds offerings that another one dominates: it costs no more, has no less of anything,
// and is in the same of the buckets' sets. Offerings come from cheap to dear.
type dominance struct {
	index *offering.Index
	sets  []*dense.Set
	// masks number the combinations of sets that offerings are in.
	masks map[string]int
	key   []byte
	// kept are, by mask, the offerings that may dominate later ones.
	kept [][]int
	// stocked are, by stock and mask, those that may dominate later ones of the same stock.
	stocked map[dominanceKey][]int
	// poolTypes are those seen, where there is one set only; seen has the others.
	poolTypes dense.Set
	seen      map[dominanceKey]bool
	last      dominanceKey
}

// dominanceKey identifies offerings of which the first dominates the others.
type dominanceKey struct {
	poolType, stock int32
	mask            int
}

func newDominance(index *offering.Index, sets []*dense.Set) *dominance {
	f := &dominance{
		index: index, sets: sets, masks: map[string]int{}, key: make([]byte, (len(sets)+7)/8),
		poolTypes: dense.NewSet(len(index.PoolTypes)), seen: map[dominanceKey]bool{},
		stocked: map[dominanceKey][]int{}, last: dominanceKey{poolType: -1},
	}
	if len(sets) == 1 {
		f.kept = make([][]int, 1)
	}
	return f
}

// dominated reports whether an earlier offering dominates this one. Later ones are compared with
// it.
func (f *dominance) dominated(j int) bool {
	o := &f.index.Offerings[j]
	mask := 0
	if len(f.sets) > 1 {
		mask = f.mask(j)
	}
	if len(f.sets) == 1 && o.Stock < 0 {
		// Most programs have thousands of offerings that all units may use.
		if f.poolTypes.Has(int(o.PoolType)) {
			return true
		}
		f.poolTypes.Add(int(o.PoolType))
	} else {
		key := dominanceKey{o.PoolType, o.Stock, mask}
		if key == f.last || f.seen[key] {
			return true
		}
		f.seen[key], f.last = true, key
	}
	free := f.index.PoolTypes[o.PoolType].Free
	for _, other := range f.kept[mask] {
		if f.index.PoolTypeOf(other).Free.AtLeast(free) {
			return true
		}
	}
	// Stocks run out, so their offerings dominate no others but those that take no less of the same. A reservation has
	// one instance type only.
	switch {
	case o.Stock < 0:
		f.kept[mask] = append(f.kept[mask], j)
		return false
	case o.Source.Coverage == nil:
		return false
	}
	key := dominanceKey{poolType: -1, stock: o.Stock, mask: mask}
	for _, other := range f.stocked[key] {
		if f.index.Offerings[other].Units <= o.Units && f.index.PoolTypeOf(other).Free.AtLeast(free) {
			return true
		}
	}
	f.stocked[key] = append(f.stocked[key], j)
	return false
}

// mask is the number of the combination of sets that the offering is in.
func (f *dominance) mask(j int) int {
	clear(f.key)
	for i, set := range f.sets {
		if set.Has(j) {
			f.key[i/8] |= 1 << (i % 8)
		}
	}
	mask, ok := f.masks[string(f.key)]
	if !ok {
		mask = len(f.kept)
		f.masks[string(f.key)] = mask
		f.kept = append(f.kept, nil)
	}
	return mask
}

// addOffering adds an offering, if it can hold any of the buckets.
func (d *Dual) addOffering(j int) {
	free := d.index.PoolTypeOf(j).Free
	width := d.Width()
	o := WeightedOffering{Offering: j, Bin: lp.Bin{Free: d.floats.Take(width + len(d.Axes)*maxStepParts)[:width]}}
	for a := range width {
		o.Free[a] = 1
		if a < len(d.Axes) {
			o.Free[a] = float64(max(free[d.Axes[a]], 0)) / d.Scale[a]
		}
	}
	d.fits = d.fits[:0]
	for i, b := range d.Buckets {
		if b.offerings.Has(j) && fitsIn(b.Need, o.Free) {
			d.fits = append(d.fits, i)
		}
	}
	if len(d.fits) > 0 {
		o.Fits = d.integers.CopyOf(d.fits)
		d.readNeeds(&o)
		d.Offerings = append(d.Offerings, o)
	}
}

// readNeeds fills in the offering's steps, if they count for some bucket, and what the buckets
// need.
func (d *Dual) readNeeds(o *WeightedOffering) {
	for a, r := range d.Axes {
		if r == resource.Pods || o.Free[a] == 0 {
			continue
		}
		largest := 0.0
		for _, i := range o.Fits {
			b := d.Buckets[i]
			largest = max(largest, b.samples[len(b.samples)-1][a])
		}
		for parts := 1; parts <= maxStepParts; parts++ {
			if step := (Step{Axis: a, Parts: float64(parts)}); step.Of(largest/o.Free[a]) > 0 {
				o.Steps = append(o.Steps, step)
			}
		}
	}
	for range o.Steps {
		o.Free = append(o.Free, 1)
	}
	o.Needs = d.floats.Take(len(o.Fits) * len(o.Free))[:0]
	for _, i := range o.Fits {
		b := d.Buckets[i]
		o.Needs = append(o.Needs, b.Need...)
		for s := range o.Steps {
			step, sum := &o.Steps[s], 0.0
			each := 1 / o.Free[step.Axis]
			for _, sample := range b.samples {
				sum += min(step.Of(sample[step.Axis]*each), 1)
			}
			o.Needs = append(o.Needs, sum/float64(len(b.samples)))
		}
	}
}

// Weigh is what a unit of this scaled need weighs on the offering. Above most it stops early, and
// the result may be less than the whole weight.
func (o *WeightedOffering) Weigh(need []float64, most float64) float64 {
	weight := 0.0
	for a, w := range o.Weights[:len(need)] {
		weight += float64(need[a] * w)
	}
	if weight > most {
		return weight
	}
	for s := range o.Steps {
		if w := o.Weights[len(need)+s]; w > 0 {
			weight += float64(w * o.Steps[s].Of(need[o.Steps[s].Axis]/o.Free[o.Steps[s].Axis]))
		}
	}
	return weight
}

// needOf is what a unit of a bucket that the offering can hold needs.
func (o *WeightedOffering) needOf(bucket int) []float64 {
	n := slices.Index(o.Fits, bucket) * len(o.Free)
	return o.Needs[n : n+len(o.Free)]
}

// scaleTo scales the weights such that the whole node weighs so much.
func (o *WeightedOffering) scaleTo(price float64) {
	weight := lp.Dot(o.Weights, o.Free)
	if weight <= 0 {
		// Nothing that the node has is worth anything: all axes weigh the same.
		for a, free := range o.Free {
			if o.Weights[a] = 0; free > 0 {
				o.Weights[a] = 1 / free
				weight++
			}
		}
	}
	for a := range o.Weights {
		o.Weights[a] *= price / weight
	}
	o.Value = price
}

// fitsIn reports whether the need fits into the first axes of free.
func fitsIn(need, free []float64) bool {
	for a, amount := range need {
		if amount > free[a] {
			return false
		}
	}
	return true
}

// unitsIn is how many units free has room for, fractions included.
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
