package placement

import (
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"
)

// Demand is a number of equal units that want places: the pods of a pod group, or those of them
// that topology has bound to one domain. A unit is one pod, or several that must share a node.
type Demand struct {
	Group *workload.Group
	Index int
	// Units are the pods still without a place on an existing node, in order. They are handed out when
	// the plan is written.
	Units [][]*corev1.Pod
	// Waiting is how many units still want a place. A caller that gives one a place lowers it.
	Waiting int
	// Need is that of one unit, which has podsEach pods.
	Need     resource.Vector
	PodsEach int
	// Alternatives are the pod group's, narrowed to the demand's domain.
	Alternatives *workload.Alternatives
	Hosts        workload.HostTerms
	// Domains are the topology domains that the alternatives bind it to, by key; counted is how many
	// of its pods count there.
	Domains map[string]string
	Counted int
	// Round is in which round of placing it was made.
	Round int
	// Follows are selected pods of which a node must have one before it can take a unit: only nodes
	// that exist or are planned can.
	Follows []*workload.PodSelector
	// HostSlack is how much more than its maxSkew a spread over hosts allows, since every host that
	// counts has so many already.
	HostSlack int

	// Feasibility says by which offerings nodes can be got for a unit, its size aside.
	Feasibility *offering.Feasibility
	// Conflicts are the demands whose units cannot share a node with one of this; itself among them
	// where two of its own cannot. Nil is none. Demands with the same conflicts share the set.
	Conflicts dense.Set
	// HostRules bound what else may be on its node, by spreads over hosts; nil without such.
	HostRules *HostRules
	// HostConstraintsID numbers what the demand asks of a node by conflicts and rules, zero for nothing:
	// demands of which it is equal are kept from a node together.
	HostConstraintsID int
	// Slots are what a unit takes of that of which a node has only so much for constraints over hosts:
	// see bound.go.
	Slots []Slot
}

// NeedID identifies the need of a unit: by the first pod of the group, before it gave up
// preferences, and by the demand where a unit has several pods.
type NeedID struct {
	first  *corev1.Pod
	demand int
}

// NeedID is the same for demands whose units have the same need because their pods are of one group.
func (d *Demand) NeedID() NeedID {
	if d.PodsEach == 1 {
		return NeedID{first: d.Group.First, demand: -1}
	}
	return NeedID{first: d.Group.First, demand: d.Index}
}

// PodsPerUnit is how many pods a unit has.
func (d *Demand) PodsPerUnit() int { return d.PodsEach }

// setFeasibility fills in the demand's class.
func (p *State) setFeasibility(d *Demand) {
	d.Feasibility = p.Offers.FeasibilityFor(d.Group, d.Alternatives, d.Need)
}

// Holds reports whether a node of the offering's can hold a unit.
func (p *State) Holds(column int, d *Demand) bool {
	return d.Feasibility.Offerings.Has(column) && p.Offers.PoolTypeOf(column).Free.Fits(d.Need)
}

// RefreshHostCounts brings a node up to date that was planned before further demands were read, whose
// constraints may speak of what is on it.
func (p *State) RefreshHostCounts(n *PlannedNode) {
	if n.generation == p.generation {
		return
	}
	n.generation = p.generation
	n.Counts = n.Counts[:0]
	for _, f := range n.Fills {
		if d := p.Demands[f.Demand]; d.HostRules != nil {
			n.countPods(d.HostRules, f.Count*d.PodsPerUnit())
		}
	}
}

// PrepareDemands fills in what follows from the demands' pods for those that were added since it was
// last called.
func (p *State) PrepareDemands() {
	if p.demandsPrepared == len(p.Demands) {
		return
	}
	for _, d := range p.Demands {
		if d.Feasibility == nil {
			p.setFeasibility(d)
		}
	}
	p.readConflicts()
}

// DependsOnOtherPods reports whether other pods can make the demand's places wrong.
func (d *Demand) DependsOnOtherPods() bool {
	return len(d.Group.Topology.Affinity)+len(d.Group.Topology.Spread)+len(d.Follows) > 0
}

type Slot struct {
	Limit int
	Share float64
}
