package bound

import (
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/lp"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// Column is a column with weights of the axes, such that all of it together weighs as much as it costs.
type Column struct {
	lp.Bin
	Column int
	// kept are the weights that have been best so far.
	kept []float64
	// Steps are further axes: see dualStep. Their weights come after those of the others.
	Steps []Step
}

// Step counts whole units: with parts = 1 a unit that asks for more than half of the axis takes all of the step, with 2 one that asks for more than a third takes
// half and one that asks for more than two thirds all, and so on. Units that share a node never ask for more than all of a step: floor((parts+1) x) / parts with a little
// taken off is a dual feasible function (S. P. Fekete, J. Schepers: New classes of fast lower bounds for bin packing problems, 2001).
type Step struct {
	Axis  int
	Parts float64
}

// dualParts is the most parts of a step.
const dualParts = 2

// Of is what a unit takes of the step that asks for such a part of the axis.
func (s *Step) Of(part float64) float64 {
	return max(math.Floor(float64((s.Parts+1)*part)-1e-9), 0) / s.Parts
}

// readColumns fills in the columns that matter: those of which no other that the same offers can use is as cheap and has as much. What weights there were of such a
// column stay if the same buckets can use it.
func (d *Dual) readColumns() {
	before := d.Columns
	d.Columns = nil
	var sets []dense.Set
	all := dense.NewSet(len(d.index.Offerings))
	for _, b := range d.Buckets {
		if !slices.ContainsFunc(sets, func(set dense.Set) bool { return &set[0] == &b.columns[0] }) {
			sets = append(sets, b.columns)
			all.Or(b.columns)
		}
	}
	type kind struct {
		config, reservation int32
		mask                int
	}
	seen, plain := map[kind]bool{}, dense.NewSet(len(d.index.PoolTypes))
	masks := map[string]int{}
	// kept are, by mask, the columns so far.
	var kept [][]int
	key := make([]byte, (len(sets)+7)/8)
	last := kind{config: -1}
	for j := range all.All() {
		column := &d.index.Offerings[j]
		mask := 0
		if len(sets) > 1 || len(kept) == 0 {
			clear(key)
			for i, set := range sets {
				if set.Has(j) {
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
		if len(sets) == 1 && column.Reservation < 0 {
			// Most programs have thousands of columns that all units may use.
			if plain.Has(int(column.PoolType)) {
				continue
			}
			plain.Add(int(column.PoolType))
		} else {
			k := kind{column.PoolType, column.Reservation, mask}
			if k == last || seen[k] {
				continue
			}
			seen[k], last = true, k
		}
		free := d.index.PoolTypes[column.PoolType].Free
		if slices.ContainsFunc(kept[mask], func(other int) bool { return d.index.PoolTypeOf(other).Free.AtLeast(free) }) {
			continue
		}
		if column.Reservation < 0 {
			kept[mask] = append(kept[mask], j)
		}
		d.addColumn(j)
		if len(before) > 0 && len(d.Columns) > 0 {
			c := &d.Columns[len(d.Columns)-1]
			at, ok := slices.BinarySearchFunc(before, c.Column, func(c Column, column int) int { return c.Column - column })
			if ok && c.Column == j && slices.Equal(c.Fits, before[at].Fits) {
				c.Weights, c.Value = before[at].Weights, before[at].Value
			}
		}
	}
}

// addColumn adds a column, if it can hold any of the buckets.
func (d *Dual) addColumn(j int) {
	free := d.index.PoolTypeOf(j).Free
	width := d.Width()
	c := Column{Column: j, Bin: lp.Bin{Free: d.memory.Take(width + len(d.Axes)*dualParts)[:width]}}
	for a := range width {
		c.Free[a] = 1
		if a < len(d.Axes) {
			c.Free[a] = float64(max(free[d.Axes[a]], 0)) / d.Scale[a]
		}
	}
	d.fits = d.fits[:0]
	for i, b := range d.Buckets {
		if b.columns.Has(j) && fitsIn(b.Need, c.Free) {
			d.fits = append(d.fits, i)
		}
	}
	if len(d.fits) > 0 {
		c.Fits = d.lists.CopyOf(d.fits)
		d.readNeeds(&c)
		d.Columns = append(d.Columns, c)
	}
}

// readNeeds fills in the column's steps, where they count for some bucket, and what the buckets ask for.
func (d *Dual) readNeeds(c *Column) {
	for a, r := range d.Axes {
		if r == resource.Pods || c.Free[a] == 0 {
			continue
		}
		largest := 0.0
		for _, i := range c.Fits {
			b := d.Buckets[i]
			largest = max(largest, b.samples[len(b.samples)-1][a])
		}
		for parts := 1; parts <= dualParts; parts++ {
			if step := (Step{Axis: a, Parts: float64(parts)}); step.Of(largest/c.Free[a]) > 0 {
				c.Steps = append(c.Steps, step)
			}
		}
	}
	for range c.Steps {
		c.Free = append(c.Free, 1)
	}
	c.Needs = d.memory.Take(len(c.Fits) * len(c.Free))[:0]
	for _, i := range c.Fits {
		b := d.Buckets[i]
		c.Needs = append(c.Needs, b.Need...)
		for s := range c.Steps {
			step, sum := &c.Steps[s], 0.0
			each := 1 / c.Free[step.Axis]
			for _, sample := range b.samples {
				sum += min(step.Of(sample[step.Axis]*each), 1)
			}
			c.Needs = append(c.Needs, sum/float64(len(b.samples)))
		}
	}
}

// Weigh is what a unit of this need weighs on the column; where that is more than most it may be less than the whole.
func (c *Column) Weigh(need []float64, most float64) float64 {
	weight := 0.0
	for a, w := range c.Weights[:len(need)] {
		weight += float64(need[a] * w)
	}
	if weight > most {
		return weight
	}
	for s := range c.Steps {
		if w := c.Weights[len(need)+s]; w > 0 {
			weight += float64(w * c.Steps[s].Of(need[c.Steps[s].Axis]/c.Free[c.Steps[s].Axis]))
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
func (c *Column) needOf(bucket int) []float64 {
	n := slices.Index(c.Fits, bucket) * len(c.Free)
	return c.Needs[n : n+len(c.Free)]
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
