package exact_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/whittle-dev/whittle/shared/planner/exact"
)

const work = 200_000

// random is a problem that trying everything can solve: up to three kinds of up to three units, and up to four nodes.
func random(r *rand.Rand) *exact.Problem {
	p := &exact.Problem{Upper: math.Inf(1), Work: work}
	kinds := 1 + r.IntN(3)
	for range kinds {
		p.Kinds = append(p.Kinds, exact.Kind{Need: []int64{r.Int64N(5), 1 + r.Int64N(4)}, Count: 1 + r.IntN(3)})
	}
	if r.IntN(3) == 0 {
		a, b := r.IntN(kinds), r.IntN(kinds)
		p.Kinds[a].Excludes |= 1 << b
		p.Kinds[b].Excludes |= 1 << a
	}
	limits := r.IntN(3)
	for range limits {
		p.Limits = append(p.Limits, float64(2+r.IntN(8)))
	}
	for range 2 + r.IntN(3) {
		n := exact.Node{Free: []int64{r.Int64N(11) - 1, 2 + r.Int64N(8)}, Price: float64(1+r.IntN(40)) / 8}
		n.Kinds = r.Uint64N(1 << kinds)
		for l := range limits {
			if r.IntN(2) == 0 {
				n.Uses = append(n.Uses, exact.Use{Limit: l, Amount: float64(1 + r.IntN(4))})
			}
		}
		p.Nodes = append(p.Nodes, n)
	}
	return p
}

// cheapest is the price of the cheapest nodes by trying everything; infinite without a solution.
func cheapest(p *exact.Problem) float64 {
	left := make([]int, len(p.Kinds))
	for k := range p.Kinds {
		left[k] = p.Kinds[k].Count
	}
	used := make([]float64, len(p.Limits))
	best := math.Inf(1)
	var buy func(price float64, nodes int)
	var place func(n *exact.Node, kind int, free []int64, counts []int, price float64, nodes int)
	buy = func(price float64, nodes int) {
		if price >= best {
			return
		}
		first := -1
		for k, count := range left {
			if count > 0 {
				first = k
			}
		}
		if first < 0 {
			best = price
			return
		}
		for i := range p.Nodes {
			n := &p.Nodes[i]
			if n.Kinds&(1<<first) == 0 {
				continue
			}
			fits := true
			for _, use := range n.Uses {
				used[use.Limit] += use.Amount
				fits = fits && used[use.Limit] <= p.Limits[use.Limit]
			}
			if fits {
				place(n, 0, append([]int64(nil), n.Free...), make([]int, len(p.Kinds)), price+n.Price, nodes+1)
			}
			for _, use := range n.Uses {
				used[use.Limit] -= use.Amount
			}
		}
	}
	place = func(n *exact.Node, kind int, free []int64, counts []int, price float64, nodes int) {
		if kind == len(p.Kinds) {
			any := false
			for _, count := range counts {
				any = any || count > 0
			}
			if any {
				buy(price, nodes)
			}
			return
		}
		for count := 0; count <= left[kind]; count++ {
			if count > 0 && !allowed(p, n, kind, free, counts, count) {
				break
			}
			counts[kind] = count
			left[kind] -= count
			after := append([]int64(nil), free...)
			for a, need := range p.Kinds[kind].Need {
				after[a] -= need * int64(count)
			}
			place(n, kind+1, after, counts, price, nodes)
			left[kind] += count
			counts[kind] = 0
		}
	}
	buy(0, 0)
	return best
}

func allowed(p *exact.Problem, n *exact.Node, kind int, free []int64, counts []int, count int) bool {
	k := &p.Kinds[kind]
	if n.Kinds&(1<<kind) == 0 || k.Excludes&(1<<kind) != 0 && count > 1 {
		return false
	}
	for other := range counts {
		if other != kind && counts[other] > 0 && k.Excludes&(1<<other) != 0 {
			return false
		}
	}
	for a, need := range k.Need {
		if need > 0 && need*int64(count) > free[a] {
			return false
		}
	}
	return true
}

// TestCheapest compares the result with the cheapest nodes by trying everything.
func TestCheapest(t *testing.T) {
	solved, ended := 0, 0
	for seed := range uint64(3000) {
		p := random(rand.New(rand.NewPCG(seed, 1)))
		want, got := cheapest(p), exact.Solve(p)
		if got.Lower > want*(1+1e-6) {
			t.Errorf("seed %d: the bound is %v, and nodes cost %v", seed, got.Lower, want)
		}
		if got.Columns != nil {
			checkColumns(t, seed, p, &got)
			if got.Price < want*(1-1e-6) {
				t.Errorf("seed %d: nodes for %v, but the cheapest cost %v", seed, got.Price, want)
			}
		}
		if math.IsInf(want, 1) {
			continue
		}
		solved++
		if got.Price <= want*(1+1e-6) && got.Lower >= want*(1-1e-5) {
			ended++
		}
		// Nodes that cost as much as known ones are no result, and the bound says that these are the cheapest.
		p.Upper = want
		if got := exact.Solve(p); got.Columns != nil || got.Lower > want*(1+1e-6) {
			t.Errorf("seed %d: with nodes of %v known, it is %+v", seed, want, got)
		}
	}
	if solved < 1000 || ended*100 < solved*97 {
		t.Errorf("of %d problems with a solution %d ended", solved, ended)
	}
}

// checkColumns checks that the columns hold all units within the limits, for their price.
func checkColumns(t *testing.T, seed uint64, p *exact.Problem, r *exact.Result) {
	t.Helper()
	held, used, price := make([]int, len(p.Kinds)), make([]float64, len(p.Limits)), 0.0
	for _, c := range r.Columns {
		n := &p.Nodes[c.Node]
		price += n.Price
		free, counts := append([]int64(nil), n.Free...), make([]int, len(p.Kinds))
		for k, count := range c.Counts {
			if count > 0 && !allowed(p, n, k, free, counts, count) {
				t.Errorf("seed %d: a node cannot have %d units of kind %d beside %v", seed, count, k, counts)
			}
			counts[k] = count
			held[k] += count
			for a, need := range p.Kinds[k].Need {
				free[a] -= need * int64(count)
			}
		}
		for _, use := range n.Uses {
			used[use.Limit] += use.Amount
		}
	}
	for k := range p.Kinds {
		if held[k] < p.Kinds[k].Count {
			t.Errorf("seed %d: the nodes hold %d of %d units of kind %d", seed, held[k], p.Kinds[k].Count, k)
		}
	}
	for l := range p.Limits {
		if used[l] > p.Limits[l] {
			t.Errorf("seed %d: the nodes take %v of limit %d, which is %v", seed, used[l], l, p.Limits[l])
		}
	}
	if math.Abs(price-r.Price) > 1e-9 {
		t.Errorf("seed %d: the nodes cost %v and not %v", seed, price, r.Price)
	}
}

// TestWorkIsBounded gives a problem of many kinds little work. It must end soon, with a bound that holds.
func TestWorkIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := &exact.Problem{Upper: math.Inf(1)}
	for range 24 {
		p.Kinds = append(p.Kinds, exact.Kind{Need: []int64{10 + r.Int64N(90), 10 + r.Int64N(90)}, Count: 4})
	}
	for size := range int64(12) {
		p.Nodes = append(p.Nodes, exact.Node{
			Free: []int64{100 + 40*size, 110 + 40*size}, Price: 1 + 0.39*float64(size), Kinds: 1<<24 - 1,
		})
	}
	for _, work := range []int{0, 100, 20_000, 200_000} {
		p.Work = work
		first := exact.Solve(p)
		// Each node is filled once in a round, and each round may go beyond the work once.
		if first.Work > 2*work+200_000 {
			t.Errorf("the search did %d of %d work", first.Work, work)
		}
		if first.Price < first.Lower*(1-1e-6) {
			t.Errorf("nodes cost %v, and the bound is %v", first.Price, first.Lower)
		}
		if second := exact.Solve(p); !reflect.DeepEqual(first, second) {
			t.Errorf("a second search found %v, and the first %v", second, first)
		}
	}
}
