package bound

import (
	"cmp"
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/lp"
	"github.com/whittle-dev/whittle/shared/planner/offering"
)

// weighed is a column that may be the one on which units of a bucket weigh least: least is less than any of them weighs.
type weighed struct {
	least  float64
	column int32
}

// readPrices fills in what a unit of each offer is worth: the least that it weighs on any of the columns that can hold it. A column on which the least unit that might be in
// the bucket weighs more than the greatest does on another is not looked at again.
func (d *Dual) readPrices() {
	width := d.Width()
	d.Prices, d.Best = make([]float64, len(d.offers)), make([]int32, len(d.offers))
	for n := range d.Best {
		d.Best[n] = -1
	}
	var columns []weighed
	low, high := make([]float64, width), make([]float64, width)
	for _, b := range d.Buckets {
		d.readRange(b, low, high)
		most := math.Inf(1)
		columns = columns[:0]
		for j := range d.Columns {
			c := &d.Columns[j]
			if !b.columns.Has(c.Column) || !fitsIn(low[:len(d.Axes)], c.Free) {
				continue
			}
			least := c.Weigh(low, most)
			if least > most*(1+1e-9) {
				continue
			}
			columns = append(columns, weighed{least * (1 - 1e-9), int32(j)})
			if fitsIn(high[:len(d.Axes)], c.Free) {
				most = min(most, c.Weigh(high, most))
			}
		}
		slices.SortFunc(columns, func(a, b weighed) int {
			return cmp.Or(cmp.Compare(a.least, b.least), cmp.Compare(a.column, b.column))
		})
		for _, n := range b.offers {
			need := d.NeedOf(n)
			value, at := math.Inf(1), int32(-1)
			for i := range columns {
				if columns[i].least > value {
					break
				}
				j := columns[i].column
				c := &d.Columns[j]
				if weight := c.Weigh(need, value); (weight < value || weight == value && j < at) && fitsIn(need[:len(d.Axes)], c.Free) {
					value, at = weight, j
				}
			}
			if at >= 0 {
				d.Prices[n], d.Best[n] = value, at
			}
		}
	}
}

// readUniformPrices is readValues where all columns have the same weights, but for what makes each weigh what it costs: a unit weighs least on the column that even by the same
// weights weighs most for its price.
func (d *Dual) readUniformPrices() {
	d.Prices, d.Best = make([]float64, len(d.offers)), make([]int32, len(d.offers))
	for n := range d.Best {
		d.Best[n] = -1
	}
	width := d.Width()
	parts := make([]float64, len(d.Columns))
	for j := range d.Columns {
		parts[j] = lp.Dot(d.uniform, d.Columns[j].Free[:width]) / d.Columns[j].Value
	}
	tightest := func(b *Bucket, need []float64) int32 {
		best, most := int32(-1), 0.0
		for j := range d.Columns {
			if c := &d.Columns[j]; parts[j] > most && b.columns.Has(c.Column) && fitsIn(need[:len(d.Axes)], c.Free) {
				best, most = int32(j), parts[j]
			}
		}
		return best
	}
	low, high := make([]float64, width), make([]float64, width)
	for _, b := range d.Buckets {
		d.readRange(b, low, high)
		// What the greatest unit and the least both weigh least on, the others do.
		at := tightest(b, high)
		same := at >= 0 && at == tightest(b, low)
		for _, n := range b.offers {
			need := d.NeedOf(n)
			if !same {
				at = tightest(b, need)
			}
			if at >= 0 {
				d.Prices[n], d.Best[n] = lp.Dot(d.uniform, need)/parts[at], at
			}
		}
	}
}

// readRange fills in the least and the most that any unit of the bucket asks for of each axis.
func (d *Dual) readRange(b *Bucket, low, high []float64) {
	copy(low, d.NeedOf(b.offers[0]))
	copy(high, low)
	for _, n := range b.offers[1:] {
		for a, amount := range d.NeedOf(n) {
			low[a], high[a] = min(low[a], amount), max(high[a], amount)
		}
	}
}

// Floor is, by axis, an equal part of the least that a column costs for each scaled unit that it has; none for slots.
func (d *Dual) Floor() []float64 {
	floor := make([]float64, d.Width())
	for a := range d.Axes {
		least := math.Inf(1)
		for i := range d.Columns {
			if free := d.Columns[i].Free[a]; free > 0 && d.index.Offerings[d.Columns[i].Column].Reservation < 0 {
				least = min(least, d.price(d.Columns[i].Column)/free)
			}
		}
		if !math.IsInf(least, 1) {
			floor[a] = least / float64(len(d.Axes))
		}
	}
	return floor
}

// Surcharge is how much dearer a column is with what packing counts for each node, so that of columns on which units weigh the same the largest comes first.
func (d *Dual) Surcharge(column int) float64 {
	if d.index.Offerings[column].Reservation >= 0 {
		return 1
	}
	return 1 + offering.NodePricePerHour/d.price(column)
}
