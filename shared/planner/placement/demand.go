package placement

import (
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"
)

// Demand is a number of equal units that want places: the pods of a group, or those of them that
// topology binds to the same domains. A unit is one pod, or several that must share a node.
//
// Topology fills in the first block of fields, and PrepareDemands the second one.
type Demand struct {
	Group *workload.Group
	// Index is the demand's position in State.Demands.
	Index int
	// Units are the units, in the order in which they get places. Nominate and package claims take
	// them off when they write the plan.
	Units [][]*corev1.Pod
	// Waiting is how many units have no place yet.
	Waiting int
	// Need is what one unit requests, and PodsEach is how many pods it has.
	Need     resource.Vector
	PodsEach int
	// Alternatives are the pod group's label requirements, narrowed to the demand's domains. A node
	// has to meet one of them.
	Alternatives *workload.Alternatives
	// Hosts are the constraints over host names.
	Hosts workload.HostTerms
	// Domains are the topology domains that the demand is bound to, by topology key.
	Domains map[string]string
	// Counted is how many pods of the demand topology counts in these domains.
	Counted int
	// Round is State.Round at the time when the demand was added.
	Round int
	// Follows are pod selectors. Only a node that has a pod of each can take a unit, so no new node
	// can.
	Follows []*workload.PodSelector
	// HostSlack is by how many pods a node may exceed maxSkew of the spreads over hosts, since all
	// hosts that count have so many already.
	HostSlack int

	// Feasibility has the offerings whose nodes can hold a unit, apart from its size.
	Feasibility *offering.Feasibility
	// Conflicts are the demands whose units cannot share a node with one of this demand. The demand
	// is one of them if no two of its own units can. Nil is none. Demands may share the set.
	Conflicts dense.Set
	// HostRules are the spreads over hosts that concern the demand. Nil is none.
	HostRules *HostRules
	// HostConstraintsID is zero for demands without conflicts and spreads over hosts. Demands with
	// equal ids have equal ones, so that a node rejects both or neither.
	HostConstraintsID int
	// Slots are what a unit takes of a node's slots.
	Slots []Slot
}

// Slot is a share of something that a node has only one of, because of constraints over hosts. So a
// node can take at most 1/Share of such units. Package bound reads slots.
type Slot struct {
	// Limit identifies what is shared.
	Limit int
	Share float64
}

// NeedID identifies the need of a unit. It is the first pod of the group before the group gave up
// preferences, and also the demand if a unit has several pods.
type NeedID struct {
	first  *corev1.Pod
	demand int
}

// NeedID is equal for demands of which a unit has the same need.
func (d *Demand) NeedID() NeedID {
	if d.PodsEach == 1 {
		return NeedID{first: d.Group.First, demand: -1}
	}
	return NeedID{first: d.Group.First, demand: d.Index}
}

// PodsPerUnit is how many pods a unit has.
func (d *Demand) PodsPerUnit() int { return d.PodsEach }

// DependsOnOtherPods reports whether pods elsewhere can make a place of the demand wrong, by spread
// or affinity.
func (d *Demand) DependsOnOtherPods() bool {
	return len(d.Group.Topology.Affinity)+len(d.Group.Topology.Spread)+len(d.Follows) > 0
}

// PrepareDemands fills in the second block of fields of all demands, if some were added since the
// last call.
func (s *State) PrepareDemands() {
	if s.prepared == len(s.Demands) {
		return
	}
	for _, d := range s.Demands[s.prepared:] {
		if d.Feasibility == nil {
			d.Feasibility = s.Offers.FeasibilityFor(d.Group, d.Alternatives, d.Need)
		}
		s.constrained = s.constrained || len(d.Hosts.AntiAffinity)+len(d.Hosts.Spread)+len(d.Group.Ports) > 0
	}
	s.prepared = len(s.Demands)
	if s.constrained {
		s.readHostConstraints()
	}
}

// Holds reports whether an empty node of offering j can hold a unit.
func (s *State) Holds(j int, d *Demand) bool {
	return d.Feasibility.Offerings.Has(j) && s.Offers.PoolTypeOf(j).Free.Fits(d.Need)
}
