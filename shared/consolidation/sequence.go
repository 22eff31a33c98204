package consolidation

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/plan"
)

// inSequence takes the moves one after the other, each on the fleet as those before it leave it. Pods that spread or affinity binds to others may find no place when only some of
// the moves have been made: what they come to is planned afresh then, and a move that is not worth its while that way waits, and comes again once the others are through. So do those for which no work is left to look.
func (f *fleet) inSequence(moves []Move) (now, waiting []Move) {
	f.reset()
	byClaim := map[string]*node{}
	for _, n := range f.nodes {
		if n.source.NodeClaim != nil {
			byClaim[n.source.NodeClaim.Name] = n
		}
	}
	for i := range moves {
		s := f.stepOf(&moves[i], byClaim)
		m := &moves[i]
		if isBound(s.leaving) && !f.holds(s) {
			if s, m = f.afresh(s.leaving); s == nil {
				waiting = append(waiting, moves[i])
				continue
			}
		}
		f.make(s, &group{})
		now = append(now, *m)
	}
	return now, waiting
}

// afresh is what taking the same nodes away comes to on the fleet as it is now; nil if that is not worth its while, or no work is left to look.
func (f *fleet) afresh(nodes []*node) (*step, *Move) {
	if f.work >= workLimit {
		return nil, nil
	}
	leaving := map[*node]bool{}
	var pods []*pod
	for _, n := range nodes {
		leaving[n] = true
		pods = append(pods, n.pods...)
	}
	f.work += 2 * cost(len(f.nodes), len(pods))
	s := f.whole(nodes, leaving)
	if s.why != "" {
		return nil, nil
	}
	members, at := slices.Clone(nodes), map[*pod]*node{}
	for _, launch := range s.launches {
		members = append(members, f.newLaunched(launch, nil))
	}
	for _, pod := range pods {
		to := s.to[pod.ref.String()]
		if to.node == nil {
			to.node = members[len(nodes)+to.launch]
		}
		at[pod] = to.node
	}
	slices.SortFunc(pods, comparePods)
	m := f.move(members, pods, at)
	return s, &m
}

// isBound tells whether a pod of the nodes is bound to others, or others to it.
func isBound(nodes []*node) bool {
	for _, n := range nodes {
		for _, pod := range n.pods {
			if pod.bound || pod.counted {
				return true
			}
		}
	}
	return false
}

// stepOf is the move as a step.
func (f *fleet) stepOf(m *Move, byClaim map[string]*node) *step {
	s := &step{to: map[string]destination{}}
	for _, leaving := range m.Delete {
		s.leaving = append(s.leaving, byClaim[leaving.NodeClaim])
	}
	byName := map[string]*node{}
	for _, n := range f.nodes {
		byName[n.name] = n
	}
	for i := range m.Launch {
		s.launches = append(s.launches, &m.Launch[i])
		for _, pod := range m.Launch[i].Pods {
			s.to[pod.String()] = destination{launch: i}
		}
	}
	for _, place := range m.Places {
		name := place.NodeName
		if name == "" {
			name = place.NodeClaimName
		}
		s.to[place.Pod.String()] = destination{node: byName[name]}
	}
	return s
}

// holds tells whether the planner finds a place for all pods of the step on the nodes that there are and those that it launches.
func (f *fleet) holds(s *step) bool {
	if f.work >= workLimit {
		return false
	}
	leaving := map[*node]bool{}
	pods := 0
	for _, n := range s.leaving {
		leaving[n] = true
		pods += len(n.pods)
	}
	asked := *f.cluster
	asked.Rough, asked.NodePools = true, nil
	for _, n := range s.leaving {
		for _, pod := range n.pods {
			asked.Pods = append(asked.Pods, successor(pod.object))
		}
	}
	others := f.others(leaving)
	seen := f.concerned(others, s.leaving)
	for _, to := range s.to {
		seen[to.node] = true
	}
	for rank, n := range ordered(slices.DeleteFunc(others, func(n *node) bool { return !seen[n] })) {
		shown := *f.show(n)
		shown.Rank = rank
		asked.Nodes = append(asked.Nodes, shown)
	}
	for _, launch := range s.launches {
		// As a node on its way, which has the pods that it was planned for before others.
		n := f.newLaunched(launch, nil)
		asked.Nodes = append(asked.Nodes, plan.Node{NodeClaim: n.source.NodeClaim})
	}
	f.work += cost(len(asked.Nodes), pods)
	return len(plan.Solve(&asked).Unplaced) == 0
}
