package bound

import "github.com/whittle-dev/whittle/shared/planner/lp"

// solveUniform finds the uniform weights by which all units together are worth most. It gives them
// to the offerings, fills in the dual prices of the buckets, and returns the bound. With slots or
// stocks it does nothing and returns zero, because their value differs between offerings.
func (d *Dual) solveUniform(prices []float64) float64 {
	if len(d.stockRows)+len(d.slotAxes) > 0 {
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
	for j := range d.Offerings {
		o := &d.Offerings[j]
		column := lp.Column{Cost: d.cost(o.Offering), Rows: rows, Entries: o.Free[:width]}
		program.Columns = append(program.Columns, column)
	}
	program.Start()
	program.Optimise()
	d.uniform = d.uniform[:0]
	for _, weight := range program.DualPrices {
		d.uniform = append(d.uniform, max(weight, 0))
	}
	// No node may weigh more than it costs.
	factor := 1.0
	for j := range d.Offerings {
		o := &d.Offerings[j]
		if weight := lp.Dot(d.uniform, o.Free[:width]); weight > 0 {
			factor = min(factor, d.cost(o.Offering)/weight)
		}
	}
	for a := range d.uniform {
		d.uniform[a] *= factor
	}
	d.weighUniformly()
	return d.evaluate(prices)
}

// weighUniformly gives all offerings the uniform weights, each scaled such that the whole node
// weighs what it costs.
func (d *Dual) weighUniformly() {
	for j := range d.Offerings {
		o := &d.Offerings[j]
		if o.Weights == nil {
			o.Weights = d.floats.Take(len(o.Free))
		}
		clear(o.Weights)
		copy(o.Weights, d.uniform)
		o.scaleTo(d.price(o.Offering))
	}
}

// readUniformPrices is readPrices for uniform weights. A unit weighs least on the offering whose
// scale is the least: the one that the uniform weights make heaviest for its price.
func (d *Dual) readUniformPrices() {
	d.clearPrices()
	width := d.Width()
	// parts are what the nodes weigh by the uniform weights, for what they cost.
	parts := make([]float64, len(d.Offerings))
	for j := range d.Offerings {
		parts[j] = lp.Dot(d.uniform, d.Offerings[j].Free[:width]) / d.Offerings[j].Value
	}
	low, high := make([]float64, width), make([]float64, width)
	for _, b := range d.Buckets {
		d.readRange(b, low, high)
		// If the largest unit and the smallest weigh least on the same offering, so do the others.
		at := d.heaviest(b, parts, high)
		same := at >= 0 && at == d.heaviest(b, parts, low)
		for _, n := range b.units {
			need := d.NeedOf(n)
			if !same {
				at = d.heaviest(b, parts, need)
			}
			if at >= 0 {
				d.Prices[n], d.Best[n] = lp.Dot(d.uniform, need)/parts[at], at
			}
		}
	}
}

// heaviest is the position of the offering of the greatest part that can hold a unit of the bucket
// with this need; -1 without one.
func (d *Dual) heaviest(b *Bucket, parts, need []float64) int32 {
	best, most := int32(-1), 0.0
	for j := range d.Offerings {
		o := &d.Offerings[j]
		if parts[j] > most && b.offerings.Has(o.Offering) && fitsIn(need[:len(d.Axes)], o.Free) {
			best, most = int32(j), parts[j]
		}
	}
	return best
}
