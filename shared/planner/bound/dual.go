package bound

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/lp"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// Units are equal units, as bounding sees them.
type Units struct {
	// ID identifies the units by their need.
	ID placement.NeedID
	// Need is what one unit needs, Count how many units there are.
	Need  resource.Vector
	Count int
	// Offerings can hold one, size aside. The set is immutable.
	Offerings *dense.Set
	// Slots are the groups of units of which a node takes only so many, with the part of it that one
	// unit takes.
	Slots []placement.Slot
}

const (
	// fewUnits is how many kinds of units are few. The first, coarse program is worth solving for
	// them.
	fewUnits = 200
	// dualRounds is how often offerings are filled at most, dualGap how far from the best the solution
	// may stay, as a part of it.
	dualRounds = 48
	dualGap    = 2e-3
	// dualSmoothing is how much the prices that offerings are filled for depend on the best ones so
	// far.
	dualSmoothing = 0.7
	// uniformGap is how little other weights than uniform ones may add, as a part of the bound, for
	// uniform ones to do.
	uniformGap = 5e-3
)

// dualBuckets is about how many buckets the program has, at first and where that says too little.
var dualBuckets = [...]int{20, 56}

// Dual is the linear program behind the lower bound, with its solution.
type Dual struct {
	index *offering.Index
	units []Units
	scaling
	// kinds are the positions of units that have the same offerings and slots.
	kinds   [][]int
	Buckets []*Bucket
	// BucketOf is the bucket of each of the units; -1 without offerings.
	BucketOf []int
	// Offerings are those that matter, with their weights.
	Offerings []WeightedOffering
	// program has a row for each bucket, then one for each stock: stockRows.
	program   *lp.Program
	stockRows []int32
	// uniform are the uniform weights, by axis.
	uniform []float64
	// StockPrices are, by stock, what the node that takes most of it is worth beyond its price.
	StockPrices []float64
	// Prices are the dual prices: for each of the units what one is worth. Best is the position of the
	// offering on which it weighs just that; -1 without one.
	Prices []float64
	Best   []int32
	// known is the last bound of whole nodes, if any.
	known *known
	memory
}

// memory is what the program reuses or takes its slices from.
type memory struct {
	ranked   []dense.Ranked
	fits     []int
	integers dense.Arena[int]
	floats   dense.Arena[float64]
}

// Solve finds weights for the units, and their dual prices.
func Solve(index *offering.Index, units []Units) *Dual {
	d := &Dual{index: index, units: units, StockPrices: make([]float64, len(index.Stocks))}
	d.readAxes()
	d.readKinds()
	for _, buckets := range dualBuckets {
		coarse := buckets == dualBuckets[0]
		if coarse && len(d.kinds) > 1 && (len(d.slotAxes) == 0 || len(units) <= fewUnits) {
			continue // so few buckets would tell hardly more than the kinds apart
		}
		d.readBuckets(buckets)
		d.readOfferings()
		d.start()
		if d.solve() {
			// More buckets would add nothing where uniform weights do.
			d.readUniformPrices()
			return d
		}
		if len(d.slotAxes) > 0 {
			break // slots count for more than sizes, so smaller buckets would add little
		}
	}
	d.readPrices()
	return d
}

// solveAgain solves the program for the same units, which may have other offerings now. It starts
// from the solution so far, which is close by. It reports false, and changes nothing, if the units
// are not the same, or if those of one bucket have different offerings now.
func (d *Dual) solveAgain(units []Units) bool {
	if !d.sameUnits(units) {
		return false
	}
	for _, b := range d.Buckets {
		for _, n := range b.units {
			if units[n].Offerings != units[b.units[0]].Offerings {
				return false
			}
		}
	}
	for n, at := range d.BucketOf {
		if at < 0 && !units[n].Offerings.Empty() {
			return false
		}
	}
	changed := slices.ContainsFunc(d.Buckets, func(b *Bucket) bool {
		return !slices.Equal(*b.offerings, *units[b.units[0]].Offerings)
	})
	if !changed {
		return true
	}
	d.units = units
	for _, b := range d.Buckets {
		b.offerings = units[b.units[0]].Offerings
	}
	d.readOfferings()
	if d.solve() {
		d.readUniformPrices()
	} else {
		d.readPrices()
	}
	return true
}

// sameUnits reports whether these are the dual's units, their offerings aside.
func (d *Dual) sameUnits(units []Units) bool {
	return slices.EqualFunc(d.units, units, func(a, b Units) bool {
		return a.ID == b.ID && a.Count == b.Count && slices.Equal(a.Slots, b.Slots)
	})
}
