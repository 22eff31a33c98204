package exact

import (
	"cmp"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/lp"
)

// readNodes fills in the nodes that no other one dominates: one that costs no more, takes no more
// of any limit, and holds all that the other one could.
func (s *solver) readNodes() {
	order := make([]int, len(s.Nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Nodes[a].Price, s.Nodes[b].Price) })
	s.scale = make([]float64, s.axes)
	for _, at := range order {
		n := node{at: at, free: make([]int64, s.axes)}
		s.readRoom(&n)
		if len(n.bin.Fits) == 0 || slices.ContainsFunc(s.nodes, func(o node) bool { return s.dominates(&o, &n) }) {
			continue
		}
		s.nodes = append(s.nodes, n)
		for a, free := range n.free {
			s.scale[a] = max(s.scale[a], float64(free))
		}
	}
	for i := range s.nodes {
		s.readBin(&s.nodes[i])
	}
}

// readRoom fills in the kinds that fit on the node, and what they could use of it.
func (s *solver) readRoom(n *node) {
	source := &s.Nodes[n.at]
	for k := range s.Kinds {
		kind := &s.Kinds[k]
		if kind.Count == 0 || source.Kinds&(1<<k) == 0 || !fits(kind.Need, source.Free) {
			continue
		}
		n.bin.Fits = append(n.bin.Fits, k)
		for a, need := range kind.Need {
			n.free[a] += need * int64(kind.Count)
		}
	}
	for a := range n.free {
		n.free[a] = min(n.free[a], max(source.Free[a], 0))
	}
}

func fits(need, free []int64) bool {
	for a, amount := range need {
		if amount > free[a] && amount > 0 {
			return false
		}
	}
	return true
}

// dominates reports whether a node that costs no more makes the other one superfluous.
func (s *solver) dominates(cheap, n *node) bool {
	if s.mask(n)&^s.mask(cheap) != 0 {
		return false
	}
	for a, free := range n.free {
		if cheap.free[a] < free {
			return false
		}
	}
	for _, use := range s.Nodes[cheap.at].Uses {
		if !slices.ContainsFunc(s.Nodes[n.at].Uses, func(u Use) bool {
			return u.Limit == use.Limit && u.Amount >= use.Amount
		}) {
			return false
		}
	}
	return true
}

// readBin fills in the node as the knapsack reads it: the amounts as parts of the greatest node's.
// Further axes stand for the units that there are of each kind. With them, a node that holds nearly
// all units has the right weights.
func (s *solver) readBin(n *node) {
	bin := lp.Bin{Fits: n.bin.Fits, Free: make([]float64, s.axes, s.axes+len(n.bin.Fits))}
	for a, free := range n.free {
		if s.scale[a] > 0 {
			bin.Free[a] = float64(free) / s.scale[a]
		}
	}
	bin.Needs = make([]float64, 0, len(bin.Fits)*(s.axes+len(bin.Fits)))
	for i, k := range bin.Fits {
		bin.Free = append(bin.Free, 1)
		for a, need := range s.Kinds[k].Need {
			amount := 0.0
			if need > 0 {
				amount = float64(need) / s.scale[a]
			}
			bin.Needs = append(bin.Needs, amount)
		}
		for j := range bin.Fits {
			amount := 0.0
			if i == j {
				amount = 1 / float64(s.Kinds[k].Count)
			}
			bin.Needs = append(bin.Needs, amount)
		}
	}
	n.bin = bin
}
