package lp

import "github.com/whittle-dev/whittle/shared/planner/dense"

// Knapsack fills one column with the buckets' units that are worth most together, parts of units allowed: a linear program of as many rows as there are axes,
//
//	maximise sum of price(i) x(i)   such that   sum of x(i) need(i, a) <= free(a) for each axis a.
//
// Its dual solution are weights of the axes by which no unit weighs less than it is worth, and all of the column together weighs what the filling is worth.
type Knapsack struct {
	inverse []float64
	x       []float64
	weights []float64
	step    []float64
	// priced are the axes that have weight.
	priced []int
	// basis has, for each row, the position among the buckets that fit, -1 for what is left free.
	basis []int
	// rows and entries are memory for fillings.
	rows    dense.Arena[int32]
	entries dense.Arena[float64]
}

func NewKnapsack(width int) *Knapsack {
	return &Knapsack{
		inverse: make([]float64, width*width), x: make([]float64, width), weights: make([]float64, width), step: make([]float64, width), basis: make([]int, width),
	}
}

// Solve fills in the column's worth and weights.
func (k *Knapsack) Solve(c *Bin, prices []float64) {
	w := len(c.Free)
	k.inverse, k.x, k.weights, k.step, k.basis = k.inverse[:w*w], k.x[:w], k.weights[:w], k.step[:w], k.basis[:w]
	clear(k.inverse)
	clear(k.weights)
	for a := range w {
		k.inverse[a*w+a] = 1
		k.x[a] = c.Free[a] + 1e-9*float64(a+1)
		k.basis[a] = -1
	}
	for range 8*w + 8 {
		// The unit that is worth most beyond what it weighs, for what it is worth, comes in.
		entering, best := -1, 1e-7
		k.read(k.weights)
		for n, i := range c.Fits {
			if prices[i] <= 0 {
				continue
			}
			weight := 0.0
			needs := c.Needs[n*w : n*w+w]
			for _, a := range k.priced {
				weight += float64(k.weights[a] * needs[a])
			}
			if gain := (prices[i] - weight) / prices[i]; gain > best {
				entering, best = n, gain
			}
		}
		slack := -1
		if entering < 0 {
			for a, weight := range k.weights {
				if weight < -1e-9 {
					slack = a
					break
				}
			}
			if slack < 0 {
				break
			}
		}
		var reduced float64
		for r := range w {
			row := k.inverse[r*w : r*w+w]
			if slack >= 0 {
				k.step[r] = row[slack]
				continue
			}
			sum := 0.0
			for a, amount := range c.Needs[entering*w : entering*w+w] {
				sum += float64(row[a] * amount)
			}
			k.step[r] = sum
		}
		if slack >= 0 {
			reduced = -k.weights[slack]
		} else {
			reduced = prices[c.Fits[entering]] - Dot(k.weights, c.Needs[entering*w:entering*w+w])
		}
		leaving, least := -1, 0.0
		for r, step := range k.step {
			if step > 1e-10 && (leaving < 0 || k.x[r]/step < least) {
				leaving, least = r, k.x[r]/step
			}
		}
		if leaving < 0 {
			break
		}
		pivot := k.inverse[leaving*w : leaving*w+w]
		for a := range pivot {
			pivot[a] /= k.step[leaving]
		}
		k.x[leaving] = least
		for r := range w {
			if r == leaving {
				continue
			}
			row := k.inverse[r*w : r*w+w]
			for a := range row {
				row[a] -= float64(k.step[r] * pivot[a])
			}
			k.x[r] = max(k.x[r]-float64(k.step[r]*least), 0)
		}
		for a := range pivot {
			k.weights[a] += float64(reduced * pivot[a])
		}
		k.basis[leaving] = entering
	}
	if c.Weights == nil {
		c.Weights = k.entries.Take(w)
	}
	for a, weight := range k.weights {
		c.Weights[a] = max(weight, 0)
	}
	c.Value = Dot(c.Weights, c.Free)
}

// read fills in which axes have weight.
func (k *Knapsack) read(weights []float64) {
	k.priced = k.priced[:0]
	for a, weight := range weights {
		if weight != 0 {
			k.priced = append(k.priced, a)
		}
	}
}

// Bounds reports whether the weights that the column has, all of it weighing what it costs, show that no filling is worth more.
func (k *Knapsack) Bounds(c *Bin, prices []float64, cost, gap float64) bool {
	if c.Weights == nil {
		return false
	}
	factor := cost / c.Value * (1 + gap)
	w := len(c.Free)
	k.read(c.Weights)
	for n, i := range c.Fits {
		price := prices[i]
		if price <= 0 {
			continue
		}
		weight := 0.0
		needs := c.Needs[n*w : n*w+w]
		for _, a := range k.priced {
			weight += float64(c.Weights[a] * needs[a])
		}
		if factor*weight < price {
			return false
		}
	}
	return true
}

// Filling is the solution as a column of the covering program. One more row may be appended.
func (k *Knapsack) Filling(c *Bin) ([]int32, []float64) {
	rows, entries := k.rows.Take(len(k.basis) + 1)[:0], k.entries.Take(len(k.basis) + 1)[:0]
	for r, n := range k.basis {
		if n >= 0 && k.x[r] > 1e-9 {
			rows, entries = append(rows, int32(c.Fits[n])), append(entries, k.x[r])
		}
	}
	return rows, entries
}

func Dot(w, amounts []float64) float64 {
	sum := 0.0
	for r := range w {
		sum += float64(w[r] * amounts[r])
	}
	return sum
}

// Bin is what a knapsack fills: an amount of each axis, and the units that fit into it.
type Bin struct {
	// Free is how much there is of each axis.
	Free []float64
	// Fits are the numbers of the units that fit, needs what each of them asks for of all axes, one after the other.
	Fits  []int
	Needs []float64
	// Weights are those of the axes that the last filling showed, worth what that filling is worth.
	Weights []float64
	Value   float64
}

// Value is what the filling that solve found for the bin comes to at other prices.
func (k *Knapsack) Value(c *Bin, prices []float64) float64 {
	worth := 0.0
	for r, n := range k.basis {
		if n >= 0 {
			worth += float64(k.x[r] * prices[c.Fits[n]])
		}
	}
	return worth
}
