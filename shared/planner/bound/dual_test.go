package bound_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/bound"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
)

// TestDualPrices checks that a pod's dual price is that of its scarce resource, on a type that can
// hold it.
func TestDualPrices(t *testing.T) {
	types := []catalog.InstanceType{stagetest.Type("medium", 4, 16, 0.2, "a"), stagetest.Type("dear", 4, 16, 0.8, "b")}
	state := divided(stagetest.Snapshot(types,
		stagetest.Pod("a", "2", "1Gi"), stagetest.Pod("b", "1", "1Gi"), stagetest.Pod("c", "1", "1Gi", stagetest.InZone("b")),
		stagetest.Pod("d", "1", "1Gi", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"missing": "yes"} }),
	))
	units := unitsFor(state, unitsOf(state))
	dual := bound.Solve(state.Offers, units)
	want := map[string]float64{"a": 0.1, "b": 0.05, "c": 0.2, "d": 0}
	for i, d := range state.Demands {
		name := d.Group.Pod().Name
		if got := dual.Prices[i]; math.Abs(got-want[name]) > 1e-3 {
			t.Errorf("the dual price of pod %s is $%.6f/h, want $%.6f/h", name, got, want[name])
		}
		if (dual.Best[i] < 0) != (name == "d") {
			t.Errorf("pod %s weighs least on the offering %d", name, dual.Best[i])
		}
	}
}

// fillAtRandom fills an empty node of the offering with random units that it can hold. It returns
// what they are worth by their dual prices.
func fillAtRandom(
	offers *offering.Index, number int, units []bound.Units, prices []float64, random *rand.Rand,
) float64 {
	free := append([]int64(nil), offers.PoolTypeOf(number).Free...)
	slots := map[int]float64{}
	fits := func(u *bound.Units) bool {
		for i, amount := range u.Need {
			if amount > 0 && amount > free[i] {
				return false
			}
		}
		for _, s := range u.Slots {
			if slots[s.Limit]+s.Share > 1+1e-12 {
				return false
			}
		}
		return u.Offerings.Has(number)
	}
	value := 0.0
	for range 60 {
		n := random.IntN(len(units))
		u := &units[n]
		// There may be any number of equal units, because dual prices hold for each content.
		for more := 1 + random.IntN(4); more > 0 && fits(u); more-- {
			for i, amount := range u.Need {
				free[i] -= amount
			}
			for _, s := range u.Slots {
				slots[s.Limit] += s.Share
			}
			value += prices[n]
		}
	}
	return value
}

// manySizes is a snapshot with more sizes of pods than the program has buckets. Some pods can use
// the types of one zone only.
func manySizes(seed uint64) *plan.Snapshot {
	random := rand.New(rand.NewPCG(seed, 6))
	var types []catalog.InstanceType
	for i := range 12 {
		cores, gib := int64(2+random.IntN(30)), int64(4+random.IntN(120))
		price := (0.03*float64(cores) + 0.004*float64(gib)) * (0.8 + 0.4*random.Float64())
		types = append(types, stagetest.Type(fmt.Sprint("type-", i), cores, gib, price, string("ab"[i%2])))
	}
	s := stagetest.Snapshot(types)
	for i := range 300 {
		cpu, memory := fmt.Sprintf("%dm", 100+random.IntN(8000)), fmt.Sprintf("%dMi", 100+random.IntN(32000))
		pod := stagetest.Pod(fmt.Sprint("pod-", i), cpu, memory)
		if random.IntN(3) == 0 {
			stagetest.InZone("a")(&pod)
		}
		s.Pods = append(s.Pods, pod)
	}
	return s
}

// TestNoContentIsWorthMoreThanItsNode fills nodes in many ways. The dual prices of what a node
// holds add up to at most its price, and its reservation price.
func TestNoContentIsWorthMoreThanItsNode(t *testing.T) {
	t.Run("random clusters", func(t *testing.T) {
		contents, full := 0, 0
		for seed := range uint64(150) {
			more, of := checkContents(t, plantest.Random(seed), seed)
			contents, full = contents+more, full+of
		}
		if full < contents/20 {
			t.Errorf("%d of %d contents are worth 90%% of their node: the test is too easy", full, contents)
		}
	})
	t.Run("many sizes", func(t *testing.T) {
		contents, full := 0, 0
		for seed := range uint64(10) {
			more, of := checkContents(t, manySizes(seed), seed)
			contents, full = contents+more, full+of
		}
		if full < contents/20 {
			t.Errorf("%d of %d contents are worth 90%% of their node: the test is too easy", full, contents)
		}
	})
}

// checkContents fills nodes with the pods of a snapshot. It returns how many contents it checked,
// and how many of them are worth 90 % of their node.
func checkContents(t *testing.T, s *plan.Snapshot, seed uint64) (contents, full int) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 5))
	state := divided(s)
	units := unitsFor(state, unitsOf(state))
	if len(units) == 0 || len(state.Offers.Offerings) == 0 {
		return 0, 0
	}
	dual := bound.Solve(state.Offers, units)
	for n, price := range dual.Prices {
		if price < 0 || math.IsNaN(price) || math.IsInf(price, 0) {
			t.Fatalf("seed %d: dual price %v of units %d", seed, price, n)
		}
	}
	for range 200 {
		number := random.IntN(len(state.Offers.Offerings))
		o := &state.Offers.Offerings[number]
		price := o.Price
		if o.Stock >= 0 {
			price += dual.StockPrices[o.Stock]
		}
		value := fillAtRandom(state.Offers, number, units, dual.Prices, random)
		// A price of zero counts as a billionth of a dollar.
		if value > price*(1+1e-9)+2e-9 {
			t.Fatalf("seed %d: offering %d costs $%.9f/h, and holds units worth $%.9f/h", seed, number, price, value)
		}
		if contents++; value > 0.9*price {
			full++
		}
	}
	return contents, full
}

// TestBoundIsClose compares the bound with the price of a good plan, for pods of many sizes.
func TestBoundIsClose(t *testing.T) {
	for seed := range uint64(10) {
		s := manySizes(seed)
		solved := planner.Solve(s)
		part := solved.LowerBoundPerHour / solved.PricePerHour
		t.Logf("seed %d: the bound is %.4f of the price", seed, part)
		if part < 0.88 || part > 1 {
			t.Errorf("seed %d: the bound is $%.4f/h, and the plan costs $%.4f/h",
				seed, solved.LowerBoundPerHour, solved.PricePerHour)
		}
	}
}
