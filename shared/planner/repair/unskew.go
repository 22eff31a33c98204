package repair

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/topology"
)

// RetractViolations takes back what the demands have that spreads and affinity do not allow after all, because other pods did not get the places that they were counted in, or
// got some where there was no node before. It reports whether there was any.
func (p *Repairer) RetractViolations() bool {
	if !p.work.Classes.Any {
		return false
	}
	p.state.PlannedChanged()
	p.topology.IndexPlaces()
	defer func() { p.topology.Counts.Places = nil }()
	for _, d := range p.state.Demands {
		p.topology.Record(d, p.topology.PlacedPods(d))
	}
	p.topology.RecordPlaced()
	any := false
	for changed := true; changed; {
		changed = false
		for _, d := range p.state.Demands {
			placed := len(d.Units) - d.Waiting
			if placed == 0 || !d.Measured() {
				continue
			}
			excess, from := p.topology.Violations(d)
			if excess = min(excess, placed); excess > 0 && p.retract(d, excess, from) > 0 {
				p.topology.Record(d, p.topology.PlacedPods(d))
				changed, any = true, true
			}
		}
	}
	return any
}

// retract takes units of the demand off the nodes that were given them last, of those that from, where it is not nil, says yes to, and gives their number.
func (p *Repairer) retract(d *placement.Demand, count int, from func(topology.Place) bool) int {
	taken := 0
	off := func(fills []placement.Fill) ([]placement.Fill, int) {
		i := slices.IndexFunc(fills, func(f placement.Fill) bool { return f.Demand == d.Index })
		n := min(count-taken, fills[i].Count)
		if fills[i].Count -= n; fills[i].Count == 0 {
			fills = slices.Delete(fills, i, i+1)
		}
		taken += n
		d.Waiting += n
		return fills, n
	}
	has := func(fills []placement.Fill, at topology.Place) bool {
		return taken < count && slices.ContainsFunc(fills, func(f placement.Fill) bool { return f.Demand == d.Index }) && (from == nil || from(at))
	}
	for i := len(p.state.Planned) - 1; i >= 0; i-- {
		if n := p.state.Planned[i]; has(n.Fills, topology.Place{Planned: n}) {
			fills, _ := off(slices.Clone(n.Fills))
			*n = *p.state.Refilled(n.Offering, fills)
		}
	}
	p.state.PlannedChanged()
	p.state.Planned = slices.DeleteFunc(p.state.Planned, func(n *placement.PlannedNode) bool { return len(n.Fills) == 0 })
	for i := len(p.state.Existing) - 1; i >= 0; i-- {
		if e := p.state.Existing[i]; has(e.Fills, topology.Place{Existing: e}) {
			fills, n := off(e.Fills)
			e.Fills = fills
			e.Free.Add(d.Need, int64(n))
		}
	}
	return taken
}
