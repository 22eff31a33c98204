package packing

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/placement"
)

const (
	// improveLeast and improveMost bound the work that improving may do, counted in items looked at,
	// of which a machine of today looks at some 60 million a second. Counting work instead of time
	// keeps the plan the same on every machine. In between a quarter of the work that the first
	// packing took is allowed, or improveUnit for each unit.
	improveLeast, improveMost, improveUnit = 20_000, 8_000_000, 15
	// improveFew is the least where there are few demands, which are packed in no time.
	improveFew = 1_500_000
	// improveEnough is what all that is on the nodes has to be worth, for what they cost, for no
	// improvement to be looked for: better plans are few and far between.
	improveEnough = 0.985
	// improveNodes is how many nodes are planned anew at most in one try, improveUnits about how many
	// units on them.
	improveNodes, improveUnits = 6, 400
	// improveCall and improveDemand are the work of a try besides looking at items, in all and for
	// each demand.
	improveCall, improveDemand = 100, 12
	// minimumGain is the saving in US dollars an hour below which a change is not worth making; it
	// also keeps rounding errors from counting as gains.
	minimumGain = 1e-7
)

// noises are how far tries stray from what looks best.
var noises = [...]float64{0, 0.1, 0.3, 0.05, 0.6}

// rankedNode is a node with what is on it for its cost. Nodes are ranked from the worst used.
type rankedNode struct {
	node   *placement.PlannedNode
	use    float64
	serial int
}

func compareRanked(a, b rankedNode) int {
	return cmp.Or(cmp.Compare(a.use, b.use), cmp.Compare(a.serial, b.serial))
}

// improveBudget is the work that improving the nodes planned since first may do: so much, or
// improveUnit for each unit.
func (k *packer) improveBudget(first, least int) int {
	units := 0
	for _, n := range k.nodes[first:] {
		for _, f := range n.Fills {
			units += f.Count
		}
	}
	return min(max(least, improveUnit*units), improveMost)
}

// improve takes a few of the nodes planned since first apart and plans their units anew, in other
// orders and with other offerings: mostly nodes that are worth little for what they cost. What is
// cheaper stays.
func (k *packer) improve(first, budget int) {
	budget += k.work
	random := rand.New(rand.NewPCG(1, 2))
	k.random = random
	defer func() { k.random = nil }()
	serial := 0
	rank := func(n *placement.PlannedNode) rankedNode {
		serial++
		return rankedNode{node: n, use: k.valueOf(n) / k.p.Offers.Cost(n.Offering), serial: serial}
	}
	var ranked []rankedNode
	for _, n := range k.nodes[first:] {
		ranked = append(ranked, rank(n))
	}
	slices.SortFunc(ranked, compareRanked)
	replace := func(chosen []int, made []*placement.PlannedNode) {
		slices.Sort(chosen)
		for _, at := range slices.Backward(chosen) {
			ranked = slices.Delete(ranked, at, at+1)
		}
		for _, n := range made {
			r := rank(n)
			at, _ := slices.BinarySearchFunc(ranked, r, compareRanked)
			ranked = slices.Insert(ranked, at, r)
		}
	}
	mergeAll := func() {
		for before := -1; len(ranked) > 0 && len(ranked) <= mergeNodes && before != serial; {
			before = serial
			k.mergeAll(ranked, replace)
		}
	}
	var chosen []int
	inVain := 0
	worth, cost := 0.0, 0.0
	for _, r := range ranked {
		worth, cost = worth+k.valueOf(r.node), cost+k.p.Offers.Cost(r.node.Offering)
	}
	for try := 0; k.work < budget && len(ranked) > 0 && inVain < 60+30*len(ranked) && worth < improveEnough*cost; try++ {
		chosen = k.draw(random, ranked, chosen[:0], 1+try%improveNodes)
		k.work += improveCall
		k.noise = noises[try%len(noises)]
		made := k.repack(ranked, chosen, order(try%int(orderCount)))
		if inVain++; made == nil {
			continue
		}
		inVain = 0
		for _, at := range chosen {
			cost -= k.p.Offers.Cost(ranked[at].node.Offering)
		}
		for _, n := range made {
			cost += k.p.Offers.Cost(n.Offering)
		}
		replace(chosen, made)
	}
	mergeAll()
	slices.SortFunc(ranked, func(a, b rankedNode) int { return cmp.Compare(a.serial, b.serial) })
	k.nodes = k.nodes[:first]
	for _, r := range ranked {
		k.nodes = append(k.nodes, r.node)
	}
}

// draw chooses some of the nodes, most of them from the badly used end.
func (k *packer) draw(random *rand.Rand, ranked []rankedNode, chosen []int, take int) []int {
	units := 0
	for draw := 0; len(chosen) < take && draw < 3*take; draw++ {
		x := random.Float64()
		if draw%3 < 2 {
			x *= x * x
		}
		at := int(x * float64(len(ranked)))
		if slices.Contains(chosen, at) {
			continue
		}
		for _, f := range ranked[at].node.Fills {
			units += f.Count
		}
		if units > improveUnits && len(chosen) > 1 {
			break
		}
		chosen = append(chosen, at)
	}
	return chosen
}

// repack plans the units of the chosen nodes anew, and gives the new nodes if they are cheaper. If
// not, all is as it was and it gives none.
func (k *packer) repack(ranked []rankedNode, chosen []int, how order) []*placement.PlannedNode {
	p := k.p
	cost := 0.0
	k.removed = k.removed[:0]
	k.demands = k.demands[:0]
	for _, at := range chosen {
		n := ranked[at].node
		cost += p.Offers.Cost(n.Offering)
		k.Take(n.Offering, -1)
		for _, f := range n.Fills {
			k.removed = append(k.removed, f)
			k.demands = append(k.demands, int32(f.Demand))
		}
	}
	slices.Sort(k.demands)
	k.demands = slices.Compact(k.demands)
	k.work += improveDemand * len(k.demands)
	k.waited = k.waited[:0]
	for _, i := range k.demands {
		k.waited = append(k.waited, k.left[i])
		// Units that had no place before are none of this try's.
		k.left[i] = 0
	}
	for _, f := range k.removed {
		k.left[f.Demand] += f.Count
	}
	kept := k.nodes
	k.nodes = k.made[:0]
	k.fillQueue(&k.queue, k.demands)
	k.pack(&k.queue, how)
	k.made = k.nodes
	k.nodes = kept
	now := 0.0
	for _, n := range k.made {
		now += p.Offers.Cost(n.Offering)
	}
	if k.learn != nil {
		k.learn(k.made)
	}
	better := now < cost-minimumGain
	for n, i := range k.demands {
		better = better && k.left[i] == 0
		k.left[i] = k.waited[n]
	}
	if better {
		return k.made
	}
	for _, n := range k.made {
		k.Take(n.Offering, -1)
		k.spare = append(k.spare, n)
	}
	for _, at := range chosen {
		k.Take(ranked[at].node.Offering, 1)
	}
	return nil
}
