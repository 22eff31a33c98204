package packing

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

const (
	// mergeNodes is how many nodes a plan may have for all of their sets of up to mergeSet to be tried
	// as one node.
	mergeNodes, mergeSet = 14, 4
	// mergeColumns is how many offerings are tried for a set at most.
	mergeColumns = 16
)

// merged is the cheapest node that holds all that is on the chosen ones, if it costs less than they
// do; nil without one. Choosing offerings by what is on them for their price does not find a node
// which is the best only because nothing is left over.
func (k *packer) merged(ranked []rankedNode, chosen []int) *placement.PlannedNode {
	p := k.p
	set := p.Offers.Feasibilities.ScratchSet
	copy(set, k.tier)
	cost := 0.0
	sum := make(resource.Vector, len(p.Work.Axes.Names))
	var last *offering.Feasibility
	for _, at := range chosen {
		n := ranked[at].node
		cost += p.Offers.Cost(n.Offering)
		for _, f := range n.Fills {
			d := p.Demands[f.Demand]
			if d.Feasibility != last {
				set.And(d.Feasibility.Buyable)
				last = d.Feasibility
			}
			sum.Add(d.Need, int64(f.Count))
		}
	}
	p.Offers.KeepRoom(set, sum)
	// Nodes that are tried use scratch sets themselves.
	columns := make([]int, 0, mergeColumns)
	for j := range set.All() {
		if p.Offers.Cost(j) >= cost-minimumGain || len(columns) == cap(columns) {
			break
		}
		columns = append(columns, j)
	}
	if len(columns) == 0 {
		return nil
	}
	for _, at := range chosen {
		k.Take(ranked[at].node.Offering, -1)
	}
	defer func() {
		for _, at := range chosen {
			k.Take(ranked[at].node.Offering, 1)
		}
	}()
	for _, j := range columns {
		k.work += triesWork
		if k.Allows(j) {
			if n := k.holding(j, ranked, chosen); n != nil {
				return n
			}
		}
	}
	return nil
}

// holding is a node of the offering's with all that is on the chosen nodes; nil if it cannot have
// that.
func (k *packer) holding(column int, ranked []rankedNode, chosen []int) *placement.PlannedNode {
	p := k.p
	n := k.scratch
	p.Reset(n, column)
	for _, at := range chosen {
		for _, f := range ranked[at].node.Fills {
			d := p.Demands[f.Demand]
			if p.Room(n, d, f.Count) < f.Count {
				return nil
			}
			p.Place(n, d, f.Count)
		}
	}
	if !p.CanMeetMinValues(n) {
		return nil
	}
	return n.Clone()
}

// mergeAll merges nodes as long as any set of a few, or all of them, may be one cheaper node; a
// single one gets a cheaper offering. It is for plans of few nodes.
func (k *packer) mergeAll(ranked []rankedNode, replace func(chosen []int, made []*placement.PlannedNode)) {
	var visit func(from int, chosen []int, size, count int) bool
	visit = func(from int, chosen []int, size, count int) bool {
		if len(chosen) == size {
			n := k.merged(ranked, chosen)
			if n == nil {
				return false
			}
			for _, at := range chosen {
				k.Take(ranked[at].node.Offering, -1)
			}
			k.Take(n.Offering, 1)
			replace(slices.Clone(chosen), []*placement.PlannedNode{n})
			return true
		}
		for at := from; at < count; at++ {
			if visit(at+1, append(chosen, at), size, count) {
				return true
			}
		}
		return false
	}
	count := len(ranked)
	if count > mergeNodes {
		return
	}
	if visit(0, nil, count, count) {
		return
	}
	for size := 1; size <= min(mergeSet, count-1); size++ {
		if visit(0, nil, size, count) {
			return
		}
	}
}
