package exact

import (
	"math"

	"github.com/whittle-dev/whittle/shared/planner/lp"
)

// Problem is what nodes are chosen for.
type Problem struct {
	// Kinds are at most MostKinds.
	Kinds []Kind
	Nodes []Node
	// Limits are how much all nodes together may take, at most MostLimits of them.
	Limits []float64
	// Upper is the price of the cheapest nodes known for all units; infinite if none are known.
	Upper float64
	// Start are columns that are known to be good, such as those nodes.
	Start []Column
	// Work is how much work the search may do, in steps.
	Work int
}

// Kind are equal units.
type Kind struct {
	// Need is what a unit needs of each axis.
	Need  []int64
	Count int
	// Excludes are the kinds that no node of this kind may have, by position, and of which it may
	// have at most one unit if it is the kind itself.
	Excludes uint64
}

// Node is a way to buy a node.
type Node struct {
	// Free is what the node has of each axis. It may be negative on axes of which its kinds need
	// nothing.
	Free  []int64
	Price float64
	// Kinds are those that the node may have, by position.
	Kinds uint64
	Uses  []Use
}

// Use is what a node takes of a limit.
type Use struct {
	Limit  int
	Amount float64
}

// Column is a node, by its position, with the units of each kind.
type Column struct {
	Node   int
	Counts []int
}

// Result is what Solve has found.
type Result struct {
	// Columns hold all units, and perhaps more, for less than Problem.Upper. They are nil if none
	// were found.
	Columns []Column
	// Price is that of the columns; Problem.Upper without columns.
	Price float64
	// Lower is a price below which no nodes hold all units. It is that of the cheapest nodes if the
	// search has ended.
	Lower float64
	// Work is the work done.
	Work int
}

const (
	// MostKinds and MostLimits bound the problem.
	MostKinds, MostLimits = 64, 4
	// rounds is the most rounds of column generation.
	rounds = 80
	// fillSteps is the most steps that a search for the best column of one node takes.
	fillSteps, quickSteps = 4000, 60
	// gain is the part of its price by which a column's worth must exceed it to be of use.
	gain = 2e-7
	// mostColumns is the most columns among which is chosen.
	mostColumns = 12_000
	// proven is how close price and bound are, as a part of them, that count as equal.
	proven = 1e-6
)

// allowances are the steps by which the allowance rises, as parts of what is known to be enough.
var allowances = [...]float64{1.0 / 64, 1.0 / 16, 1.0 / 4, 1}

// Solve looks for the cheapest nodes.
func Solve(p *Problem) Result {
	r := Result{Price: p.Upper}
	s, ok := newSolver(p)
	if !ok {
		return r
	}
	s.generate()
	r.Lower = s.lower
	if !isProven(s.lower, p.Upper) {
		s.dive(&r)
		s.fleets(&r)
		s.choose(&r)
	}
	r.Work = s.work
	return r
}

// Essence is what alone decides the cheapest nodes where there are no limits: the kinds, and the
// nodes that no other one dominates, with what their units could use of them.
func (p *Problem) Essence() ([]Kind, []Node) {
	if len(p.Kinds) == 0 {
		return nil, nil
	}
	s := &solver{Problem: p, axes: len(p.Kinds[0].Need)}
	s.readNodes()
	nodes := make([]Node, 0, len(s.nodes))
	for i := range s.nodes {
		n := &s.nodes[i]
		nodes = append(nodes, Node{Free: n.free, Price: p.Nodes[n.at].Price, Kinds: s.mask(n)})
	}
	return p.Kinds, nodes
}

// solver has the problem in the form that the searches need.
type solver struct {
	*Problem
	axes int
	// nodes are those that no other one dominates.
	nodes []node
	// scale is the greatest amount of each axis that a node has.
	scale    []float64
	knapsack *lp.Knapsack
	program  *lp.Program
	columns  []Column
	// prices and limitPrices are the dual prices that prove the bound lower.
	prices, limitPrices []float64
	lower               float64
	fill                filling
	work                int
}

// node is a way to buy a node, with what fills it.
type node struct {
	// at is its position in the problem.
	at int
	// free is what it has, as far as its units could use it.
	free []int64
	bin  lp.Bin
}

// newSolver reports false for a problem without a solution, or one that is too large.
func newSolver(p *Problem) (*solver, bool) {
	if len(p.Kinds) == 0 || len(p.Kinds) > MostKinds || len(p.Limits) > MostLimits {
		return nil, false
	}
	s := &solver{Problem: p, axes: len(p.Kinds[0].Need)}
	s.readNodes()
	for k := range p.Kinds {
		holds := p.Kinds[k].Count == 0
		for i := range s.nodes {
			holds = holds || s.mask(&s.nodes[i])&(1<<k) != 0
		}
		if !holds {
			return nil, false
		}
	}
	s.knapsack = lp.NewKnapsack(s.axes + len(p.Kinds))
	s.fill.init(s)
	return s, true
}

// mask are the kinds of which the node can hold a unit.
func (s *solver) mask(n *node) uint64 {
	mask := uint64(0)
	for _, k := range n.bin.Fits {
		mask |= 1 << k
	}
	return mask
}

// cost is the price of a node at the prices of limits.
func (s *solver) cost(n *node, limitPrices []float64) float64 {
	cost := s.Nodes[n.at].price()
	for _, use := range s.Nodes[n.at].Uses {
		cost += float64(use.Amount * limitPrices[use.Limit])
	}
	return cost
}

// price is never zero, so that values can be divided by it.
func (n *Node) price() float64 { return max(n.Price, 1e-9) }

// worth is what the units of all kinds are worth less what the limits cost: a lower bound if no
// column is worth more than it costs.
func (s *solver) worth(factor float64, prices, limitPrices []float64) float64 {
	sum := 0.0
	for k := range s.Kinds {
		sum += float64(float64(factor*prices[k]) * float64(s.Kinds[k].Count))
	}
	for l, price := range limitPrices {
		sum -= float64(price * s.Limits[l])
	}
	return sum
}

func isProven(lower, upper float64) bool { return upper <= lower*(1+proven) && !math.IsInf(upper, 1) }
