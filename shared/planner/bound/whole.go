package bound

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/exact"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
)

const (
	// MostWholeUnits is the most units for which whole nodes are looked for. WholeWork is the work
	// that a search may do.
	MostWholeUnits, WholeWork = 128, 300_000
	// wholeSlot is what a node has of a slot, in whole numbers.
	wholeSlot = 1 << 20
)

// Whole is the problem of package exact for some units.
type Whole struct {
	exact.Problem
	// KindOf is the kind of each of the units.
	KindOf []int
	// Offerings are those of the problem's nodes.
	Offerings []int
	units     []Units
	demands   []*placement.Demand
	axes      []int
	slots     []int
}

// NewWhole makes the problem of the cheapest whole nodes for the units, which are those of the
// demands. It has neither nodes nor limits. It is nil for too many units or kinds of them.
func NewWhole(index *offering.Index, units []Units, demands []*placement.Demand) *Whole {
	count := 0
	for i := range units {
		count += units[i].Count
	}
	if len(units) == 0 || count > MostWholeUnits {
		return nil
	}
	w := &Whole{units: units, demands: demands, KindOf: make([]int, len(units))}
	w.Work = WholeWork
	w.readAxes(index)
	var first []int
	for i := range units {
		kind := slices.IndexFunc(first, func(at int) bool { return w.alike(at, i) })
		if kind < 0 {
			if kind = len(first); kind == exact.MostKinds {
				return nil
			}
			first = append(first, i)
			w.Kinds = append(w.Kinds, exact.Kind{Need: w.need(i)})
		}
		w.KindOf[i] = kind
		w.Kinds[kind].Count += units[i].Count
	}
	w.readConflicts()
	return w
}

// readAxes lists the resources that a unit needs, and the slots.
func (w *Whole) readAxes(index *offering.Index) {
	for r := range index.Work.Axes.Names {
		if slices.ContainsFunc(w.units, func(u Units) bool { return u.Need[r] > 0 }) {
			w.axes = append(w.axes, r)
		}
	}
	for i := range w.units {
		for _, s := range w.units[i].Slots {
			if !slices.Contains(w.slots, s.Limit) {
				w.slots = append(w.slots, s.Limit)
			}
		}
	}
}

// alike reports whether only the number of the units distinguishes them.
func (w *Whole) alike(a, b int) bool {
	x, y := &w.units[a], &w.units[b]
	return w.demands[a].Conflicts == nil && w.demands[b].Conflicts == nil &&
		(x.Offerings == y.Offerings || slices.Equal(*x.Offerings, *y.Offerings)) &&
		slices.Equal(x.Need, y.Need) && slices.Equal(x.Slots, y.Slots)
}

// need is what one of the units needs of each axis.
func (w *Whole) need(unit int) []int64 {
	need := make([]int64, 0, len(w.axes)+len(w.slots))
	for _, r := range w.axes {
		need = append(need, w.units[unit].Need[r])
	}
	for _, limit := range w.slots {
		amount := int64(0)
		for _, s := range w.units[unit].Slots {
			if s.Limit == limit {
				amount = int64(s.Share * wholeSlot)
			}
		}
		need = append(need, amount)
	}
	return need
}

// readConflicts fills in which kinds cannot share a node. A kind with conflicts has the units of
// one demand.
func (w *Whole) readConflicts() {
	for i, d := range w.demands {
		if d.Conflicts == nil {
			continue
		}
		for j, other := range w.demands {
			if d.Conflicts.Has(other.Index) {
				w.Kinds[w.KindOf[i]].Excludes |= 1 << w.KindOf[j]
			}
		}
	}
}

// AddNode adds the nodes of an offering, and returns the added one; nil if it can hold none of the
// units.
func (w *Whole) AddNode(index *offering.Index, j int) *exact.Node {
	mask := uint64(0)
	for i := range w.units {
		if w.units[i].Offerings.Has(j) {
			mask |= 1 << w.KindOf[i]
		}
	}
	if mask == 0 {
		return nil
	}
	free := make([]int64, 0, len(w.axes)+len(w.slots))
	for _, r := range w.axes {
		free = append(free, index.PoolTypeOf(j).Free[r])
	}
	for range w.slots {
		free = append(free, wholeSlot)
	}
	w.Offerings = append(w.Offerings, j)
	w.Nodes = append(w.Nodes, exact.Node{Free: free, Price: index.Offerings[j].Price, Kinds: mask})
	return &w.Nodes[len(w.Nodes)-1]
}

// AddLimit adds a limit, and returns its position; -1 if there are too many.
func (w *Whole) AddLimit(most int) int {
	if len(w.Limits) == exact.MostLimits {
		return -1
	}
	w.Limits = append(w.Limits, float64(max(most, 0)))
	return len(w.Limits) - 1
}

// known is a bound that splits neither units nor nodes, with what decides it.
type known struct {
	kinds []exact.Kind
	nodes []exact.Node
	lower float64
}

// Note notes the bound that the problem's solution proved, for a later LowerBound of the same
// problem.
func (d *Dual) Note(w *Whole, lower float64) {
	if len(w.Limits) > 0 {
		return // The bound holds for nodes within the limits only.
	}
	k := &known{lower: lower}
	k.kinds, k.nodes = w.Essence()
	d.known = k
}

// noted is the noted bound of the problem, or zero.
func (d *Dual) noted(w *Whole) float64 {
	if d.known == nil {
		return 0
	}
	kinds, nodes := w.Essence()
	if slices.EqualFunc(kinds, d.known.kinds, func(a, b exact.Kind) bool {
		return a.Count == b.Count && a.Excludes == b.Excludes && slices.Equal(a.Need, b.Need)
	}) && slices.EqualFunc(nodes, d.known.nodes, func(a, b exact.Node) bool {
		return a.Kinds == b.Kinds && a.Price == b.Price && slices.Equal(a.Free, b.Free)
	}) {
		return d.known.lower
	}
	return 0
}

// wholeBound is the price that no whole nodes undercut which hold the units, if the search for it
// has a result; otherwise zero. The price of nodes that hold the units bounds the search.
func wholeBound(state *placement.State, dual *Dual, units []Units, demands []*placement.Demand, price float64) float64 {
	if len(state.Offers.Stocks) > 0 {
		return 0
	}
	w := NewWhole(state.Offers, units, demands)
	if w == nil {
		return 0
	}
	for i := range dual.Offerings {
		w.AddNode(state.Offers, dual.Offerings[i].Offering)
	}
	if lower := dual.noted(w); lower > 0 {
		return lower
	}
	w.Upper = price
	return exact.Solve(&w.Problem).Lower
}
