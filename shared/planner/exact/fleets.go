package exact

import (
	"cmp"
	"math"
	"slices"
)

const (
	// fleetWork is the part of the work that the search for fleets may do. mostFleets is the most
	// of them, and placeSteps the most steps that placing units on one takes.
	fleetWork, mostFleets, placeSteps = 0.4, 2000, 1500
)

// fleets looks at sets of nodes, without units on them, from cheap to dear. The first one that can
// hold all units is the cheapest. Where few nodes are enough, few sets have room for all units
// together, and the linear program, which splits nodes, tells little.
type fleets struct {
	*solver
	// types are the nodes that a fleet may have, the dearest first.
	types []fleetType
	// need is what all units need of each axis, and then the number of each kind. rates are, by
	// type and axis, the least price for one of it on this type and those after it.
	need   []float64
	rates  [][]float64
	chosen []int
	found  []fleet
	// upper is the price below which a fleet must stay, and gap what its columns may cost beyond
	// the bound.
	upper, gap float64
	until      int
	used       []float64
}

// fleetType is a node that a fleet may have.
type fleetType struct {
	node  *node
	price float64
	// room is what it has of each axis, and then how many units of each kind it can hold.
	room []float64
	// reduced is the least reduced cost of any of its columns.
	reduced float64
}

// fleet is a set of nodes by their types.
type fleet struct {
	price float64
	types []int
}

// fleets looks for the cheapest fleet, if the search has not ended otherwise.
func (s *solver) fleets(r *Result) {
	if isProven(r.Lower, r.Price) || math.IsInf(r.Price, 1) {
		return
	}
	f := &fleets{
		solver: s, upper: r.Price * (1 - proven), gap: r.Price - s.lower,
		until: s.work + int(fleetWork*float64(s.Work)), used: make([]float64, len(s.Limits)),
	}
	f.readTypes()
	left := slices.Clone(f.need)
	if !f.extend(0, 0, 0, left) {
		return
	}
	slices.SortStableFunc(f.found, func(a, b fleet) int { return cmp.Compare(a.price, b.price) })
	open := false
	for i := range f.found {
		one := &f.found[i]
		if !open {
			r.Lower = max(r.Lower, min(one.price, r.Price))
		}
		if s.work > f.until {
			return
		}
		columns, ended := f.place(one)
		if columns != nil {
			r.Columns, r.Price = columns, one.price
			if !open {
				r.Lower = r.Price
			}
			return
		}
		open = open || !ended
	}
	if !open {
		r.Lower = r.Price
	}
}

// readTypes lists the nodes of which a column can be in a choice that is cheap enough.
func (f *fleets) readTypes() {
	f.need = make([]float64, f.axes+len(f.Kinds))
	for k := range f.Kinds {
		for a, need := range f.Kinds[k].Need {
			f.need[a] += float64(need) * float64(f.Kinds[k].Count)
		}
		f.need[f.axes+k] = float64(f.Kinds[k].Count)
	}
	for i := range f.nodes {
		n := &f.nodes[i]
		cost := f.cost(n, f.limitPrices)
		reduced := max(cost-f.fill.take(n, f.prices, 0, fillSteps), 0)
		if reduced >= f.gap || f.Nodes[n.at].price() >= f.upper {
			continue
		}
		t := fleetType{node: n, price: f.Nodes[n.at].price(), reduced: reduced, room: make([]float64, len(f.need))}
		for a, free := range n.free {
			t.room[a] = float64(free)
		}
		copy(f.fill.free, n.free)
		f.fill.items = f.fill.items[:0]
		for _, k := range n.bin.Fits {
			t.room[f.axes+k] = float64(f.fill.room(&item{kind: k, need: f.Kinds[k].Need, count: f.Kinds[k].Count}))
		}
		f.types = append(f.types, t)
	}
	slices.SortStableFunc(f.types, func(a, b fleetType) int { return -cmp.Compare(a.price, b.price) })
	f.rates = make([][]float64, len(f.types)+1)
	f.rates[len(f.types)] = slices.Repeat([]float64{math.Inf(1)}, len(f.need))
	for i := len(f.types) - 1; i >= 0; i-- {
		f.rates[i] = slices.Clone(f.rates[i+1])
		for a, room := range f.types[i].room {
			if room > 0 {
				f.rates[i][a] = min(f.rates[i][a], f.types[i].price/room)
			}
		}
	}
}

// extend lists the fleets that have the chosen nodes and further ones of the types from a position
// on. left is what the chosen nodes have no room for. It reports false for too many fleets.
func (f *fleets) extend(from int, price, reduced float64, left []float64) bool {
	if f.work++; f.work > f.until {
		return false
	}
	least, covered := 0.0, true
	for a, need := range left {
		if need > 0 {
			covered = false
			least = max(least, need*f.rates[from][a])
		}
	}
	if covered {
		if len(f.found) == mostFleets {
			return false
		}
		f.found = append(f.found, fleet{price: price, types: slices.Clone(f.chosen)})
	}
	if price+least*(1-1e-12) >= f.upper {
		return true
	}
	next := make([]float64, len(left))
	for i := from; i < len(f.types); i++ {
		t := &f.types[i]
		if price+t.price >= f.upper || reduced+t.reduced >= f.gap || !f.take(t, 1) {
			continue
		}
		for a, need := range left {
			next[a] = need - t.room[a]
		}
		f.chosen = append(f.chosen, i)
		listed := f.extend(i, price+t.price, reduced+t.reduced, next)
		f.chosen = f.chosen[:len(f.chosen)-1]
		f.take(t, -1)
		if !listed {
			return false
		}
	}
	return true
}

// take takes what the node needs of the limits, or gives it back. It reports false, and takes
// nothing, if that is too much.
func (f *fleets) take(t *fleetType, times float64) bool {
	uses := f.Nodes[t.node.at].Uses
	for _, use := range uses {
		if times > 0 && f.used[use.Limit]+use.Amount > f.Limits[use.Limit]+1e-9 {
			return false
		}
	}
	for _, use := range uses {
		f.used[use.Limit] += float64(times * use.Amount)
	}
	return true
}

// place places all units on the fleet's nodes. It returns nil if they cannot hold them, and reports
// whether that is certain.
func (f *fleets) place(one *fleet) (columns []Column, ended bool) {
	p := &placing{fleets: f, most: placeSteps}
	for _, i := range one.types {
		n := f.types[i].node
		p.columns = append(p.columns, Column{Node: n.at, Counts: make([]int, len(f.Kinds))})
		p.free = append(p.free, slices.Clone(n.free))
		p.nodes = append(p.nodes, n)
	}
	for k := range f.Kinds {
		p.order = append(p.order, k)
	}
	size := func(k int) float64 {
		size := 0.0
		for a, need := range f.Kinds[k].Need {
			if f.need[a] > 0 {
				size = max(size, float64(need)/f.need[a])
			}
		}
		return size
	}
	slices.SortStableFunc(p.order, func(a, b int) int { return -cmp.Compare(size(a), size(b)) })
	placed := p.kind(0)
	f.work += p.steps
	if placed {
		return p.columns, true
	}
	return nil, p.steps <= p.most
}

// placing places units on some nodes.
type placing struct {
	*fleets
	nodes   []*node
	columns []Column
	free    [][]int64
	// order are the kinds, the largest first.
	order       []int
	steps, most int
}

// kind places the kinds from a position in the order on, and reports whether it could.
func (p *placing) kind(at int) bool {
	if at == len(p.order) {
		return true
	}
	for _, k := range p.order[at:] {
		room := 0
		for i := range p.nodes {
			room += p.room(i, k, p.Kinds[k].Count-room)
		}
		if room < p.Kinds[k].Count {
			return false
		}
	}
	if !p.fitTogether(at) {
		return false
	}
	return p.spread(at, 0, p.Kinds[p.order[at]].Count)
}

// fitTogether reports whether the nodes have as much left as the kinds from a position on need
// together.
func (p *placing) fitTogether(at int) bool {
	for a := range p.axes {
		need, free := int64(0), int64(0)
		for _, k := range p.order[at:] {
			need += p.Kinds[k].Need[a] * int64(p.Kinds[k].Count)
		}
		for i := range p.free {
			free += p.free[i][a]
		}
		if need > free {
			return false
		}
	}
	return true
}

// spread places so many units of the kind at a position on the nodes from one on, and then the
// other kinds.
func (p *placing) spread(at, from, count int) bool {
	if p.steps++; p.steps > p.most {
		return false
	}
	if from == len(p.nodes) {
		return count == 0 && p.kind(at+1)
	}
	k := p.order[at]
	later := 0
	for i := from + 1; i < len(p.nodes); i++ {
		later += p.room(i, k, count-later)
	}
	most := p.room(from, k, count)
	if from > 0 && p.alike(from-1, from, k) {
		most = min(most, p.columns[from-1].Counts[k])
	}
	for units := most; units >= max(count-later, 0); units-- {
		p.put(from, k, units)
		if p.spread(at, from+1, count-units) {
			return true
		}
		p.put(from, k, -units)
		if p.steps > p.most {
			return false
		}
	}
	return false
}

// alike reports whether two nodes are equal, and have the same units apart from the kind.
func (p *placing) alike(a, b, k int) bool {
	if p.nodes[a] != p.nodes[b] {
		return false
	}
	for other, count := range p.columns[a].Counts {
		if other != k && count != p.columns[b].Counts[other] {
			return false
		}
	}
	return true
}

// room is how many units of the kind the node can hold besides those that it has, at most so many.
func (p *placing) room(at, k, most int) int {
	if most <= 0 || !slices.Contains(p.nodes[at].bin.Fits, k) {
		return 0
	}
	room := int64(most)
	for a, need := range p.Kinds[k].Need {
		if need > 0 {
			room = min(room, p.free[at][a]/need)
		}
	}
	if excludes := p.Kinds[k].Excludes; excludes != 0 {
		for other, count := range p.columns[at].Counts {
			if count > 0 && excludes&(1<<other) != 0 {
				return 0
			}
		}
		if excludes&(1<<k) != 0 {
			room = min(room, 1)
		}
	}
	return int(room)
}

// put puts units of the kind on the node. A negative number takes them off.
func (p *placing) put(at, k, units int) {
	p.columns[at].Counts[k] += units
	for a, need := range p.Kinds[k].Need {
		p.free[at][a] -= need * int64(units)
	}
}
