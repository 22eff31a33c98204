package placement

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"
)

// PlannedNode is a node that the plan launches.
type PlannedNode struct {
	// Offering is the number of the offering that the plan counts the price of.
	Offering int
	Fills    []Fill
	// Free is what the fills leave of the pool type's resources.
	Free resource.Vector
	// Resolved is what the demands on the node decide of the pool's open labels.
	Resolved *offering.ResolvedLabels
	// Within are the only offerings that the node's claim may have; nil for all that hold its fills.
	Within dense.Set
	// Counts is how many pods of the node each spread over hosts counts.
	Counts []hostCount
	// generation is State.generation when Counts was made.
	generation int
}

// hostCount is how many pods of a node a spread over hosts counts.
type hostCount struct {
	// spread is a number of the constraints of hostReader.
	spread int32
	count  int32
}

// Fill is a number of units of a demand on one node.
type Fill struct {
	// Demand is a position in State.Demands.
	Demand int
	Count  int
}

// NewNode is an empty node of offering j. It is not in State.Planned.
func (s *State) NewNode(j int) *PlannedNode {
	n := &PlannedNode{}
	s.Reset(n, j)
	return n
}

// Reset makes the node an empty one of offering j, and keeps its memory.
func (s *State) Reset(n *PlannedNode, j int) {
	n.Offering, n.generation = j, s.generation
	n.Fills, n.Counts = n.Fills[:0], n.Counts[:0]
	n.Free = append(n.Free[:0], s.Offers.PoolTypeOf(j).Free...)
	n.Resolved, n.Within = nil, nil
}

// NodeWith is a node of offering j with just these fills. It is not in State.Planned.
func (s *State) NodeWith(j int, fills []Fill) *PlannedNode {
	n := s.NewNode(j)
	for _, f := range fills {
		s.Place(n, s.Demands[f.Demand], f.Count)
	}
	return n
}

// Clone is a copy that shares no memory with the node.
func (n *PlannedNode) Clone() *PlannedNode {
	c := *n
	c.Fills = slices.Clone(n.Fills)
	c.Free = slices.Clone(n.Free)
	c.Counts = slices.Clone(n.Counts)
	return &c
}

// Room is how many units of a demand fit on the node besides its fills, at most limit. The node's
// offering must be feasible for the demand.
func (s *State) Room(n *PlannedNode, d *Demand, limit int) int {
	room := int(n.Free.Room(d.Need, int64(limit)))
	if room == 0 {
		return 0
	}
	if d.Conflicts != nil {
		for _, f := range n.Fills {
			if d.Conflicts.Has(f.Demand) {
				return 0
			}
		}
		if d.Conflicts.Has(d.Index) {
			room = 1
		}
	}
	if d.HostRules != nil {
		for i := range d.HostRules.limits {
			limit := &d.HostRules.limits[i]
			left := limit.most + d.HostSlack - n.countOf(limit.spread)
			if limit.counted {
				room = min(room, left/d.PodsPerUnit())
			} else if left < 0 {
				return 0
			}
		}
	}
	if _, ok := s.Offers.Resolve(n.Resolved, n.Offering, d.Feasibility); !ok {
		return 0
	}
	return max(room, 0)
}

// Place puts units of a demand on the node, at most as many as Room allows. It does not change
// Demand.Waiting.
func (s *State) Place(n *PlannedNode, d *Demand, count int) {
	n.Free.Add(d.Need, -int64(count))
	at := len(n.Fills) - 1
	// Most callers place units of one demand one after the other, so the search begins at the end.
	for at >= 0 && n.Fills[at].Demand != d.Index {
		at--
	}
	if at >= 0 {
		n.Fills[at].Count += count
	} else {
		n.Fills = append(n.Fills, Fill{Demand: d.Index, Count: count})
	}
	n.Resolved, _ = s.Offers.Resolve(n.Resolved, n.Offering, d.Feasibility)
	if d.HostRules != nil {
		n.countPods(d.HostRules, count*d.PodsPerUnit())
	}
}

// ChangeOffering gives the node another offering, which must hold its fills.
func (s *State) ChangeOffering(n *PlannedNode, j int) {
	free := s.Offers.PoolTypeOf(j).Free
	for r, amount := range s.Offers.PoolTypeOf(n.Offering).Free {
		n.Free[r] = free[r] - (amount - n.Free[r])
	}
	n.Offering = j
}

// RefreshHostCounts counts the pods on the node again if demands were added since. Their spreads
// over hosts may count pods that are on the node.
func (s *State) RefreshHostCounts(n *PlannedNode) {
	if n.generation == s.generation {
		return
	}
	n.generation = s.generation
	n.Counts = n.Counts[:0]
	for _, f := range n.Fills {
		if d := s.Demands[f.Demand]; d.HostRules != nil {
			n.countPods(d.HostRules, f.Count*d.PodsPerUnit())
		}
	}
}

// countOf is how many pods of the node a spread counts.
func (n *PlannedNode) countOf(spread int) int {
	for i := range n.Counts {
		if int(n.Counts[i].spread) == spread {
			return int(n.Counts[i].count)
		}
	}
	return 0
}

// countPods adds pods to the counts of the spreads that count them.
func (n *PlannedNode) countPods(rules *HostRules, pods int) {
next:
	for _, spread := range rules.countedBy {
		for i := range n.Counts {
			if n.Counts[i].spread == spread {
				n.Counts[i].count += int32(pods)
				continue next
			}
		}
		n.Counts = append(n.Counts, hostCount{spread: spread, count: int32(pods)})
	}
}

// HasFollowedPods reports whether the node has a pod of each selector that the demand follows.
func (s *State) HasFollowedPods(n *PlannedNode, d *Demand) bool {
	for _, selector := range d.Follows {
		if !slices.ContainsFunc(n.Fills, func(f Fill) bool {
			return selector.MatchesClass(s.Work.Classes, s.Demands[f.Demand].Group.Class)
		}) {
			return false
		}
	}
	return true
}

// PodsOnPlanned is how many of the selected pods are on the node.
func (s *State) PodsOnPlanned(n *PlannedNode, selector *workload.PodSelector) int {
	count := 0
	for _, f := range n.Fills {
		if d := s.Demands[f.Demand]; selector.MatchesClass(s.Work.Classes, d.Group.Class) {
			count += f.Count * d.PodsPerUnit()
		}
	}
	return count
}

// IndependentPodsOn is PodsOnPlanned without the pods that have a required spread over zones or
// other labels. The scheduler may bind those only after it has bound others, which could wait for
// them in turn.
func (s *State) IndependentPodsOn(n *PlannedNode, selector *workload.PodSelector) int {
	count := 0
	for _, f := range n.Fills {
		d := s.Demands[f.Demand]
		waits := slices.ContainsFunc(d.Group.Topology.Spread, func(t workload.SpreadTerm) bool {
			return t.Key != corev1.LabelHostname && !t.Preferred
		})
		if !waits && selector.MatchesClass(s.Work.Classes, d.Group.Class) {
			count += f.Count * d.PodsPerUnit()
		}
	}
	return count
}
