package correction

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/topology"
)

// RetractViolations takes back the units whose spread or affinity no longer holds because other pods
// landed elsewhere, or opened a domain. It reports whether there were any.
func (c *Corrector) RetractViolations() bool {
	if !c.work.Classes.Any {
		return false
	}
	c.state.PlannedChanged()
	c.domain.RecordPlaces()
	defer c.domain.ForgetPlaces()
	retracted := false
	for changed := true; changed; {
		changed = false
		for _, d := range c.state.Demands {
			placed := len(d.Units) - d.Waiting
			if placed == 0 || !d.DependsOnOtherPods() {
				continue
			}
			excess, at := c.domain.Violations(d)
			if excess = min(excess, placed); excess > 0 && c.retract(d, excess, at) > 0 {
				c.domain.RecordPlaced(d)
				changed, retracted = true, true
			}
		}
	}
	return retracted
}

// retract takes so many units of the demand off nodes that meet the condition, and returns how many
// it took. Nodes that were filled last come first. A nil condition means every node.
func (c *Corrector) retract(d *placement.Demand, count int, condition func(topology.Place) bool) int {
	taken := 0
	ofDemand := func(f placement.Fill) bool { return f.Demand == d.Index }
	qualifies := func(fills []placement.Fill, at topology.Place) bool {
		return taken < count && slices.ContainsFunc(fills, ofDemand) && (condition == nil || condition(at))
	}
	for _, n := range slices.Backward(c.state.Planned) {
		if qualifies(n.Fills, topology.Place{Planned: n}) {
			fills := slices.Clone(n.Fills)
			i := slices.IndexFunc(fills, ofDemand)
			units := min(count-taken, fills[i].Count)
			if fills[i].Count -= units; fills[i].Count == 0 {
				fills = slices.Delete(fills, i, i+1)
			}
			taken += units
			d.Waiting += units
			*n = *c.state.NodeWith(n.Offering, fills)
		}
	}
	c.state.PlannedChanged()
	c.state.Planned = slices.DeleteFunc(c.state.Planned, func(n *placement.PlannedNode) bool { return len(n.Fills) == 0 })
	for _, e := range slices.Backward(c.state.Existing) {
		if qualifies(e.Fills, topology.Place{Existing: e}) {
			taken += c.state.TakeBack(e, d, count-taken)
		}
	}
	return taken
}
