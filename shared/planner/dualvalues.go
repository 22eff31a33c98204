package planner

import (
	"cmp"
	"math"
	"slices"
)

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
		d.readRange(b, low, high)
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

// readEvenValues is readValues where all columns have the same weights, but for what makes each weigh what it costs: a unit weighs least on the column that even by the same
// weights weighs most for its price.
func (d *dual) readEvenValues() {
	d.values, d.best = make([]float64, len(d.offers)), make([]int32, len(d.offers))
	for n := range d.best {
		d.best[n] = -1
	}
	width := d.width()
	parts := make([]float64, len(d.columns))
	for j := range d.columns {
		parts[j] = weighted(d.even, d.columns[j].free[:width]) / d.columns[j].worth
	}
	tightest := func(b *bucket, need []float64) int32 {
		best, most := int32(-1), 0.0
		for j := range d.columns {
			if c := &d.columns[j]; parts[j] > most && b.columns.has(c.column) && fitsIn(need[:len(d.axes)], c.free) {
				best, most = int32(j), parts[j]
			}
		}
		return best
	}
	low, high := make([]float64, width), make([]float64, width)
	for _, b := range d.buckets {
		d.readRange(b, low, high)
		// What the greatest unit and the least both weigh least on, the others do.
		at := tightest(b, high)
		same := at >= 0 && at == tightest(b, low)
		for _, n := range b.offers {
			need := d.needOf(n)
			if !same {
				at = tightest(b, need)
			}
			if at >= 0 {
				d.values[n], d.best[n] = weighted(d.even, need)/parts[at], at
			}
		}
	}
}

// readRange fills in the least and the most that any unit of the bucket asks for of each axis.
func (d *dual) readRange(b *bucket, low, high []float64) {
	copy(low, d.needOf(b.offers[0]))
	copy(high, low)
	for _, n := range b.offers[1:] {
		for a, amount := range d.needOf(n) {
			low[a], high[a] = min(low[a], amount), max(high[a], amount)
		}
	}
}

// floor is, by axis, an equal part of the least that a column costs for each scaled unit that it has; none for slots.
func (d *dual) floor() []float64 {
	floor := make([]float64, d.width())
	for a := range d.axes {
		least := math.Inf(1)
		for i := range d.columns {
			if free := d.columns[i].free[a]; free > 0 && d.p.columns[d.columns[i].column].reservation < 0 {
				least = min(least, d.price(d.columns[i].column)/free)
			}
		}
		if !math.IsInf(least, 1) {
			floor[a] = least / float64(len(d.axes))
		}
	}
	return floor
}

// surcharge is how much dearer a column is with what packing counts for each node, so that of columns on which units weigh the same the largest comes first.
func (d *dual) surcharge(column int) float64 {
	if d.p.columns[column].reservation >= 0 {
		return 1
	}
	return 1 + nodePricePerHour/d.price(column)
}
