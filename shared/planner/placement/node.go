package placement

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"
)

// PlannedNode is a new node as it is being planned.
type PlannedNode struct {
	Offering int
	Fills    []Fill
	// Free is what the pool type has left.
	Free resource.Vector
	// Resolved is what the demands on it decide of the pool's open labels.
	Resolved *offering.ResolvedLabels
	// Counts has how many pods of each group the node has that a spread over hosts counts.
	Counts []groupCount
	// generation tells for which demands counts was made: see readHosts.
	generation int
}

// Fill is a number of units of a demand on one node.
type Fill struct {
	Demand int
	Count  int
}

func (p *State) NewNode(column int) *PlannedNode {
	n := &PlannedNode{}
	p.Reset(n, column)
	return n
}

// Reset makes the node an empty one of the offering's, in the memory that it has.
func (p *State) Reset(n *PlannedNode, column int) {
	n.Offering, n.generation = column, p.generation
	n.Fills, n.Counts = n.Fills[:0], n.Counts[:0]
	n.Free = append(n.Free[:0], p.Offers.PoolTypeOf(column).Free...)
	n.Resolved = nil
}

func (n *PlannedNode) Clone() *PlannedNode {
	c := *n
	c.Fills = slices.Clone(n.Fills)
	c.Free = slices.Clone(n.Free)
	c.Counts = slices.Clone(n.Counts)
	return &c
}

// Room is how many units of a demand the node takes, at most limit.
func (p *State) Room(n *PlannedNode, d *Demand, limit int) int {
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
			left := limit.most + d.HostSlack - n.countOf(limit.group)
			if limit.member {
				room = min(room, left/d.PodsPerUnit())
			} else if left < 0 {
				return 0
			}
		}
	}
	if _, ok := p.Offers.Resolve(n.Resolved, n.Offering, d.Feasibility); !ok {
		return 0
	}
	return max(room, 0)
}

// Place puts units of a demand on the node, which room has allowed.
func (p *State) Place(n *PlannedNode, d *Demand, count int) {
	n.Free.Add(d.Need, -int64(count))
	at := len(n.Fills) - 1
	// Units of a demand mostly come one after the other.
	for at >= 0 && n.Fills[at].Demand != d.Index {
		at--
	}
	if at >= 0 {
		n.Fills[at].Count += count
	} else {
		n.Fills = append(n.Fills, Fill{Demand: d.Index, Count: count})
	}
	n.Resolved, _ = p.Offers.Resolve(n.Resolved, n.Offering, d.Feasibility)
	if d.HostRules != nil {
		n.countPods(d.HostRules, count*d.PodsPerUnit())
	}
}

// ChangeOffering puts what is on the node on an empty one of another offering that can hold it.
func (p *State) ChangeOffering(n *PlannedNode, column int) {
	free := p.Offers.PoolTypeOf(column).Free
	for r, amount := range p.Offers.PoolTypeOf(n.Offering).Free {
		n.Free[r] = free[r] - (amount - n.Free[r])
	}
	n.Offering = column
}

// countOf is how many pods of a group the node has.
func (n *PlannedNode) countOf(group int) int {
	for i := range n.Counts {
		if int(n.Counts[i].group) == group {
			return int(n.Counts[i].count)
		}
	}
	return 0
}

// countPods adds pods of a demand to the groups that they count in.
func (n *PlannedNode) countPods(rules *HostRules, pods int) {
next:
	for _, group := range rules.counted {
		for i := range n.Counts {
			if n.Counts[i].group == group {
				n.Counts[i].count += int32(pods)
				continue next
			}
		}
		n.Counts = append(n.Counts, groupCount{group: group, count: int32(pods)})
	}
}

// groupCount is how many pods of a group a node has.
type groupCount struct {
	group int32
	count int32
}

// NodeWith is a planned node with just these fills.
func (p *State) NodeWith(column int, fills []Fill) *PlannedNode {
	n := p.NewNode(column)
	for _, f := range fills {
		p.Place(n, p.Demands[f.Demand], f.Count)
	}
	return n
}

// HasFollowedPods reports whether a planned node has one of each of the selected pods that the demand has
// to follow.
func (p *State) HasFollowedPods(n *PlannedNode, d *Demand) bool {
	for _, peers := range d.Follows {
		if !slices.ContainsFunc(
			n.Fills,
			func(f Fill) bool { return peers.MatchesClass(p.Work.Classes, p.Demands[f.Demand].Group.Class) },
		) {
			return false
		}
	}
	return true
}

// PodsOnPlanned is how many of the selected pods are planned for the node.
func (p *State) PodsOnPlanned(n *PlannedNode, wanted *workload.PodSelector) int {
	count := 0
	for _, f := range n.Fills {
		if d := p.Demands[f.Demand]; wanted.MatchesClass(p.Work.Classes, d.Group.Class) {
			count += f.Count * d.PodsPerUnit()
		}
	}
	return count
}

// IndependentPodsOn is how many of the selected pods are planned for the node that need not wait
// for others to be bound elsewhere: those others might wait for them.
func (p *State) IndependentPodsOn(n *PlannedNode, wanted *workload.PodSelector) int {
	count := 0
	for _, f := range n.Fills {
		d := p.Demands[f.Demand]
		waits := slices.ContainsFunc(
			d.Group.Topology.Spread,
			func(t workload.SpreadTerm) bool { return t.Key != corev1.LabelHostname && !t.Preferred },
		)
		if !waits && wanted.MatchesClass(p.Work.Classes, d.Group.Class) {
			count += f.Count * d.PodsPerUnit()
		}
	}
	return count
}
