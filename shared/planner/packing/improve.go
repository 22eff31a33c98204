package packing

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/placement"
)

const (
	// improveLeast and improveMost bound the work that improving may do. Work counts items looked at;
	// a present machine looks at about 60 million in a second. In between, improving may do a quarter
	// of the work that packing took, or improvePerUnit for each unit.
	improveLeast, improveMost, improvePerUnit = 20_000, 8_000_000, 15
	// improveFew replaces improveLeast where there are few demands.
	improveFew = 1_500_000
	// improveEnough is the ratio of all units' value to all nodes' price at which improving stops.
	// Better plans are rare there.
	improveEnough = 0.985
	// improveNodes is how many nodes a try packs anew at most, improveUnits about how many units.
	improveNodes, improveUnits = 6, 400
	// failuresLeast and failuresPerNode say after how many failed tries in a row improving stops.
	failuresLeast, failuresPerNode = 60, 30
	// improveTryWork and improveDemandWork are the work of a try beside the items that it looks at, in
	// all and for each demand.
	improveTryWork, improveDemandWork = 100, 12
	// minimumGain is the least saving worth a change, in US dollars an hour. Rounding errors are below
	// it.
	minimumGain = 1e-7
)

// noises are the variation's noise, try by try.
var noises = [...]float64{0, 0.1, 0.3, 0.05, 0.6}

// improvement packs nodes anew as long as that saves something.
type improvement struct {
	*packer
	// ranked are the nodes, the worst used first.
	ranked []rankedNode
	// serial numbers the nodes in the order in which they were planned.
	serial int
}

// rankedNode is a node with the ratio of its value to its price.
type rankedNode struct {
	node   *placement.PlannedNode
	ratio  float64
	serial int
}

func compareRanked(a, b rankedNode) int {
	return cmp.Or(cmp.Compare(a.ratio, b.ratio), cmp.Compare(a.serial, b.serial))
}

// repacking is memory for packing some nodes anew.
type repacking struct {
	queue    queue
	planned  []*placement.PlannedNode
	removed  []placement.Fill
	demands  []int32
	leftover []int
}

// improveBudget is the work that improving the nodes from position first on may do.
func (p *packer) improveBudget(first, least int) int {
	units := 0
	for _, n := range p.nodes[first:] {
		for _, f := range n.Fills {
			units += f.Count
		}
	}
	return min(max(least, improvePerUnit*units), improveMost)
}

// improve takes some of the nodes from position first on apart, packs their units anew, and keeps
// the result if it is cheaper. It does so again until the budget of work is used up. It mostly
// chooses nodes with a low ratio, and varies the order of units and the choice of offerings.
func (p *packer) improve(first, budget int) {
	budget += p.effort.work
	p.variation.random = rand.New(rand.NewPCG(1, 2))
	defer func() { p.variation.random = nil }()
	m := &improvement{packer: p}
	for _, n := range p.nodes[first:] {
		m.ranked = append(m.ranked, m.rank(n))
	}
	slices.SortFunc(m.ranked, compareRanked)
	m.repackWorst(budget)
	m.merge()
	slices.SortFunc(m.ranked, func(a, b rankedNode) int { return cmp.Compare(a.serial, b.serial) })
	p.nodes = p.nodes[:first]
	for _, r := range m.ranked {
		p.nodes = append(p.nodes, r.node)
	}
}

// rank gives a node the next serial number.
func (m *improvement) rank(n *placement.PlannedNode) rankedNode {
	m.serial++
	return rankedNode{node: n, ratio: m.valueOf(n) / m.state.Offers.Cost(n.Offering), serial: m.serial}
}

// replace puts planned nodes in the place of the chosen ones.
func (m *improvement) replace(chosen []int, planned []*placement.PlannedNode) {
	slices.Sort(chosen)
	for _, at := range slices.Backward(chosen) {
		m.ranked = slices.Delete(m.ranked, at, at+1)
	}
	for _, n := range planned {
		r := m.rank(n)
		at, _ := slices.BinarySearchFunc(m.ranked, r, compareRanked)
		m.ranked = slices.Insert(m.ranked, at, r)
	}
}

// repackWorst tries sets of nodes until the work exceeds the budget, too many tries have failed, or
// the nodes are good enough.
func (m *improvement) repackWorst(budget int) {
	value, cost := 0.0, 0.0
	for _, r := range m.ranked {
		value, cost = value+m.valueOf(r.node), cost+m.state.Offers.Cost(r.node.Offering)
	}
	var chosen []int
	failures := 0
	for try := 0; len(m.ranked) > 0 && m.effort.work < budget && value < improveEnough*cost; try++ {
		if failures >= failuresLeast+failuresPerNode*len(m.ranked) {
			return
		}
		chosen = m.draw(chosen[:0], 1+try%improveNodes)
		m.effort.work += improveTryWork
		m.variation.noise = noises[try%len(noises)]
		planned := m.repack(chosen, order(try%int(orderCount)))
		if planned == nil {
			failures++
			continue
		}
		failures = 0
		for _, at := range chosen {
			cost -= m.state.Offers.Cost(m.ranked[at].node.Offering)
		}
		for _, n := range planned {
			cost += m.state.Offers.Cost(n.Offering)
		}
		m.replace(chosen, planned)
	}
}

// draw chooses up to so many nodes at random, most of them with a low ratio.
func (m *improvement) draw(chosen []int, take int) []int {
	units := 0
	for draw := 0; len(chosen) < take && draw < 3*take; draw++ {
		x := m.variation.random.Float64()
		if draw%3 < 2 {
			x *= x * x
		}
		at := int(x * float64(len(m.ranked)))
		if slices.Contains(chosen, at) {
			continue
		}
		for _, f := range m.ranked[at].node.Fills {
			units += f.Count
		}
		if units > improveUnits && len(chosen) > 1 {
			break
		}
		chosen = append(chosen, at)
	}
	return chosen
}

// repack packs the units of the chosen nodes anew. It returns the new nodes if they are cheaper and
// leave no unit. Otherwise it restores everything and returns nil. The result is memory that the
// next call uses again.
func (m *improvement) repack(chosen []int, how order) []*placement.PlannedNode {
	r := &m.repacking
	before := m.takeApart(chosen)
	kept := m.nodes
	m.nodes = r.planned[:0]
	m.fillQueue(&r.queue, r.demands)
	m.pack(&r.queue, how)
	r.planned, m.nodes = m.nodes, kept
	if m.learn != nil {
		m.learn(r.planned)
	}
	better := m.costOf(r.planned) < before-minimumGain
	for n, i := range r.demands {
		better = better && m.left[i] == 0
		m.left[i] = r.leftover[n]
	}
	if better {
		return r.planned
	}
	for _, n := range r.planned {
		m.Take(n.Offering, -1)
		m.memory.spare = append(m.memory.spare, n)
	}
	for _, at := range chosen {
		m.Take(m.ranked[at].node.Offering, 1)
	}
	return nil
}

// takeApart makes just the units of the chosen nodes wait, and returns what the nodes cost. Units
// that had no place before do not take part.
func (m *improvement) takeApart(chosen []int) float64 {
	r := &m.repacking
	cost := 0.0
	r.removed, r.demands, r.leftover = r.removed[:0], r.demands[:0], r.leftover[:0]
	for _, at := range chosen {
		n := m.ranked[at].node
		cost += m.state.Offers.Cost(n.Offering)
		m.Take(n.Offering, -1)
		for _, f := range n.Fills {
			r.removed = append(r.removed, f)
			r.demands = append(r.demands, int32(f.Demand))
		}
	}
	slices.Sort(r.demands)
	r.demands = slices.Compact(r.demands)
	m.effort.work += improveDemandWork * len(r.demands)
	for _, i := range r.demands {
		r.leftover = append(r.leftover, m.left[i])
		m.left[i] = 0
	}
	for _, f := range r.removed {
		m.left[f.Demand] += f.Count
	}
	return cost
}
