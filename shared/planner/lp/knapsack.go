package lp

import "github.com/whittle-dev/whittle/shared/planner/dense"

// Bin is what a knapsack fills: an amount of each axis, and the items that fit into it.
type Bin struct {
	// Free is how much the bin has of each axis.
	Free []float64
	// Fits are the numbers of the items that fit. Needs has the amounts of all axes that the first of
	// them needs, then those of the second, and so on.
	Fits  []int
	Needs []float64
	// Weights are the dual prices of the axes from the last solution, Value what that filling is
	// worth. All that the bin has weighs as much as Value. Weights are nil before the first
	// solution.
	Weights []float64
	Value   float64
}

// Knapsack finds the most valuable filling of a bin, where fractions of items are allowed. That is
// a linear program with one row for each axis:
//
//	maximise sum of price(i) x(i)   such that   sum of x(i) need(i, a) <= free(a) for each axis a.
//
// Its dual solution are weights of the axes. By these no item weighs less than its price, and the
// whole bin weighs what the filling is worth.
//
// A Knapsack holds the solution of one bin at a time, and reuses its memory for the next one.
type Knapsack struct {
	// inverse is the inverse of the basis, one row of it for each axis.
	inverse []float64
	// basis has, for each row, the position of its item in Bin.Fits; freeAxis if part of an axis stays
	// free. amounts are how much of those the filling has.
	basis   []int
	amounts []float64
	weights []float64
	// direction is how much of each row one unit of the entering item takes.
	direction []float64
	// weighted are the axes whose weight is not zero.
	weighted []int
	// rows and entries are the memory of fillings and weights.
	rows    dense.Arena[int32]
	entries dense.Arena[float64]
}

// freeAxis stands in the basis for a part of an axis that stays free.
const freeAxis = -1

// Tolerances of Knapsack.
const (
	// knapsackGain is the least gain that lets an item enter, as a part of its price.
	knapsackGain = 1e-7
	// knapsackPivot is the least entry to divide by.
	knapsackPivot = 1e-10
	// negligible is the amount or weight below which rounding errors lie.
	negligible = 1e-9
	// perturbation makes each axis a little different, so that the method cannot cycle.
	perturbation = 1e-9
)

// NewKnapsack makes a knapsack for bins of at most so many axes.
func NewKnapsack(axes int) *Knapsack {
	return &Knapsack{
		inverse: make([]float64, axes*axes), amounts: make([]float64, axes),
		weights: make([]float64, axes), direction: make([]float64, axes), basis: make([]int, axes),
	}
}

// Solve finds the most valuable filling for these prices of items, and writes its value and weights
// into the bin. Items without a price stay out.
func (k *Knapsack) Solve(b *Bin, prices []float64) {
	k.start(b)
	for range 8*len(b.Free) + 8 {
		item, axis := k.enteringItem(b, prices), -1
		if item < 0 {
			if axis = k.enteringAxis(); axis < 0 {
				break
			}
		}
		reduced := k.readDirection(b, prices, item, axis)
		leaving := k.leavingRow()
		if leaving < 0 {
			break
		}
		k.pivot(leaving, reduced)
		k.basis[leaving] = item
	}
	if b.Weights == nil {
		b.Weights = k.entries.Take(len(b.Free))
	}
	for a, weight := range k.weights {
		b.Weights[a] = max(weight, 0)
	}
	b.Value = Dot(b.Weights, b.Free)
}

// start empties the bin: all of each axis is free.
func (k *Knapsack) start(b *Bin) {
	w := len(b.Free)
	k.inverse, k.amounts, k.weights, k.direction, k.basis =
		k.inverse[:w*w], k.amounts[:w], k.weights[:w], k.direction[:w], k.basis[:w]
	clear(k.inverse)
	clear(k.weights)
	for a := range w {
		k.inverse[a*w+a] = 1
		k.amounts[a] = b.Free[a] + perturbation*float64(a+1)
		k.basis[a] = freeAxis
	}
}

// enteringItem is the position of the item that gains most beyond its weight, as a part of its
// price; -1 if none gains.
func (k *Knapsack) enteringItem(b *Bin, prices []float64) int {
	w := len(b.Free)
	entering, best := -1, knapsackGain
	k.readWeighted(k.weights)
	for n, i := range b.Fits {
		if prices[i] <= 0 {
			continue
		}
		weight := 0.0
		needs := b.Needs[n*w : n*w+w]
		for _, a := range k.weighted {
			weight += float64(k.weights[a] * needs[a])
		}
		if gain := (prices[i] - weight) / prices[i]; gain > best {
			entering, best = n, gain
		}
	}
	return entering
}

// enteringAxis is an axis of negative weight, some of which should stay free; -1 without one.
func (k *Knapsack) enteringAxis() int {
	for a, weight := range k.weights {
		if weight < -negligible {
			return a
		}
	}
	return -1
}

// readDirection fills in the direction of the entering item, or of the entering axis if item is -1.
// It returns what one unit gains.
func (k *Knapsack) readDirection(b *Bin, prices []float64, item, axis int) float64 {
	w := len(b.Free)
	if item < 0 {
		for r := range w {
			k.direction[r] = k.inverse[r*w+axis]
		}
		return -k.weights[axis]
	}
	needs := b.Needs[item*w : item*w+w]
	for r := range w {
		row := k.inverse[r*w : r*w+w]
		sum := 0.0
		for a, amount := range needs {
			sum += float64(row[a] * amount)
		}
		k.direction[r] = sum
	}
	return prices[b.Fits[item]] - Dot(k.weights, needs)
}

// leavingRow is the row that runs out first in the direction; -1 if none does.
func (k *Knapsack) leavingRow() int {
	leaving, least := -1, 0.0
	for r, step := range k.direction {
		if step > knapsackPivot && (leaving < 0 || k.amounts[r]/step < least) {
			leaving, least = r, k.amounts[r]/step
		}
	}
	return leaving
}

// pivot puts the entering item into the leaving row.
func (k *Knapsack) pivot(leaving int, reduced float64) {
	w := len(k.basis)
	least := k.amounts[leaving] / k.direction[leaving]
	pivot := k.inverse[leaving*w : leaving*w+w]
	for a := range pivot {
		pivot[a] /= k.direction[leaving]
	}
	k.amounts[leaving] = least
	for r := range w {
		if r == leaving {
			continue
		}
		row := k.inverse[r*w : r*w+w]
		for a := range row {
			row[a] -= float64(k.direction[r] * pivot[a])
		}
		k.amounts[r] = max(k.amounts[r]-float64(k.direction[r]*least), 0)
	}
	for a := range pivot {
		k.weights[a] += float64(reduced * pivot[a])
	}
}

// readWeighted fills in which axes have weight. Most have none, so that sums over these are short.
func (k *Knapsack) readWeighted(weights []float64) {
	k.weighted = k.weighted[:0]
	for a, weight := range weights {
		if weight != 0 {
			k.weighted = append(k.weighted, a)
		}
	}
}

// NoGain reports whether the bin's weights prove that no filling is worth more than cost*(1+gap).
// The weights are scaled for that such that the whole bin weighs cost.
func (k *Knapsack) NoGain(b *Bin, prices []float64, cost, gap float64) bool {
	if b.Weights == nil {
		return false
	}
	factor := cost / b.Value * (1 + gap)
	w := len(b.Free)
	k.readWeighted(b.Weights)
	for n, i := range b.Fits {
		price := prices[i]
		if price <= 0 {
			continue
		}
		weight := 0.0
		needs := b.Needs[n*w : n*w+w]
		for _, a := range k.weighted {
			weight += float64(b.Weights[a] * needs[a])
		}
		if factor*weight < price {
			return false
		}
	}
	return true
}

// Filling is the solution for the bin as a column of a covering program whose rows are the items.
// The caller may append one more row.
func (k *Knapsack) Filling(b *Bin) (rows []int32, entries []float64) {
	rows, entries = k.rows.Take(len(k.basis) + 1)[:0], k.entries.Take(len(k.basis) + 1)[:0]
	for r, n := range k.basis {
		if n >= 0 && k.amounts[r] > negligible {
			rows, entries = append(rows, int32(b.Fits[n])), append(entries, k.amounts[r])
		}
	}
	return rows, entries
}

// ValueAt is what the filling that Solve found for the bin is worth at other prices.
func (k *Knapsack) ValueAt(b *Bin, prices []float64) float64 {
	value := 0.0
	for r, n := range k.basis {
		if n >= 0 {
			value += float64(k.amounts[r] * prices[b.Fits[n]])
		}
	}
	return value
}

// Dot is the sum of the products of weights and amounts.
func Dot(weights, amounts []float64) float64 {
	sum := 0.0
	for r := range weights {
		sum += float64(weights[r] * amounts[r])
	}
	return sum
}
