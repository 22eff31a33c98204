package bound

import (
	"cmp"
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/offering"
)

// contender is an offering on which some unit of a bucket may weigh least. No unit weighs less than
// least on it.
type contender struct {
	least float64
	// position is the offering's position among the dual's.
	position int32
}

// readPrices fills in the dual price of each of the units: the least that one weighs on an offering
// that can hold it.
func (d *Dual) readPrices() {
	d.clearPrices()
	width := d.Width()
	var contenders []contender
	low, high := make([]float64, width), make([]float64, width)
	for _, b := range d.Buckets {
		d.readRange(b, low, high)
		contenders = d.contenders(contenders[:0], b, low, high)
		for _, n := range b.units {
			if price, at := d.leastWeight(contenders, d.NeedOf(n)); at >= 0 {
				d.Prices[n], d.Best[n] = price, at
			}
		}
	}
}

// clearPrices makes all dual prices zero.
func (d *Dual) clearPrices() {
	d.Prices, d.Best = make([]float64, len(d.units)), make([]int32, len(d.units))
	for n := range d.Best {
		d.Best[n] = -1
	}
}

// readRange fills in the least and the greatest need of a unit of the bucket, axis by axis.
func (d *Dual) readRange(b *Bucket, low, high []float64) {
	copy(low, d.NeedOf(b.units[0]))
	copy(high, low)
	for _, n := range b.units[1:] {
		for a, amount := range d.NeedOf(n) {
			low[a], high[a] = min(low[a], amount), max(high[a], amount)
		}
	}
}

// contenders are the offerings on which some unit between low and high may weigh least, the
// lightest first. An offering is none if low weighs more on it than high does on another one.
func (d *Dual) contenders(list []contender, b *Bucket, low, high []float64) []contender {
	resources := len(d.Axes)
	most := math.Inf(1)
	for j := range d.Offerings {
		o := &d.Offerings[j]
		if !b.offerings.Has(o.Offering) || !fitsIn(low[:resources], o.Free) {
			continue
		}
		least := o.Weigh(low, most)
		if least > most*(1+1e-9) {
			continue
		}
		list = append(list, contender{least * (1 - 1e-9), int32(j)})
		if fitsIn(high[:resources], o.Free) {
			most = min(most, o.Weigh(high, most))
		}
	}
	slices.SortFunc(list, func(a, b contender) int {
		return cmp.Or(cmp.Compare(a.least, b.least), cmp.Compare(a.position, b.position))
	})
	return list
}

// leastWeight is the least that a unit of this need weighs on one of the contenders, with the
// position of the first offering where it does; -1 if none can hold it.
func (d *Dual) leastWeight(contenders []contender, need []float64) (float64, int32) {
	resources := len(d.Axes)
	least, at := math.Inf(1), int32(-1)
	for i := range contenders {
		if contenders[i].least > least {
			break
		}
		j := contenders[i].position
		o := &d.Offerings[j]
		weight := o.Weigh(need, least)
		if (weight < least || weight == least && j < at) && fitsIn(need[:resources], o.Free) {
			least, at = weight, j
		}
	}
	return least, at
}

// FloorPrices are prices of the scaled resources: an equal share of the least that an offering
// costs for each unit that it has. Slots have none.
func (d *Dual) FloorPrices() []float64 {
	floor := make([]float64, d.Width())
	for a := range d.Axes {
		least := math.Inf(1)
		for i := range d.Offerings {
			number := d.Offerings[i].Offering
			if free := d.Offerings[i].Free[a]; free > 0 && d.index.Offerings[number].Stock < 0 {
				least = min(least, d.price(number)/free)
			}
		}
		if !math.IsInf(least, 1) {
			floor[a] = least / float64(len(d.Axes))
		}
	}
	return floor
}

// Surcharge is the factor by which the overhead that packing counts for each node makes the
// offering dearer. With it, the largest comes first of the offerings on which units weigh the same.
func (d *Dual) Surcharge(number int) float64 {
	if d.index.Offerings[number].Stock >= 0 {
		return 1
	}
	return 1 + offering.NodePricePerHour/d.price(number)
}
