package planner

import (
	"math"
	"slices"
)

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
}

// solve generates columns until what the units weigh on the columns is close to what the program costs: no weights make them worth more. Columns are filled for prices
// between those of the program, which go to and fro, and the units' best values so far. It reports whether they are worth hardly less by the same weights on all columns, which
// are the columns' weights then.
func (d *dual) solve() bool {
	program := d.program
	prices, values, best := make([]float64, len(d.buckets)), make([]float64, len(d.buckets)), make([]float64, len(d.buckets))
	rent, bound := slices.Clone(d.rent), math.Inf(-1)
	between := 0.0
	even := d.readEven(values)
	if even > 0 {
		bound, values, best, between = even, best, values, dualSmooth
		d.keep()
	}
	smooth := between
	k := newKnapsack(d.width() + len(d.axes)*dualParts)
	for round := 0; round < dualRounds; round++ {
		program.optimise()
		cost := program.worth()
		if cost*(1-dualEven) <= even {
			d.weighEven()
			return true
		}
		if cost*(1-dualGap) <= bound {
			break
		}
		for i := range prices {
			// Less than a billionth of a dollar is nothing: rounding alone makes such prices.
			if prices[i] = float64(smooth*best[i]) + float64((1-smooth)*program.price[i]); prices[i] < 1e-9 {
				prices[i] = 0
			}
		}
		for i, row := range d.reserved {
			d.rent[i] = float64(smooth*rent[i]) + float64((1-smooth)*max(-program.price[row], 0))
		}
		added := false
		for j := range d.columns {
			c := &d.columns[j]
			price := d.price(c.column)
			if k.bounds(&c.bin, prices, price, dualGap/8) {
				continue
			}
			k.solve(&c.bin, prices)
			if c.worth <= 0 {
				c.settle(price)
			}
			if c.worth > price*(1+dualGap/4) && d.sells(k, c) {
				rows, entries := k.filling(&c.bin)
				d.add(c, rows, entries)
				added = true
			}
		}
		if now := d.value(values); now > bound {
			bound, values, best = now, best, values
			copy(rent, d.rent)
			d.keep()
		}
		switch {
		case added:
			smooth = between
		case smooth > 0:
			smooth = 0
		default:
			round = dualRounds
		}
	}
	copy(d.rent, rent)
	for j := range d.columns {
		c := &d.columns[j]
		copy(c.weights, c.kept)
		c.worth = d.price(c.column)
	}
	return false
}

// settle makes all of the column weigh so much.
func (c *dualColumn) settle(price float64) {
	weight := weighted(c.weights, c.free)
	if weight <= 0 {
		// Nothing that it has is worth anything: all axes weigh the same.
		for a, free := range c.free {
			if c.weights[a] = 0; free > 0 {
				c.weights[a] = 1 / free
				weight++
			}
		}
	}
	for a := range c.weights {
		c.weights[a] *= price / weight
	}
	c.worth = price
}

// readEven finds the weights by which all units together are worth most if all columns have the same. It gives the columns these, fills in what one unit of each bucket is worth
// then, and gives what all are. Where
// there are slots or reservations it does nothing: what these are worth differs from column to column.
func (d *dual) readEven(values []float64) float64 {
	if len(d.reserved)+len(d.slots) > 0 {
		return 0
	}
	width := d.width()
	program, rows := &covering{}, make([]int32, width)
	for a := range width {
		sum := 0.0
		for _, b := range d.buckets {
			sum += float64(b.count * b.need[a])
		}
		rows[a] = program.row(sum, false)
	}
	for j := range d.columns {
		c := &d.columns[j]
		program.columns = append(program.columns, coveringColumn{cost: d.cost(c.column), rows: rows, entries: c.free[:width]})
	}
	program.start()
	program.optimise()
	d.even = d.even[:0]
	for _, weight := range program.price {
		d.even = append(d.even, max(weight, 0))
	}
	// No column may weigh more than it costs.
	factor := 1.0
	for j := range d.columns {
		c := &d.columns[j]
		if weight := weighted(d.even, c.free[:width]); weight > 0 {
			factor = min(factor, d.cost(c.column)/weight)
		}
	}
	for a := range d.even {
		d.even[a] *= factor
	}
	d.weighEven()
	return d.value(values)
}

// weighEven gives all columns the same weights, but for what makes all of a column weigh what it costs.
func (d *dual) weighEven() {
	for j := range d.columns {
		c := &d.columns[j]
		if c.weights == nil {
			c.weights = d.memory.take(len(c.free))
		}
		clear(c.weights)
		copy(c.weights, d.even)
		c.settle(d.price(c.column))
	}
}

// sells reports whether the filling that k has found for the column is worth more than it costs at the program's own prices.
func (d *dual) sells(k *knapsack, c *dualColumn) bool {
	worth := k.price(&c.bin, d.program.price)
	cost := d.cost(c.column)
	if at := d.p.columns[c.column].reservation; at >= 0 {
		cost -= d.program.price[d.reserved[at]]
	}
	return worth > cost*(1+dualGap/8)
}

// keep remembers the columns' weights, such that all of a column weighs what it costs, no more and no less.
func (d *dual) keep() {
	for j := range d.columns {
		c := &d.columns[j]
		factor := d.price(c.column) / c.worth
		c.kept = append(c.kept[:0], c.weights...)
		for a := range c.kept {
			c.kept[a] *= factor
		}
	}
}

// value fills in what a unit of each bucket is worth, the least that it weighs on a column that can hold it, and gives what they are worth in all, less the rents.
func (d *dual) value(values []float64) float64 {
	for i := range values {
		values[i] = math.Inf(1)
	}
	for j := range d.columns {
		c := &d.columns[j]
		factor := d.price(c.column) / c.worth
		w := len(c.free)
		for n, i := range c.fits {
			values[i] = min(values[i], weighted(c.weights, c.needs[n*w:n*w+w])*factor)
		}
	}
	total := 0.0
	for i, b := range d.buckets {
		if math.IsInf(values[i], 1) {
			values[i] = 0
		}
		total += float64(values[i] * b.count)
	}
	for at, rent := range d.rent {
		total -= float64(rent * float64(d.p.reservations[at].capacity))
	}
	return total
}

func (d *dual) cost(column int) float64 {
	return max(d.p.columns[column].price, 1e-9)
}

// price is what a column costs with the rent of its reservation.
func (d *dual) price(column int) float64 {
	price := d.cost(column)
	if at := d.p.columns[column].reservation; at >= 0 {
		price += d.rent[at]
	}
	return price
}
