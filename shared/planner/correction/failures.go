package correction

import (
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// failures remembers needs for which no node had room. Placing a unit only takes room, so a greater
// need with the same constraints finds none either. That changes when a planned node grows or a new
// one comes.
type failures map[constraints][]resource.Vector

// constraints are all that decides on which nodes a unit may be, besides its size. A unit whose
// place depends on other pods has none.
type constraints struct {
	feasibility  *offering.Feasibility
	terms        *workload.NodeTerms
	avoidsTaints bool
}

// constraintsOf returns the constraints of a demand. It reports false if they do not say all.
func constraintsOf(d *placement.Demand) (constraints, bool) {
	g := d.Group
	plain := d.Conflicts == nil && d.HostRules == nil && d.Feasibility.Resolves == nil && !d.DependsOnOtherPods() &&
		len(g.Topology.AntiAffinity)+len(g.Ports)+len(g.Attachments)+len(d.Domains) == 0 && g.Beside.IsZero() &&
		g.Terms != nil && d.Alternatives == g.Required
	return constraints{d.Feasibility, g.Terms, g.AvoidsTaints}, plain
}

// include reports whether a unit of no greater need has failed.
func (f failures) include(d *placement.Demand) bool {
	of, ok := constraintsOf(d)
	if !ok {
		return false
	}
	for _, need := range f[of] {
		if d.Need.Fits(need) {
			return true
		}
	}
	return false
}

// add notes that no node has room for a unit of the demand.
func (f failures) add(d *placement.Demand) {
	of, ok := constraintsOf(d)
	if !ok {
		return
	}
	kept := f[of][:0]
	for _, need := range f[of] {
		if !need.Fits(d.Need) {
			kept = append(kept, need)
		}
	}
	f[of] = append(kept, d.Need)
}
