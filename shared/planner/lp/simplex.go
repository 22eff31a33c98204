package lp

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// Program is a linear program: the cheapest non-negative amounts of columns such that each row is covered,
//
//	minimise sum of cost(j) x(j)   such that   sum of x(j) entry(j, i) >= need(i) for each row i.
//
// It is solved by the primal simplex method with the inverse of the basis kept dense, since only the rows' prices (the dual solution) are wanted, and there are few
// rows. Columns may be added between calls of optimise. A solution that is cut short or rounded is no harm: who uses the prices makes sure that they are feasible.
type Program struct {
	need    []float64
	Columns []Column
	// atMost marks rows that are upper bounds instead: sum of x(j) entry(j, i) <= need(i).
	atMost []bool
	// Price are the rows' prices: what a further unit of the row's need would cost. A row that is an upper bound has a price of zero or less.
	Price            []float64
	inverse, x, step []float64
	// basis has, for each row, the number of the column in it, or one of the two below.
	basis []int
	// unit is the need that x counts as one.
	unit float64
}

// basisOwn is a row's own column, of those that the first basis is made of, basisFree one that costs nothing.
const (
	basisOwn  = -1
	basisFree = -2
)

// Column is sparse: the entry of rows[n] is entries[n].
type Column struct {
	Cost    float64
	Rows    []int32
	Entries []float64
}

const (
	// simplexTolerance is how much a column has to be worth beyond its cost, as a part of it, to enter the basis.
	simplexTolerance = 1e-7
	// simplexPivot is the least entry to divide by.
	simplexPivot = 1e-9
)

func (c *Program) AddRow(need float64, atMost bool) int32 {
	c.need = append(c.need, need)
	c.atMost = append(c.atMost, atMost)
	return int32(len(c.need) - 1)
}

// Start makes the first basis: each row is covered by a column of its own, which costs more than anything real; what an upper bound leaves costs nothing.
func (c *Program) Start() {
	m := len(c.need)
	// Needs are made to about one, and each a little different, so that the method cannot go round in circles.
	largest := 1e-9
	for _, need := range c.need {
		largest = max(largest, need)
	}
	c.x, c.inverse, c.Price, c.step = make([]float64, m), make([]float64, m*m), make([]float64, m), make([]float64, m)
	for i, need := range c.need {
		c.x[i] = need/largest + 1e-6*(1+math.Mod(float64(i)*0.6180339887, 1))
	}
	c.basis = make([]int, m)
	dear := 1.0
	for j := range c.Columns {
		for _, entry := range c.Columns[j].Entries {
			if entry > simplexPivot {
				dear = max(dear, 8*c.Columns[j].Cost/entry)
			}
		}
	}
	c.unit = largest
	for i := range c.Price {
		c.inverse[i*m+i], c.basis[i] = 1, basisFree
		if !c.atMost[i] {
			c.Price[i], c.basis[i] = dear, basisOwn
		}
	}
}

// Optimise brings in columns until none is worth more than it costs.
func (c *Program) Optimise() {
	m := len(c.need)
	for range 20*m + 200 {
		entering, number, reduced := c.entering(c.Price)
		if entering == nil {
			return
		}
		for i := range c.step {
			sum := 0.0
			row := c.inverse[i*m : i*m+m]
			for n, r := range entering.Rows {
				sum += float64(row[r] * entering.Entries[n])
			}
			c.step[i] = sum
		}
		leaving, least := -1, math.Inf(1)
		for i, step := range c.step {
			if step > simplexPivot && c.x[i]/step < least {
				leaving, least = i, c.x[i]/step
			}
		}
		if leaving < 0 {
			return
		}
		pivot := c.inverse[leaving*m : leaving*m+m]
		divisor := 1 / c.step[leaving]
		for r := range pivot {
			pivot[r] *= divisor
		}
		c.x[leaving], c.basis[leaving] = least, number
		for i, step := range c.step {
			if i == leaving || step == 0 {
				continue
			}
			row := c.inverse[i*m : i*m+m]
			for r, entry := range pivot {
				if entry != 0 {
					row[r] -= float64(step * entry)
				}
			}
			c.x[i] = max(c.x[i]-float64(step*least), 0)
		}
		for r, entry := range pivot {
			c.Price[r] += float64(reduced * entry)
		}
	}
}

// Cost is what all needs together cost at the rows' prices: once optimise has come to its end, what the cheapest columns cost.
func (c *Program) Cost() float64 {
	sum := 0.0
	for i, need := range c.need {
		sum += float64(need * c.Price[i])
	}
	return sum
}

// Amounts goes through the columns in the basis, by number, with how much there is of each.
func (c *Program) Amounts() iter.Seq2[int, float64] {
	return func(yield func(int, float64) bool) {
		order := make([]int, 0, len(c.basis))
		for i, number := range c.basis {
			if number >= 0 {
				order = append(order, i)
			}
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(c.basis[a], c.basis[b]) })
		for _, i := range order {
			if !yield(c.basis[i], c.x[i]*c.unit) {
				return
			}
		}
	}
}

// entering is a column that is worth more than it costs, with its number and its reduced cost; nil if there is none. That may be one that takes away what a row has too much
// of, or leaves part of an upper bound unused: it costs nothing.
func (c *Program) entering(price []float64) (*Column, int, float64) {
	best, worth := -1, 1+simplexTolerance
	bestReduced := 0.0
	for j := range c.Columns {
		column := &c.Columns[j]
		sum := 0.0
		for n, r := range column.Rows {
			sum += float64(price[r] * column.Entries[n])
		}
		if column.Cost > 0 {
			if sum > worth*column.Cost {
				best, worth, bestReduced = j, sum/column.Cost, column.Cost-sum
			}
		} else if best < 0 || c.Columns[best].Cost == 0 {
			if -sum < bestReduced && sum > simplexTolerance {
				best, bestReduced = j, -sum
			}
		}
	}
	if best >= 0 {
		return &c.Columns[best], best, bestReduced
	}
	for i, p := range price {
		if !c.atMost[i] && p < -simplexTolerance {
			return &Column{Rows: []int32{int32(i)}, Entries: []float64{-1}}, basisFree, p
		}
		if c.atMost[i] && p > simplexTolerance {
			return &Column{Rows: []int32{int32(i)}, Entries: []float64{1}}, basisFree, -p
		}
	}
	return nil, 0, 0
}
