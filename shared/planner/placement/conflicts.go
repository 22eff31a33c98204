package placement

import (
	"encoding/binary"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// conflictSet is a set of demands with a number from one. The empty set has number zero.
type conflictSet struct {
	id  int
	set dense.Set
}

// readConflicts fills in Demand.Conflicts, and returns the numbers of the sets by demand. The set
// depends on the demand's anti-affinity, view, ports and round. Demands that are equal in these
// share one.
func (r *hostReader) readConflicts(views []*podView) []int {
	demands := r.state.Demands
	by := r.demandsByConstraint(views)
	sets := map[string]conflictSet{}
	ids := make([]int, len(demands))
	for i, d := range demands {
		key := binary.AppendUvarint(binary.AppendUvarint(r.key[:0], uint64(views[i].index)), uint64(d.Round))
		for _, c := range r.antiAffinity[i] {
			key = binary.AppendUvarint(key, uint64(c)+1)
		}
		for _, port := range d.Group.Ports {
			key = binary.AppendUvarint(append(key, 0), uint64(port.Port))
			key = dense.AppendText(dense.AppendText(key, string(port.Protocol)), port.IP)
		}
		r.key = key
		found, ok := sets[string(key)]
		if !ok {
			if set := r.conflictsOf(i, views[i], by); !set.Empty() {
				found = conflictSet{id: len(sets) + 1, set: set}
			}
			sets[string(key)] = found
		}
		d.Conflicts, ids[i] = found.set, found.id
	}
	return ids
}

// constrainedDemands are the demands that constraints over hosts concern.
type constrainedDemands struct {
	// matched are, by constraint, the demands whose pods its selector matches. owners are those that
	// have it as anti-affinity.
	matched, owners []dense.Set
	// byPort are the demands that use a host port.
	byPort map[workload.HostPort]dense.Set
}

func (r *hostReader) demandsByConstraint(views []*podView) *constrainedDemands {
	n, demands := len(r.constraints.selectors), r.state.Demands
	by := &constrainedDemands{
		matched: make([]dense.Set, n), owners: make([]dense.Set, n), byPort: map[workload.HostPort]dense.Set{},
	}
	for c := range n {
		by.matched[c], by.owners[c] = dense.NewSet(len(demands)), dense.NewSet(len(demands))
	}
	for i, d := range demands {
		for _, c := range views[i].matched {
			if r.constraints.concerns(c, d.Round) {
				by.matched[c].Add(i)
			}
		}
		for _, c := range r.antiAffinity[i] {
			by.owners[c].Add(i)
		}
		for _, port := range d.Group.Ports {
			if by.byPort[port] == nil {
				by.byPort[port] = dense.NewSet(len(demands))
			}
			by.byPort[port].Add(i)
		}
	}
	return by
}

// conflictsOf are the demands whose units cannot share a node with those of demand i. Either one
// may have the anti-affinity.
func (r *hostReader) conflictsOf(i int, v *podView, by *constrainedDemands) dense.Set {
	d := r.state.Demands[i]
	set := dense.NewSet(len(r.state.Demands))
	for _, c := range r.antiAffinity[i] {
		set.Or(by.matched[c])
	}
	for _, c := range v.matched {
		if r.constraints.isAntiAffinity[c] && r.constraints.concerns(c, d.Round) {
			set.Or(by.owners[c])
		}
	}
	for port, demands := range by.byPort {
		if workload.PortsClash(d.Group.Ports, []workload.HostPort{port}) {
			set.Or(demands)
		}
	}
	return set
}
