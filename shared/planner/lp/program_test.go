package lp_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/whittle-dev/whittle/shared/planner/lp"
)

// near reports whether both numbers are equal but for the method's perturbation of needs.
func near(a, b float64) bool {
	return math.Abs(a-b) <= 1e-4*max(math.Abs(a), math.Abs(b), 1)
}

// column is one that has an entry in each row.
func column(cost float64, entries ...float64) lp.Column {
	c := lp.Column{Cost: cost, Entries: entries}
	for i := range entries {
		c.Rows = append(c.Rows, int32(i))
	}
	return c
}

func TestProgram(t *testing.T) {
	for _, test := range []struct {
		name    string
		need    []float64
		atMost  []bool
		columns []lp.Column
		cost    float64
		prices  []float64
		amounts map[int]float64
	}{{
		name:    "the cheaper of two columns covers one row",
		need:    []float64{10},
		columns: []lp.Column{column(3, 1), column(4, 2)},
		cost:    20, prices: []float64{2}, amounts: map[int]float64{1: 5},
	}, {
		name:    "two rows mix two columns",
		need:    []float64{8, 6},
		columns: []lp.Column{column(2, 2, 1), column(3, 1, 3), column(9, 1, 1)},
		cost:    9.6, prices: []float64{0.6, 0.8}, amounts: map[int]float64{0: 3.6, 1: 0.8},
	}, {
		name:    "a row in surplus has no price",
		need:    []float64{4, 1},
		columns: []lp.Column{column(1, 1, 1)},
		cost:    4, prices: []float64{1, 0}, amounts: map[int]float64{0: 4},
	}, {
		name:    "an upper bound makes a cheap column scarce",
		need:    []float64{10, 4},
		atMost:  []bool{false, true},
		columns: []lp.Column{column(1, 1, 1), column(3, 1, 0)},
		cost:    22, prices: []float64{3, -2}, amounts: map[int]float64{0: 4, 1: 6},
	}, {
		name:    "an upper bound that leaves something unused has no price",
		need:    []float64{10, 40},
		atMost:  []bool{false, true},
		columns: []lp.Column{column(1, 1, 1), column(3, 1, 0)},
		cost:    10, prices: []float64{1, 0}, amounts: map[int]float64{0: 10},
	}} {
		t.Run(test.name, func(t *testing.T) {
			p := &lp.Program{}
			for i, need := range test.need {
				p.AddRow(need, test.atMost != nil && test.atMost[i])
			}
			// One column joins between two calls, as it does when columns are generated.
			p.Columns = append(p.Columns, test.columns[0])
			p.Start()
			p.Optimise()
			p.Columns = append(p.Columns, test.columns[1:]...)
			p.Optimise()
			if !near(p.Cost(), test.cost) {
				t.Errorf("the cost is %v, want %v", p.Cost(), test.cost)
			}
			for i, price := range test.prices {
				if !near(p.DualPrices[i], price) {
					t.Errorf("row %d has the price %v, want %v", i, p.DualPrices[i], price)
				}
			}
			for number, amount := range p.Amounts() {
				if !near(amount, test.amounts[number]) {
					t.Errorf("column %d has the amount %v, want %v", number, amount, test.amounts[number])
				}
			}
		})
	}
}

// TestProgramDuality checks random programs by the theorems of linear programming. The amounts must
// cover all rows, no column may be worth more than it costs, and both sides must cost the same.
func TestProgramDuality(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 3))
		p := &lp.Program{}
		rows := 1 + random.IntN(12)
		need := make([]float64, rows)
		for i := range need {
			need[i] = 1 + 50*random.Float64()
			p.AddRow(need[i], false)
		}
		for i := range rows + random.IntN(30) {
			entries := make([]float64, rows)
			for r := range entries {
				if r == i || random.IntN(3) == 0 {
					entries[r] = 0.1 + random.Float64()
				}
			}
			p.Columns = append(p.Columns, column(0.1+random.Float64(), entries...))
		}
		p.Start()
		p.Optimise()
		cost, covered := 0.0, make([]float64, rows)
		for number, amount := range p.Amounts() {
			c := &p.Columns[number]
			cost += amount * c.Cost
			for n, r := range c.Rows {
				covered[r] += amount * c.Entries[n]
			}
		}
		if !near(cost, p.Cost()) {
			t.Errorf("seed %d: the amounts cost %v, the needs %v", seed, cost, p.Cost())
		}
		for i := range need {
			if covered[i] < need[i]*(1-1e-6) {
				t.Errorf("seed %d: row %d needs %v and gets %v", seed, i, need[i], covered[i])
			}
		}
		for j := range p.Columns {
			c := &p.Columns[j]
			if worth := lp.Dot(p.DualPrices, c.Entries); worth > c.Cost*(1+1e-6) {
				t.Errorf("seed %d: column %d costs %v and is worth %v", seed, j, c.Cost, worth)
			}
		}
	}
}
