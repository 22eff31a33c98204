package bound

import (
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/lp"
)

// start makes the program, in which each bucket is alone on the column that is cheapest for it.
func (d *Dual) start() {
	d.program = &lp.Program{}
	for _, b := range d.Buckets {
		d.program.AddRow(b.count, false)
	}
	d.reserved = make([]int32, len(d.index.Reservations))
	for i := range d.reserved {
		d.reserved[i] = d.program.AddRow(float64(d.index.Reservations[i].Capacity), true)
	}
	best, most := make([]int, len(d.Buckets)), make([]float64, len(d.Buckets))
	for j := range d.Columns {
		c := &d.Columns[j]
		if d.index.Offerings[c.Column].Reservation >= 0 {
			continue
		}
		cost := d.cost(c.Column)
		for n, i := range c.Fits {
			if units := unitsIn(c.Needs[n*len(c.Free):(n+1)*len(c.Free)], c.Free) / cost; units > most[i] {
				best[i], most[i] = j, units
			}
		}
	}
	for i := range d.Buckets {
		if most[i] > 0 {
			c := &d.Columns[best[i]]
			d.add(c, []int32{int32(i)}, []float64{unitsIn(c.needOf(i), c.Free)})
		}
	}
	d.program.Start()
}

// add adds a filling of the column's to the program.
func (d *Dual) add(c *Column, rows []int32, entries []float64) {
	if at := d.index.Offerings[c.Column].Reservation; at >= 0 {
		rows, entries = append(rows, d.reserved[at]), append(entries, 1)
	}
	d.program.Columns = append(d.program.Columns, lp.Column{Cost: d.cost(c.Column), Rows: rows, Entries: entries})
}

// solve generates columns until what the units weigh on the columns is close to what the program costs: no weights make them worth more. Columns are filled for prices
// between those of the program, which go to and fro, and the units' best values so far. It reports whether they are worth hardly less by the same weights on all columns, which
// are the columns' weights then.
func (d *Dual) solve() bool {
	program := d.program
	prices, values, best := make([]float64, len(d.Buckets)), make([]float64, len(d.Buckets)), make([]float64, len(d.Buckets))
	rent, bound := slices.Clone(d.ReservationPrices), math.Inf(-1)
	between := 0.0
	even := d.solveUniform(values)
	if even > 0 {
		bound, values, best, between = even, best, values, dualSmooth
		d.keep()
	}
	smooth := between
	k := lp.NewKnapsack(d.Width() + len(d.Axes)*dualParts)
	for round := 0; round < dualRounds; round++ {
		program.Optimise()
		cost := program.Cost()
		if cost*(1-dualUniform) <= even {
			d.weighUniformly()
			return true
		}
		if cost*(1-dualGap) <= bound {
			break
		}
		for i := range prices {
			// Less than a billionth of a dollar is nothing: rounding alone makes such prices.
			if prices[i] = float64(smooth*best[i]) + float64((1-smooth)*program.DualPrices[i]); prices[i] < 1e-9 {
				prices[i] = 0
			}
		}
		for i, row := range d.reserved {
			d.ReservationPrices[i] = float64(smooth*rent[i]) + float64((1-smooth)*max(-program.DualPrices[row], 0))
		}
		added := false
		for j := range d.Columns {
			c := &d.Columns[j]
			price := d.price(c.Column)
			if k.NoGain(&c.Bin, prices, price, dualGap/8) {
				continue
			}
			k.Solve(&c.Bin, prices)
			if c.Value <= 0 {
				c.settle(price)
			}
			if c.Value > price*(1+dualGap/4) && d.pays(k, c) {
				rows, entries := k.Filling(&c.Bin)
				d.add(c, rows, entries)
				added = true
			}
		}
		if now := d.evaluate(values); now > bound {
			bound, values, best = now, best, values
			copy(rent, d.ReservationPrices)
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
	copy(d.ReservationPrices, rent)
	for j := range d.Columns {
		c := &d.Columns[j]
		copy(c.Weights, c.kept)
		c.Value = d.price(c.Column)
	}
	return false
}

// settle makes all of the column weigh so much.
func (c *Column) settle(price float64) {
	weight := lp.Dot(c.Weights, c.Free)
	if weight <= 0 {
		// Nothing that it has is worth anything: all axes weigh the same.
		for a, free := range c.Free {
			if c.Weights[a] = 0; free > 0 {
				c.Weights[a] = 1 / free
				weight++
			}
		}
	}
	for a := range c.Weights {
		c.Weights[a] *= price / weight
	}
	c.Value = price
}

// solveUniform finds the weights by which all units together are worth most if all columns have the same. It gives the columns these, fills in what one unit of each bucket is worth
// then, and gives what all are. Where
// there are slots or reservations it does nothing: what these are worth differs from column to column.
func (d *Dual) solveUniform(values []float64) float64 {
	if len(d.reserved)+len(d.slots) > 0 {
		return 0
	}
	width := d.Width()
	program, rows := &lp.Program{}, make([]int32, width)
	for a := range width {
		sum := 0.0
		for _, b := range d.Buckets {
			sum += float64(b.count * b.Need[a])
		}
		rows[a] = program.AddRow(sum, false)
	}
	for j := range d.Columns {
		c := &d.Columns[j]
		program.Columns = append(program.Columns, lp.Column{Cost: d.cost(c.Column), Rows: rows, Entries: c.Free[:width]})
	}
	program.Start()
	program.Optimise()
	d.uniform = d.uniform[:0]
	for _, weight := range program.DualPrices {
		d.uniform = append(d.uniform, max(weight, 0))
	}
	// No column may weigh more than it costs.
	factor := 1.0
	for j := range d.Columns {
		c := &d.Columns[j]
		if weight := lp.Dot(d.uniform, c.Free[:width]); weight > 0 {
			factor = min(factor, d.cost(c.Column)/weight)
		}
	}
	for a := range d.uniform {
		d.uniform[a] *= factor
	}
	d.weighUniformly()
	return d.evaluate(values)
}

// weighUniformly gives all columns the same weights, but for what makes all of a column weigh what it costs.
func (d *Dual) weighUniformly() {
	for j := range d.Columns {
		c := &d.Columns[j]
		if c.Weights == nil {
			c.Weights = d.memory.Take(len(c.Free))
		}
		clear(c.Weights)
		copy(c.Weights, d.uniform)
		c.settle(d.price(c.Column))
	}
}

// pays reports whether the filling that k has found for the column is worth more than it costs at the program's own prices.
func (d *Dual) pays(k *lp.Knapsack, c *Column) bool {
	worth := k.ValueAt(&c.Bin, d.program.DualPrices)
	cost := d.cost(c.Column)
	if at := d.index.Offerings[c.Column].Reservation; at >= 0 {
		cost -= d.program.DualPrices[d.reserved[at]]
	}
	return worth > cost*(1+dualGap/8)
}

// keep remembers the columns' weights, such that all of a column weighs what it costs, no more and no less.
func (d *Dual) keep() {
	for j := range d.Columns {
		c := &d.Columns[j]
		factor := d.price(c.Column) / c.Value
		c.kept = append(c.kept[:0], c.Weights...)
		for a := range c.kept {
			c.kept[a] *= factor
		}
	}
}

// evaluate fills in what a unit of each bucket is worth, the least that it weighs on a column that can hold it, and gives what they are worth in all, less the rents.
func (d *Dual) evaluate(values []float64) float64 {
	for i := range values {
		values[i] = math.Inf(1)
	}
	for j := range d.Columns {
		c := &d.Columns[j]
		factor := d.price(c.Column) / c.Value
		w := len(c.Free)
		for n, i := range c.Fits {
			values[i] = min(values[i], lp.Dot(c.Weights, c.Needs[n*w:n*w+w])*factor)
		}
	}
	total := 0.0
	for i, b := range d.Buckets {
		if math.IsInf(values[i], 1) {
			values[i] = 0
		}
		total += float64(values[i] * b.count)
	}
	for at, rent := range d.ReservationPrices {
		total -= float64(rent * float64(d.index.Reservations[at].Capacity))
	}
	return total
}

func (d *Dual) cost(column int) float64 {
	return max(d.index.Offerings[column].Price, 1e-9)
}

// price is what a column costs with the rent of its reservation.
func (d *Dual) price(column int) float64 {
	price := d.cost(column)
	if at := d.index.Offerings[column].Reservation; at >= 0 {
		price += d.ReservationPrices[at]
	}
	return price
}
