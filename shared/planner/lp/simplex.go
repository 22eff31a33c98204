package lp

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// Program is a linear program: the cheapest non-negative amounts of columns such that each row is
// covered,
//
//	minimise sum of cost(j) x(j)   such that   sum of x(j) entry(j, i) >= need(i) for each row i.
//
// It is solved by the primal simplex method. The inverse of the basis is dense, because there are
// few rows and callers mainly want the dual prices. Columns may be added between calls of Optimise.
type Program struct {
	Columns []Column
	// DualPrices are the dual solution: what one more unit of each row's need would cost. The price of
	// an upper bound is zero or negative.
	DualPrices []float64
	need       []float64
	// atMost marks rows that are upper bounds: sum of x(j) entry(j, i) <= need(i).
	atMost []bool
	// inverse is the inverse of the basis, amounts how much of each row's column the solution has.
	inverse, amounts []float64
	// direction is how much of each row one unit of the entering column takes.
	direction []float64
	// basis has, for each row, the number of the column in it, or basisOwn, or basisFree.
	basis []int
	// unit is the need that amounts count as one.
	unit float64
}

// Column is one way to cover rows, at a cost. It is sparse: the entry of row Rows[n] is Entries[n].
type Column struct {
	Cost    float64
	Rows    []int32
	Entries []float64
}

const (
	// basisOwn is the dear column that covers one row in the first basis.
	basisOwn = -1
	// basisFree is a column that costs nothing: it takes surplus from a row, or leaves part of an
	// upper bound unused.
	basisFree = -2
)

const (
	// simplexTolerance is how much a column must be worth beyond its cost to enter the basis, as a
	// part of that cost.
	simplexTolerance = 1e-7
	// simplexPivot is the least entry to divide by.
	simplexPivot = 1e-9
)

// AddRow adds a row, before Start, and returns its number. With atMost set, need is an upper bound.
func (p *Program) AddRow(need float64, atMost bool) int32 {
	p.need = append(p.need, need)
	p.atMost = append(p.atMost, atMost)
	return int32(len(p.need) - 1)
}

// Start makes the first basis. A column of its own covers each row, at a higher cost than anything
// real. The free part of an upper bound costs nothing.
func (p *Program) Start() {
	m := len(p.need)
	// Needs are scaled to about one. Each is a little different, so that the method cannot cycle.
	largest := 1e-9
	for _, need := range p.need {
		largest = max(largest, need)
	}
	p.amounts, p.inverse = make([]float64, m), make([]float64, m*m)
	p.DualPrices, p.direction = make([]float64, m), make([]float64, m)
	for i, need := range p.need {
		p.amounts[i] = need/largest + 1e-6*(1+math.Mod(float64(i)*0.6180339887, 1))
	}
	p.basis = make([]int, m)
	dear := 1.0
	for j := range p.Columns {
		for _, entry := range p.Columns[j].Entries {
			if entry > simplexPivot {
				dear = max(dear, 8*p.Columns[j].Cost/entry)
			}
		}
	}
	p.unit = largest
	for i := range p.DualPrices {
		p.inverse[i*m+i], p.basis[i] = 1, basisFree
		if !p.atMost[i] {
			p.DualPrices[i], p.basis[i] = dear, basisOwn
		}
	}
}

// Optimise brings columns into the basis until none is worth more than it costs, or for a bounded
// number of steps.
func (p *Program) Optimise() {
	for range 20*len(p.need) + 200 {
		entering, number, reduced := p.entering()
		if entering == nil {
			return
		}
		p.readDirection(entering)
		leaving := p.leavingRow()
		if leaving < 0 {
			return
		}
		p.pivot(leaving, reduced)
		p.basis[leaving] = number
	}
}

// entering is a column that is worth more than it costs, with its number and its reduced cost; nil
// without one.
func (p *Program) entering() (*Column, int, float64) {
	best, ratio := -1, 1+simplexTolerance
	bestReduced := 0.0
	for j := range p.Columns {
		column := &p.Columns[j]
		sum := 0.0
		for n, r := range column.Rows {
			sum += float64(p.DualPrices[r] * column.Entries[n])
		}
		if column.Cost > 0 {
			if sum > ratio*column.Cost {
				best, ratio, bestReduced = j, sum/column.Cost, column.Cost-sum
			}
		} else if best < 0 || p.Columns[best].Cost == 0 {
			if -sum < bestReduced && sum > simplexTolerance {
				best, bestReduced = j, -sum
			}
		}
	}
	if best >= 0 {
		return &p.Columns[best], best, bestReduced
	}
	return p.enteringFree()
}

// enteringFree is the column that takes surplus from a row whose price is negative, or that leaves
// part of an upper bound unused whose price is positive; nil without such a row.
func (p *Program) enteringFree() (*Column, int, float64) {
	for i, price := range p.DualPrices {
		if !p.atMost[i] && price < -simplexTolerance {
			return &Column{Rows: []int32{int32(i)}, Entries: []float64{-1}}, basisFree, price
		}
		if p.atMost[i] && price > simplexTolerance {
			return &Column{Rows: []int32{int32(i)}, Entries: []float64{1}}, basisFree, -price
		}
	}
	return nil, 0, 0
}

// readDirection fills in the direction of the entering column.
func (p *Program) readDirection(entering *Column) {
	m := len(p.need)
	for i := range p.direction {
		sum := 0.0
		row := p.inverse[i*m : i*m+m]
		for n, r := range entering.Rows {
			sum += float64(row[r] * entering.Entries[n])
		}
		p.direction[i] = sum
	}
}

// leavingRow is the row that runs out first in the direction; -1 if none does.
func (p *Program) leavingRow() int {
	leaving, least := -1, math.Inf(1)
	for i, step := range p.direction {
		if step > simplexPivot && p.amounts[i]/step < least {
			leaving, least = i, p.amounts[i]/step
		}
	}
	return leaving
}

// pivot puts the entering column into the leaving row.
func (p *Program) pivot(leaving int, reduced float64) {
	m := len(p.need)
	least := p.amounts[leaving] / p.direction[leaving]
	pivot := p.inverse[leaving*m : leaving*m+m]
	divisor := 1 / p.direction[leaving]
	for r := range pivot {
		pivot[r] *= divisor
	}
	p.amounts[leaving] = least
	for i, step := range p.direction {
		if i == leaving || step == 0 {
			continue
		}
		row := p.inverse[i*m : i*m+m]
		for r, entry := range pivot {
			if entry != 0 {
				row[r] -= float64(step * entry)
			}
		}
		p.amounts[i] = max(p.amounts[i]-float64(step*least), 0)
	}
	for r, entry := range pivot {
		p.DualPrices[r] += float64(reduced * entry)
	}
}

// Cost is what all needs cost at the dual prices. Once Optimise has come to its end, it is the cost
// of the cheapest solution.
func (p *Program) Cost() float64 {
	sum := 0.0
	for i, need := range p.need {
		sum += float64(need * p.DualPrices[i])
	}
	return sum
}

// Amounts goes through the columns of the solution, by number, with the amount of each.
func (p *Program) Amounts() iter.Seq2[int, float64] {
	return func(yield func(int, float64) bool) {
		order := make([]int, 0, len(p.basis))
		for i, number := range p.basis {
			if number >= 0 {
				order = append(order, i)
			}
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p.basis[a], p.basis[b]) })
		for _, i := range order {
			if !yield(p.basis[i], p.amounts[i]*p.unit) {
				return
			}
		}
	}
}
