package exact_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/whittle-dev/whittle/shared/planner/exact"
)

const work = 200_000

// random is a problem that trying everything can solve: up to three kinds of up to three units, and
// up to four nodes.
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
	b := &trying{Problem: p, used: make([]float64, len(p.Limits)), best: math.Inf(1)}
	for k := range p.Kinds {
		b.left = append(b.left, p.Kinds[k].Count)
	}
	b.buy(0)
	return b.best
}

// trying tries all nodes with all units.
type trying struct {
	*exact.Problem
	left []int
	used []float64
	best float64
}

// buy buys a further node in each way.
func (b *trying) buy(price float64) {
	if price >= b.best {
		return
	}
	first := slices.IndexFunc(b.left, func(count int) bool { return count > 0 })
	if first < 0 {
		b.best = price
		return
	}
	for i := range b.Nodes {
		n := &b.Nodes[i]
		fits := n.Kinds&(1<<first) != 0
		for _, use := range n.Uses {
			b.used[use.Limit] += use.Amount
			fits = fits && b.used[use.Limit] <= b.Limits[use.Limit]
		}
		if fits {
			b.place(n, 0, slices.Clone(n.Free), make([]int, len(b.Kinds)), price+n.Price)
		}
		for _, use := range n.Uses {
			b.used[use.Limit] -= use.Amount
		}
	}
}

// place places units of the kinds from one on, in each way, and buys further nodes then.
func (b *trying) place(n *exact.Node, kind int, free []int64, counts []int, price float64) {
	if kind == len(b.Kinds) {
		if slices.Max(counts) > 0 {
			b.buy(price)
		}
		return
	}
	most := b.left[kind]
	for count := 0; count <= most && (count == 0 || allowed(b.Problem, n, kind, free, counts, count)); count++ {
		counts[kind], b.left[kind] = count, most-count
		after := slices.Clone(free)
		for a, need := range b.Kinds[kind].Need {
			after[a] -= need * int64(count)
		}
		b.place(n, kind+1, after, counts, price)
		counts[kind], b.left[kind] = 0, most
	}
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
		// Nodes that cost as much as known ones are no result, and the bound says that these are
		// the cheapest.
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
		free, counts := slices.Clone(n.Free), make([]int, len(p.Kinds))
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

// TestWorkIsBounded gives a problem of many kinds little work. It must end soon, with a bound that
// holds.
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
