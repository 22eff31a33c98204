package consolidation

import (
	"cmp"
	"slices"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// wholeLimit bounds what the planner is asked for one plan with seeing whether its moves hold one after the other: see cost. A search that does all its work leaves half as much for that.
const wholeLimit = workLimit + workLimit/2

// inSequence takes the moves one after the other, each on the fleet as those before it leave it. Pods that spread or affinity binds to others may find no place when only some of
// the moves have been made: what they come to is planned afresh then, and a move that is not worth its while that way waits, and comes again once the others are through. So do those for which no work is left to look.
func (f *fleet) inSequence(moves []Move) (now, waiting []Move) {
	left := max(workLimit/2, wholeLimit-f.work)
	f.reset()
	byClaim := map[string]*node{}
	for _, n := range f.nodes {
		if n.source.NodeClaim != nil {
			byClaim[n.source.NodeClaim.Name] = n
		}
	}
	f.closed = map[*node]bool{}
	for i := range moves {
		for _, leaving := range moves[i].Delete {
			f.closed[byClaim[leaving.NodeClaim]] = true
		}
	}
	otherwise := map[*node]bool{} // what pods have come to, or have not, other than it was planned
	for i := range moves {
		s := f.stepOf(&moves[i], byClaim)
		m := &moves[i]
		if isBound(s.leaving) || s.goesTo(otherwise) {
			planned := s
			if s = f.held(planned, left); s == nil {
				s = f.afresh(planned.leaving, left)
			}
			if s == nil {
				waiting = append(waiting, moves[i])
				continue
			}
			m = f.moveOf(s)
			for pod, to := range s.to {
				if was := planned.to[pod]; was.node != to.node {
					otherwise[was.node], otherwise[to.node] = true, true
				}
			}
		}
		f.make(s, &group{})
		now = append(now, *m)
	}
	return now, waiting
}

// afresh is what taking the same nodes away comes to on the fleet as it is now; nil if that is not worth its while, or the limit's work is done.
func (f *fleet) afresh(nodes []*node, limit int) *step {
	if f.work >= limit {
		return nil
	}
	leaving := map[*node]bool{}
	pods := 0
	for _, n := range nodes {
		leaving[n] = true
		pods += len(n.pods)
	}
	f.work += 2 * cost(len(f.nodes), pods)
	s := f.whole(nodes, leaving)
	if s.why != "" {
		return nil
	}
	return s
}

// moveOf is the step as a move.
func (f *fleet) moveOf(s *step) *Move {
	members, at := slices.Clone(s.leaving), map[*pod]*node{}
	for _, launch := range s.launches {
		members = append(members, f.newLaunched(launch, nil))
	}
	var pods []*pod
	for _, n := range s.leaving {
		for _, pod := range n.pods {
			to := s.to[pod.ref.String()]
			if to.node == nil {
				to.node = members[len(s.leaving)+to.launch]
			}
			at[pod] = to.node
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, comparePods)
	m := f.move(members, pods, at)
	return &m
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

// goesTo tells whether pods of the step go to one of the nodes.
func (s *step) goesTo(nodes map[*node]bool) bool {
	for _, to := range s.to {
		if to.node != nil && nodes[to.node] {
			return true
		}
	}
	return false
}

// held is the step with its pods where the planner places them on the nodes that they were to go to, and each launch with the pods that it was planned for; nil if it does not find places for
// all, or the limit's work is done.
func (f *fleet) held(s *step, limit int) *step {
	if f.work >= limit {
		return nil
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
			asked.Pods = append(asked.Pods, scheduling.Successor(pod.object))
		}
	}
	others := f.others(leaving)
	seen, takes := f.concerned(others, s.leaving), map[*node]bool{}
	for _, to := range s.to {
		seen[to.node], takes[to.node] = true, true
	}
	byName := map[string]destination{}
	for rank, n := range ordered(slices.DeleteFunc(others, func(n *node) bool { return !seen[n] })) {
		shown := *f.show(n)
		shown.Rank = rank
		if !takes[n] && shown.Node != nil {
			// Its pods count, and its room is others'.
			shown.Node = full(shown.Node)
		}
		asked.Nodes = append(asked.Nodes, shown)
		byName[n.name] = destination{node: n}
	}
	for i, launch := range s.launches {
		// As a node on its way, which has the pods that it was planned for before others.
		n := f.newLaunched(launch, nil)
		asked.Nodes = append(asked.Nodes, plan.Node{NodeClaim: n.source.NodeClaim})
		byName[n.name] = destination{launch: i}
	}
	f.work += cost(len(asked.Nodes), pods)
	decided := plan.Solve(&asked)
	if len(decided.Unplaced) > 0 {
		return nil
	}
	held := &step{leaving: s.leaving, launches: s.launches, to: map[string]destination{}}
	for _, nomination := range decided.Nominations {
		at, was := byName[cmp.Or(nomination.NodeName, nomination.NodeClaimName)], s.to[nomination.Pod.String()]
		if (at.node == nil) != (was.node == nil) || at.launch != was.launch {
			return nil
		}
		held.to[nomination.Pod.String()] = at
	}
	return held
}
