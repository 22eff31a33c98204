package repair

import (
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/topology"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// Repairer corrects the placements of a plan in progress.
type Repairer struct {
	work   *workload.Workload
	offers *offering.Index
	state  *placement.State
	domain *topology.Topology
}

// New returns a Repairer for the placements in state, whose constraints domain measures.
func New(state *placement.State, domain *topology.Topology) *Repairer {
	return &Repairer{work: state.Work, offers: state.Offers, state: state, domain: domain}
}
