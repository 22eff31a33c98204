package packing

import (
	"math"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/bound"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/exact"
	"github.com/whittle-dev/whittle/shared/planner/placement"
)

// wholeGap is the part of a price by which rounding may exceed its bound.
const wholeGap = 1e-6

// improveWhole is the work that improving may do before the search for whole nodes.
const improveWhole = 40_000

// whole looks for the cheapest nodes for few units with package exact.
type whole struct {
	*packer
	problem *bound.Whole
	demands []int32
	// first is the position of the first node that the search may replace.
	first int
	// price is that of these nodes, and waits says that they do not hold all units.
	price float64
	waits bool
}

// packWhole packs the demands, if they are few: first as packBest does, and then as package exact
// finds cheaper. It reports false and does nothing for other demands. searched reports whether the
// search could decide.
func (p *packer) packWhole(demands []int32) (packs, searched bool) {
	if p.state.SkipWhole || p.state.Work.Snapshot.SkipImprovement || !p.suitWhole(demands) {
		return false, false
	}
	first := len(p.nodes)
	p.packBest(demands)
	p.improve(first, improveWhole)
	return true, p.solveWhole(demands, first)
}

// suitWhole reports whether the demands are few, and none decides the value of a pool's open label.
func (p *packer) suitWhole(demands []int32) bool {
	units := 0
	for _, i := range demands {
		if p.state.Demands[i].Feasibility.Resolves != nil {
			return false
		}
		units += p.left[i]
	}
	return units <= bound.MostWholeUnits
}

// solveWhole replaces the nodes from position first on by cheaper ones, if the search finds any. It
// reports false if the problem is too large, or if the problem lacks a constraint that the nodes
// found do not keep.
func (p *packer) solveWhole(demands []int32, first int) bool {
	w := &whole{packer: p, first: first}
	w.waits = slices.ContainsFunc(demands, func(i int32) bool { return p.left[i] > 0 })
	before := slices.Clone(p.nodes[first:])
	w.takeApart(before)
	if !w.read(demands) {
		w.restore(before)
		return false
	}
	if w.waits {
		w.problem.Upper = math.Inf(1)
	} else {
		w.problem.Upper = w.price
		w.start(before)
	}
	result := exact.Solve(&w.problem.Problem)
	p.effort.work += result.Work
	p.candidates.dual.Note(w.problem, result.Lower)
	// Where the cheapest nodes still cost more than the plan's bound, limits or other stages have
	// decided that.
	p.state.Whole = len(w.problem.Limits) == 0 && result.Lower < result.Price*(1-wholeGap)
	planned := w.plan(result.Columns)
	if planned == nil || !w.waits && p.costOf(planned) >= p.costOf(before)-minimumGain {
		w.drop(planned)
		w.restore(before)
		return planned != nil || result.Columns == nil
	}
	p.nodes = append(p.nodes, planned...)
	p.improve(first, 0)
	return true
}

// takeApart makes the units of the nodes wait, which are those from position first on.
func (w *whole) takeApart(nodes []*placement.PlannedNode) {
	for _, n := range nodes {
		w.price += w.state.Offers.Offerings[n.Offering].Price
	}
	w.drop(nodes)
	w.nodes = w.nodes[:w.first]
}

// drop takes back the units of the nodes.
func (w *whole) drop(nodes []*placement.PlannedNode) {
	for _, n := range nodes {
		w.returnUnits(n)
		w.Take(n.Offering, -1)
	}
}

// restore takes the nodes into the plan again.
func (w *whole) restore(nodes []*placement.PlannedNode) {
	for _, n := range nodes {
		w.add(n)
	}
}

// read fills in the problem of the waiting units. It reports false if it is too large.
func (w *whole) read(demands []int32) bool {
	w.demands = slices.DeleteFunc(slices.Clone(demands), func(i int32) bool { return w.left[i] == 0 })
	slices.Sort(w.demands)
	list := make([]*placement.Demand, len(w.demands))
	for n, i := range w.demands {
		list[n] = w.state.Demands[i]
	}
	units := w.unitsOf(w.demands)
	w.problem = bound.NewWhole(w.state.Offers, units, list)
	return w.problem != nil && w.readNodes(units)
}

// readNodes adds the nodes, and the limits that matter. Without such limits the candidates suffice.
// Otherwise an offering may serve that takes less of a limit than the one that dominates it.
func (w *whole) readNodes(units []bound.Units) bool {
	numbers := make([]int, 0, len(w.candidates.all))
	for i := range w.candidates.all {
		numbers = append(numbers, w.candidates.all[i].offering)
	}
	limits, few := w.readLimits(numbers)
	if !few {
		return false
	}
	if len(limits) > 0 {
		all := dense.NewSet(len(w.state.Offers.Offerings))
		for i := range units {
			all.Or(*units[i].Offerings)
		}
		numbers = slices.Collect(all.All())
	}
	stocks := map[int32]int{}
	for _, j := range numbers {
		n := w.problem.AddNode(w.state.Offers, j)
		if n == nil {
			continue
		}
		for _, use := range w.state.Offers.LimitUse(j) {
			if row, matters := limits[use.Limit]; matters {
				n.Uses = append(n.Uses, exact.Use{Limit: row, Amount: float64(use.Amount)})
			}
		}
		o := &w.state.Offers.Offerings[j]
		if o.Stock < 0 {
			continue
		}
		row, known := stocks[o.Stock]
		if !known {
			row = w.problem.AddLimit(w.StockLeft(int(o.Stock)))
			stocks[o.Stock] = row
		}
		if row < 0 {
			return false
		}
		n.Uses = append(n.Uses, exact.Use{Limit: row, Amount: float64(o.Units)})
	}
	return len(w.problem.Nodes) > 0
}

// readLimits adds the limits that nodes of these offerings could exceed at the known price. It
// returns their rows in the problem, and reports false for too many.
func (w *whole) readLimits(numbers []int) (rows map[int]int, few bool) {
	most := make([]float64, len(w.Limits))
	for _, j := range numbers {
		for _, use := range w.state.Offers.LimitUse(j) {
			most[use.Limit] = max(most[use.Limit], float64(use.Amount)/max(w.state.Offers.Offerings[j].Price, 1e-9))
		}
	}
	rows = map[int]int{}
	for i, amount := range w.Limits {
		if most[i] == 0 || !w.waits && float64(most[i]*w.price) <= float64(amount) {
			continue
		}
		if rows[i] = w.problem.AddLimit(int(amount)); rows[i] < 0 {
			return nil, false
		}
	}
	return rows, true
}

// start adds the nodes to the problem as its first columns.
func (w *whole) start(nodes []*placement.PlannedNode) {
	for _, n := range nodes {
		at := slices.Index(w.problem.Offerings, n.Offering)
		if at < 0 {
			continue
		}
		counts := make([]int, len(w.problem.Kinds))
		for _, f := range n.Fills {
			i, _ := slices.BinarySearch(w.demands, int32(f.Demand))
			counts[w.problem.KindOf[i]] += f.Count
		}
		w.problem.Start = append(w.problem.Start, exact.Column{Node: at, Counts: counts})
	}
}

// plan makes nodes of the columns, and takes their units. It returns nil, and changes nothing, if
// the nodes could not hold all units. The problem knows neither minValues nor all constraints over
// hosts.
func (w *whole) plan(columns []exact.Column) []*placement.PlannedNode {
	var planned []*placement.PlannedNode
	for _, c := range columns {
		n := w.planColumn(c)
		if n == nil {
			w.drop(planned)
			return nil
		}
		if len(n.Fills) > 0 {
			planned = append(planned, n)
			w.Take(n.Offering, 1)
			w.takeUnits(n)
		}
	}
	if slices.ContainsFunc(w.demands, func(i int32) bool { return w.left[i] > 0 }) {
		w.drop(planned)
		return nil
	}
	return planned
}

// planColumn makes a node of the column, with the waiting units; nil if the node cannot hold them.
func (w *whole) planColumn(c exact.Column) *placement.PlannedNode {
	n := w.state.NewNode(w.problem.Offerings[c.Node])
	if !w.Allows(n.Offering) {
		return nil
	}
	counts := slices.Clone(c.Counts)
	for at, i := range w.demands {
		kind := w.problem.KindOf[at]
		count := min(counts[kind], w.left[i])
		if count == 0 {
			continue
		}
		d := w.state.Demands[i]
		if w.state.Room(n, d, count) < count {
			return nil
		}
		w.state.Place(n, d, count)
		counts[kind] -= count
	}
	if !w.state.CanMeetMinValues(n) {
		return nil
	}
	return n
}
