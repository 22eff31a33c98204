package placement

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"
)

// State says which pods are on which node, and which pods wait.
type State struct {
	Work   *workload.Workload
	Offers *offering.Index
	// Existing are the nodes that can take pods, in the order in which they are filled.
	Existing []*ExistingNode
	// Planned are the new nodes so far. Callers that change them call PlannedChanged.
	Planned []*PlannedNode
	Demands []*Demand
	// SkipWhole says that packing does not search whole nodes for few units. Whole says that it
	// last did, without limits that matter, and that the search has not ended.
	SkipWhole, Whole bool
	// Round counts the rounds of placing from zero. In each further round, pods without a place
	// have given up one more preference.
	Round int
	// LimitsLeft is what the written claims leave of each limit. It is nil before claims are
	// written.
	LimitsLeft []int64
	// Leftovers are the pods that found no place in this round.
	Leftovers []Leftover
	// prepared is how many demands PrepareDemands has seen. generation counts how often it read
	// their constraints over hosts again, which constrained says there are.
	prepared, generation int
	constrained          bool
	values               plannedValues
	growth               growth
	memory               memory
}

// memory avoids allocations.
type memory struct {
	// demands and units are taken from the front.
	demands []Demand
	units   [][]*corev1.Pod
	// alternatives is the result of AlternativesFor.
	alternatives dense.Set
	// used is what a node would need to grow.
	used resource.Vector
}

// New reads the existing nodes and the nodes in flight. Nothing is placed yet.
func New(work *workload.Workload, offers *offering.Index) *State {
	s := &State{
		Work: work, Offers: offers, values: newPlannedValues(), growth: newGrowth(len(offers.Offerings)),
	}
	s.memory.alternatives = dense.NewSet(len(offers.Offerings))
	s.memory.used = make(resource.Vector, len(work.Axes.Names))
	s.readExisting()
	s.readNominated()
	return s
}

// Leftover are pods of a group without a place.
type Leftover struct {
	Group *workload.Group
	Pods  []*corev1.Pod
	// Reason says why no node can hold the pods. It is empty if nodes could, but none had room.
	Reason string
	// Demand had the pods. It is nil if topology made no demand of them.
	Demand *Demand
}

// AddLeftover notes that pods of a group have no place. It does nothing without pods.
func (s *State) AddLeftover(g *workload.Group, pods []*corev1.Pod, reason string) {
	if len(pods) > 0 {
		s.Leftovers = append(s.Leftovers, Leftover{Group: g, Pods: pods, Reason: reason})
	}
}

// NewDemand is an empty demand. The caller fills it in, and appends it to Demands.
func (s *State) NewDemand() *Demand {
	if len(s.memory.demands) == 0 {
		s.memory.demands = make([]Demand, 64)
	}
	d := &s.memory.demands[0]
	s.memory.demands = s.memory.demands[1:]
	return d
}

// DropDemand takes back the demand that was added last. None of its units may have a place.
func (s *State) DropDemand(d *Demand) {
	s.Demands = s.Demands[:d.Index]
	// The next demand gets the same index, so a count of demands would not notice it.
	if s.prepared = min(s.prepared, d.Index); s.constrained {
		s.prepared = 0
	}
}

// Units makes a unit of each pod. Unlike Single, it shares memory with other calls.
func (s *State) Units(pods []*corev1.Pod) [][]*corev1.Pod {
	n := len(pods)
	if len(s.memory.units) < n {
		s.memory.units = make([][]*corev1.Pod, max(n, 256))
	}
	units := s.memory.units[:n:n]
	s.memory.units = s.memory.units[n:]
	return readUnits(units, pods)
}

// Single makes a unit of each pod.
func Single(pods []*corev1.Pod) [][]*corev1.Pod {
	return readUnits(make([][]*corev1.Pod, len(pods)), pods)
}

func readUnits(units [][]*corev1.Pod, pods []*corev1.Pod) [][]*corev1.Pod {
	for i := range pods {
		units[i] = pods[i : i+1 : i+1]
	}
	return units
}

// Flatten has the pods of the units, in order.
func Flatten(units [][]*corev1.Pod) []*corev1.Pod { return slices.Concat(units...) }

// CompareBools orders false before true.
func CompareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
