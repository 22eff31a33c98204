package correction

import (
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/topology"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// Corrector corrects the placements of a plan in progress.
type Corrector struct {
	work   *workload.Workload
	offers *offering.Index
	state  *placement.State
	domain *topology.Topology
}

// New returns a Corrector for the placements in state, whose constraints domain measures.
func New(state *placement.State, domain *topology.Topology) *Corrector {
	return &Corrector{work: state.Work, offers: state.Offers, state: state, domain: domain}
}
