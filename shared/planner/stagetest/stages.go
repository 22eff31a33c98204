package stagetest

import (
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/topology"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// Stages are the results of the stages before packing.
type Stages struct {
	Work   *workload.Workload
	Offers *offering.Index
	State  *placement.State
	Domain *topology.Topology
}

// Read runs the stages that only read the snapshot, as planner.Solve does. No pod has a demand yet:
// Domain.Divide makes those.
func Read(s *plan.Snapshot) *Stages {
	work := workload.Read(s)
	offers := offering.Build(work, nil)
	state := placement.New(work, offers)
	return &Stages{Work: work, Offers: offers, State: state, Domain: topology.New(work, offers, state)}
}

// PlaceEachAlone makes demands of all groups, and plans the cheapest new node for each unit. It
// fails the test if a unit has no place.
func (s *Stages) PlaceEachAlone(t testing.TB) {
	t.Helper()
	s.Domain.Divide(s.Work.Groups)
	for _, d := range s.State.Demands {
		for d.Waiting > 0 {
			if s.State.PlanNodeFor(d) == nil {
				t.Fatalf("pod %q has no place", d.Group.Pod().Name)
			}
		}
	}
}
