package evaluation

import (
	"cmp"
	"slices"

	"github.com/whittle-dev/whittle/shared/consolidation/state"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planning"
)

// Hold asks the planner whether the step's pods still find places on the nodes that they were
// planned for. It returns the step with the places that the planner found. It returns nil if a pod
// finds none, or if one moves to another launch, or between launches and existing nodes. Work is
// the work of the question.
func (e *Evaluator) Hold(s *Step) (held *Step, work int) {
	asked := e.fleet.Planner()
	asked.SkipImprovement = true
	if !e.WantsNodes(s.Delete) {
		asked.NodePools = nil
	}
	leaving := map[*state.Node]bool{}
	for _, n := range s.Delete {
		leaving[n] = true
		for _, pod := range n.Pods {
			asked.Pods = append(asked.Pods, pod.Successor())
		}
	}
	byName := e.showForHold(&asked, s, leaving)
	work = Cost(len(asked.Nodes), s.PodsMoved())
	decided := planning.Solve(&asked)
	if len(decided.Unplaced)+len(decided.NodeClaims) > 0 {
		return nil, work
	}
	held = &Step{Change: state.Change{Delete: s.Delete, Launch: s.Launch, To: map[string]state.Destination{}}}
	for _, nomination := range decided.Nominations {
		at := byName[cmp.Or(nomination.NodeName, nomination.NodeClaimName)]
		was := s.To[nomination.Pod.String()]
		if (at.Node == nil) != (was.Node == nil) || at.Launch != was.Launch {
			return nil, work
		}
		held.To[nomination.Pod.String()] = at
	}
	return held, work
}

// showForHold adds nodes to the question, and returns each node's destination by name. It adds the
// nodes with related pods, the destinations of the step, and the step's launches as nodes in
// flight. Only the latter two have room.
func (e *Evaluator) showForHold(
	asked *plan.Snapshot, s *Step, leaving map[*state.Node]bool,
) map[string]state.Destination {
	others := e.fleet.Remaining(leaving)
	seen, takes := e.fleet.RelatedTo(s.Delete, others), map[*state.Node]bool{}
	for _, to := range s.To {
		seen[to.Node], takes[to.Node] = true, true
	}
	byName := map[string]state.Destination{}
	others = slices.DeleteFunc(others, func(n *state.Node) bool { return !seen[n] })
	for rank, n := range state.FillOrder(others) {
		shown := *e.show(n)
		shown.Rank = rank
		if !takes[n] && shown.Node != nil {
			// Its pods count, but its room is for others.
			shown.Node = full(shown.Node)
		}
		asked.Nodes = append(asked.Nodes, shown)
		byName[n.Name] = state.Destination{Node: n}
	}
	for i, launch := range s.Launch {
		// A node in flight holds the pods that it was planned for before it takes others.
		n := e.fleet.NewLaunched(launch)
		asked.Nodes = append(asked.Nodes, plan.Node{NodeClaim: n.Source.NodeClaim})
		byName[n.Name] = state.Destination{Launch: i}
	}
	return byName
}
