package packing

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

const (
	// mergeNodes is how many nodes a plan may have for merging. mergeSet is how many of them become
	// one node at most, unless all of them do.
	mergeNodes, mergeSet = 14, 4
	// mergeOfferings is how many offerings are tried for a set of nodes.
	mergeOfferings = 16
)

// merge replaces sets of nodes by one cheaper node each, as long as there is such a set. A set may
// be a single node. The ratio of value to price does not find these nodes: such a node is best only
// because it leaves nothing over.
func (m *improvement) merge() {
	for before := -1; len(m.ranked) > 0 && len(m.ranked) <= mergeNodes && before != m.serial; {
		before = m.serial
		m.mergeOnce()
	}
}

// mergeOnce merges the first set that it finds: all nodes, or up to mergeSet of them.
func (m *improvement) mergeOnce() {
	count := len(m.ranked)
	if m.mergeAmong(nil, 0, count) {
		return
	}
	for size := 1; size <= min(mergeSet, count-1); size++ {
		if m.mergeAmong(nil, 0, size) {
			return
		}
	}
}

// mergeAmong visits the sets of a size that consist of the chosen nodes and nodes from a position
// on. It merges the first set for which one cheaper node exists, and reports whether it did.
func (m *improvement) mergeAmong(chosen []int, from, size int) bool {
	if len(chosen) == size {
		return m.mergeChosen(chosen)
	}
	for at := from; at < len(m.ranked); at++ {
		if m.mergeAmong(append(chosen, at), at+1, size) {
			return true
		}
	}
	return false
}

// mergeChosen replaces the chosen nodes by one cheaper node, and reports whether there is one.
func (m *improvement) mergeChosen(chosen []int) bool {
	numbers := m.cheaperOfferings(chosen)
	if len(numbers) == 0 {
		return false
	}
	for _, at := range chosen {
		m.Take(m.ranked[at].node.Offering, -1)
	}
	for _, j := range numbers {
		m.effort.work += tryWork
		if !m.Allows(j) {
			continue
		}
		if n := m.merged(j, chosen); n != nil {
			m.Take(n.Offering, 1)
			m.replace(slices.Clone(chosen), []*placement.PlannedNode{n})
			return true
		}
	}
	for _, at := range chosen {
		m.Take(m.ranked[at].node.Offering, 1)
	}
	return false
}

// cheaperOfferings returns the cheapest offerings that cost less than the chosen nodes together and
// have room for all their units.
func (m *improvement) cheaperOfferings(chosen []int) []int {
	offers, cost := m.state.Offers, 0.0
	set := offers.Feasibilities.ScratchSet
	copy(set, m.tier)
	sum := make(resource.Vector, len(m.state.Work.Axes.Names))
	var last *offering.Feasibility
	for _, at := range chosen {
		n := m.ranked[at].node
		cost += offers.Cost(n.Offering)
		for _, f := range n.Fills {
			d := m.state.Demands[f.Demand]
			if d.Feasibility != last {
				set.And(d.Feasibility.Buyable)
				last = d.Feasibility
			}
			sum.Add(d.Need, int64(f.Count))
		}
	}
	offers.KeepRoom(set, sum)
	// Merging uses the scratch set itself, so the offerings are listed first.
	numbers := make([]int, 0, mergeOfferings)
	for j := range set.All() {
		if offers.Cost(j) >= cost-minimumGain || len(numbers) == cap(numbers) {
			break
		}
		numbers = append(numbers, j)
	}
	return numbers
}

// merged returns a node of the offering with all units of the chosen nodes; nil if it cannot hold
// them.
func (m *improvement) merged(number int, chosen []int) *placement.PlannedNode {
	n := m.memory.scratch
	m.state.Reset(n, number)
	for _, at := range chosen {
		for _, f := range m.ranked[at].node.Fills {
			d := m.state.Demands[f.Demand]
			if m.state.Room(n, d, f.Count) < f.Count {
				return nil
			}
			m.state.Place(n, d, f.Count)
		}
	}
	if !m.state.CanMeetMinValues(n) {
		return nil
	}
	return n.Clone()
}
