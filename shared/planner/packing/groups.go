package packing

import "github.com/whittle-dev/whittle/shared/planner/offering"

// demandGroups numbers groups of demands. The demands of a group have the same offerings and the
// same host constraints, so only size distinguishes them.
type demandGroups struct {
	// of is the group's number, by demand.
	of    []int32
	count int
}

// groupKey is what the demands of a group have in common.
type groupKey struct {
	feasibility     *offering.Feasibility
	hostConstraints int
}

// readGroups numbers the groups of the waiting demands.
func (p *packer) readGroups(waiting []int32) {
	g := &p.groups
	if g.of == nil {
		g.of = make([]int32, len(p.state.Demands))
	}
	numbers := map[groupKey]int32{}
	var last groupKey
	for n, i := range waiting {
		key := groupKey{p.state.Demands[i].Feasibility, p.state.Demands[i].HostConstraintsID}
		// Demands of a group are mostly neighbours, which saves most of the lookups.
		if n > 0 && key == last {
			g.of[i] = g.of[waiting[n-1]]
			continue
		}
		number, ok := numbers[key]
		if !ok {
			number = int32(len(numbers))
			numbers[key] = number
		}
		g.of[i], last = number, key
	}
	g.count = len(numbers)
}
