package planner

import (
	"slices"
)

// unskew takes back what the demands have that spreads and affinity do not allow after all, because other pods did not get the places that they were counted in, or
// got some where there was no node before. It reports whether there was any.
func (p *repairs) unskew() bool {
	if !p.work.podClasses.any {
		return false
	}
	p.state.replan()
	p.topology.readPlaces()
	defer func() { p.topology.board.places = nil }()
	for _, d := range p.state.demands {
		p.topology.recount(d, p.topology.placedPods(d))
	}
	p.topology.settleAll()
	any := false
	for changed := true; changed; {
		changed = false
		for _, d := range p.state.demands {
			placed := len(d.units) - d.waiting
			if placed == 0 || !d.measured() {
				continue
			}
			excess, from := p.topology.excess(d)
			if excess = min(excess, placed); excess > 0 && p.takeBack(d, excess, from) > 0 {
				p.topology.recount(d, p.topology.placedPods(d))
				changed, any = true, true
			}
		}
	}
	return any
}

// takeBack takes units of the demand off the nodes that were given them last, of those that from, where it is not nil, says yes to, and gives their number.
func (p *repairs) takeBack(d *demand, count int, from func(place) bool) int {
	taken := 0
	off := func(fills []fill) ([]fill, int) {
		i := slices.IndexFunc(fills, func(f fill) bool { return f.demand == d.index })
		n := min(count-taken, fills[i].count)
		if fills[i].count -= n; fills[i].count == 0 {
			fills = slices.Delete(fills, i, i+1)
		}
		taken += n
		d.waiting += n
		return fills, n
	}
	has := func(fills []fill, at place) bool {
		return taken < count && slices.ContainsFunc(fills, func(f fill) bool { return f.demand == d.index }) && (from == nil || from(at))
	}
	for i := len(p.state.planned) - 1; i >= 0; i-- {
		if n := p.state.planned[i]; has(n.fills, place{planned: n}) {
			fills, _ := off(slices.Clone(n.fills))
			*n = *p.state.refilled(n.column, fills)
		}
	}
	p.state.replan()
	p.state.planned = slices.DeleteFunc(p.state.planned, func(n *node) bool { return len(n.fills) == 0 })
	for i := len(p.state.existing) - 1; i >= 0; i-- {
		if e := p.state.existing[i]; has(e.fills, place{existing: e}) {
			fills, n := off(e.fills)
			e.fills = fills
			e.free.add(d.need, int64(n))
		}
	}
	return taken
}
