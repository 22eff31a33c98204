package planner

import (
	"math"
	"slices"
)

// dualColumn is a column with weights of the axes, such that all of it together weighs as much as it costs.
type dualColumn struct {
	bin
	column int
	// kept are the weights that have been best so far.
	kept []float64
	// steps are further axes: see dualStep. Their weights come after those of the others.
	steps []dualStep
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

// readColumns fills in the columns that matter: those of which no other that the same offers can use is as cheap and has as much. What weights there were of such a
// column stay if the same buckets can use it.
func (d *dual) readColumns() {
	before := d.columns
	d.columns = nil
	var sets []bitset
	all := newBitset(len(d.p.columns))
	for _, b := range d.buckets {
		if !slices.ContainsFunc(sets, func(set bitset) bool { return &set[0] == &b.columns[0] }) {
			sets = append(sets, b.columns)
			all.or(b.columns)
		}
	}
	type kind struct {
		config, reservation int32
		mask                int
	}
	seen, plain := map[kind]bool{}, newBitset(len(d.p.configs))
	masks := map[string]int{}
	// kept are, by mask, the columns so far.
	var kept [][]int
	key := make([]byte, (len(sets)+7)/8)
	last := kind{config: -1}
	for j := range all.all() {
		column := &d.p.columns[j]
		mask := 0
		if len(sets) > 1 || len(kept) == 0 {
			clear(key)
			for i, set := range sets {
				if set.has(j) {
					key[i/8] |= 1 << (i % 8)
				}
			}
			var ok bool
			if mask, ok = masks[string(key)]; !ok {
				mask = len(kept)
				masks[string(key)] = mask
				kept = append(kept, nil)
			}
		}
		if len(sets) == 1 && column.reservation < 0 {
			// Most programs have thousands of columns that all units may use.
			if plain.has(int(column.config)) {
				continue
			}
			plain.add(int(column.config))
		} else {
			k := kind{column.config, column.reservation, mask}
			if k == last || seen[k] {
				continue
			}
			seen[k], last = true, k
		}
		free := d.p.configs[column.config].free
		if slices.ContainsFunc(kept[mask], func(other int) bool { return d.p.configOf(other).free.atLeast(free) }) {
			continue
		}
		if column.reservation < 0 {
			kept[mask] = append(kept[mask], j)
		}
		d.addColumn(j)
		if len(before) > 0 && len(d.columns) > 0 {
			c := &d.columns[len(d.columns)-1]
			at, ok := slices.BinarySearchFunc(before, c.column, func(c dualColumn, column int) int { return c.column - column })
			if ok && c.column == j && slices.Equal(c.fits, before[at].fits) {
				c.weights, c.worth = before[at].weights, before[at].worth
			}
		}
	}
}

// addColumn adds a column, if it can hold any of the buckets.
func (d *dual) addColumn(j int) {
	free := d.p.configOf(j).free
	width := d.width()
	c := dualColumn{column: j, bin: bin{free: d.memory.take(width + len(d.axes)*dualParts)[:width]}}
	for a := range width {
		c.free[a] = 1
		if a < len(d.axes) {
			c.free[a] = float64(max(free[d.axes[a]], 0)) / d.scale[a]
		}
	}
	d.fits = d.fits[:0]
	for i, b := range d.buckets {
		if b.columns.has(j) && fitsIn(b.need, c.free) {
			d.fits = append(d.fits, i)
		}
	}
	if len(d.fits) > 0 {
		c.fits = d.lists.copyOf(d.fits)
		d.readNeeds(&c)
		d.columns = append(d.columns, c)
	}
}

// readNeeds fills in the column's steps, where they count for some bucket, and what the buckets ask for.
func (d *dual) readNeeds(c *dualColumn) {
	for a, r := range d.axes {
		if r == axisPods || c.free[a] == 0 {
			continue
		}
		largest := 0.0
		for _, i := range c.fits {
			b := d.buckets[i]
			largest = max(largest, b.samples[len(b.samples)-1][a])
		}
		for parts := 1; parts <= dualParts; parts++ {
			if step := (dualStep{axis: a, parts: float64(parts)}); step.of(largest/c.free[a]) > 0 {
				c.steps = append(c.steps, step)
			}
		}
	}
	for range c.steps {
		c.free = append(c.free, 1)
	}
	c.needs = d.memory.take(len(c.fits) * len(c.free))[:0]
	for _, i := range c.fits {
		b := d.buckets[i]
		c.needs = append(c.needs, b.need...)
		for s := range c.steps {
			step, sum := &c.steps[s], 0.0
			each := 1 / c.free[step.axis]
			for _, sample := range b.samples {
				sum += min(step.of(sample[step.axis]*each), 1)
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

func fitsIn(need, free []float64) bool {
	for a, amount := range need {
		if amount > free[a] {
			return false
		}
	}
	return true
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
