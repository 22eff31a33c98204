package topology

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// Place is a node with pods of the plan. Either Existing or Planned is set.
type Place struct {
	Existing *placement.ExistingNode
	Planned  *placement.PlannedNode
}

// indexPlaces notes which nodes have units of each demand.
func (t *Topology) indexPlaces() {
	places := make([][]Place, len(t.state.Demands))
	for _, n := range t.state.Planned {
		for _, f := range n.Fills {
			places[f.Demand] = append(places[f.Demand], Place{Planned: n})
		}
	}
	for _, e := range t.state.Existing {
		for _, f := range e.Fills {
			places[f.Demand] = append(places[f.Demand], Place{Existing: e})
		}
	}
	t.places = places
}

// ForgetPlaces ends the time in which RecordPlaces' places hold.
func (t *Topology) ForgetPlaces() { t.places = nil }

// eachPlace calls f with each node that has units of the demand, and their number there.
func (t *Topology) eachPlace(d *placement.Demand, f func(at Place, units int)) {
	visit := func(at Place, fills []placement.Fill) {
		if i := slices.IndexFunc(fills, func(f placement.Fill) bool { return f.Demand == d.Index }); i >= 0 {
			f(at, fills[i].Count)
		}
	}
	if d.Waiting == len(d.Units) {
		return
	}
	if t.places != nil {
		for _, at := range t.places[d.Index] {
			if at.Planned != nil {
				visit(at, at.Planned.Fills)
			} else {
				visit(at, at.Existing.Fills)
			}
		}
		return
	}
	for _, n := range t.state.Planned {
		visit(Place{Planned: n}, n.Fills)
	}
	for _, e := range t.state.Existing {
		visit(Place{Existing: e}, e.Fills)
	}
}

// anyPlace reports whether a node with units of the demand meets the condition.
func (t *Topology) anyPlace(d *placement.Demand, condition func(Place) bool) bool {
	found := false
	t.eachPlace(d, func(at Place, _ int) { found = found || condition(at) })
	return found
}

// podsAt is how many of the selected pods the node has, running and planned.
func (t *Topology) podsAt(at Place, selector *workload.PodSelector) int {
	if at.Planned != nil {
		return t.state.PodsOnPlanned(at.Planned, selector)
	}
	return t.state.PodsOnExisting(at.Existing, selector)
}

// domainAt is the node's value of a topology key. It is empty if the node has none, or none yet.
func (t *Topology) domainAt(at Place, key string) string {
	if at.Planned != nil {
		return t.state.PlannedValue(at.Planned, key)
	}
	value, _ := at.Existing.Domain(key)
	return value
}
