package lp_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/whittle-dev/whittle/shared/planner/lp"
)

// bin is one that all the items fit into.
func bin(free []float64, needs ...[]float64) *lp.Bin {
	b := &lp.Bin{Free: free}
	for i, need := range needs {
		b.Fits = append(b.Fits, i)
		b.Needs = append(b.Needs, need...)
	}
	return b
}

func TestKnapsack(t *testing.T) {
	for _, test := range []struct {
		name    string
		bin     *lp.Bin
		prices  []float64
		value   float64
		weights []float64
		rows    []int32
	}{{
		name: "the densest item fills one axis",
		bin:  bin([]float64{1}, []float64{0.5}, []float64{0.2}), prices: []float64{2, 1},
		value: 5, weights: []float64{5}, rows: []int32{1},
	}, {
		name: "two items share two axes",
		bin:  bin([]float64{1, 1}, []float64{0.5, 0.1}, []float64{0.1, 0.5}), prices: []float64{1, 1},
		value: 10.0 / 3, weights: []float64{5.0 / 3, 5.0 / 3}, rows: []int32{0, 1},
	}, {
		name: "an axis that stays free has no weight",
		bin:  bin([]float64{1, 1}, []float64{0.5, 0.1}), prices: []float64{1},
		value: 2, weights: []float64{2, 0}, rows: []int32{0},
	}, {
		name: "items without a price stay out",
		bin:  bin([]float64{1}, []float64{0.5}), prices: []float64{0},
		value: 0, weights: []float64{0},
	}} {
		t.Run(test.name, func(t *testing.T) {
			k := lp.NewKnapsack(2)
			k.Solve(test.bin, test.prices)
			if !near(test.bin.Value, test.value) {
				t.Errorf("the filling is worth %v, want %v", test.bin.Value, test.value)
			}
			if !slices.EqualFunc(test.bin.Weights, test.weights, near) {
				t.Errorf("the weights are %v, want %v", test.bin.Weights, test.weights)
			}
			rows, _ := k.Filling(test.bin)
			slices.Sort(rows)
			if !slices.Equal(rows, test.rows) {
				t.Errorf("the filling has items %v, want %v", rows, test.rows)
			}
		})
	}
}

// TestKnapsackDuality checks random bins. The filling must fit and be worth the bin's value, and no
// item may weigh less than its price.
func TestKnapsackDuality(t *testing.T) {
	k := lp.NewKnapsack(5)
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 4))
		width := 1 + random.IntN(5)
		free := make([]float64, width)
		for a := range free {
			free[a] = 0.5 + random.Float64()
		}
		needs := make([][]float64, 1+random.IntN(20))
		prices := make([]float64, len(needs))
		for i := range needs {
			for range width {
				needs[i] = append(needs[i], 0.01+0.4*random.Float64())
			}
			prices[i] = random.Float64()
		}
		b := bin(free, needs...)
		k.Solve(b, prices)
		used, value := make([]float64, width), 0.0
		rows, entries := k.Filling(b)
		for n, i := range rows {
			value += prices[i] * entries[n]
			for a := range used {
				used[a] += needs[i][a] * entries[n]
			}
		}
		if !near(value, b.Value) || !near(k.ValueAt(b, prices), b.Value) {
			t.Errorf("seed %d: the filling is worth %v, the bin %v", seed, value, b.Value)
		}
		for a := range used {
			if used[a] > free[a]*(1+1e-6) {
				t.Errorf("seed %d: the filling takes %v of axis %d, which has %v", seed, used[a], a, free[a])
			}
		}
		for i := range needs {
			if weight := lp.Dot(b.Weights, needs[i]); weight < prices[i]*(1-1e-6) {
				t.Errorf("seed %d: item %d weighs %v, its price is %v", seed, i, weight, prices[i])
			}
		}
		if !k.NoGain(b, prices, b.Value, 1e-6) {
			t.Errorf("seed %d: the weights of the best filling do not prove that it is the best", seed)
		}
		if k.NoGain(b, prices, b.Value*0.9, 1e-6) {
			t.Errorf("seed %d: the weights prove a bound below the best filling", seed)
		}
	}
}
