package consolidation

import (
	"cmp"
	"slices"

	"github.com/whittle-dev/whittle/shared/consolidation/evaluation"
	"github.com/whittle-dev/whittle/shared/consolidation/search"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
	"github.com/whittle-dev/whittle/shared/plan"
)

// validationLimit bounds the work of search and validation together: see evaluation.Cost. A search
// that uses all of its work leaves half as much for validation.
const validationLimit = search.WorkLimit + search.WorkLimit/2

// validation applies the moves one after the other to the fleet before all moves. Pods that spread
// or affinity relates to others may find no place while only some moves are made. A launch may need
// room within limits that only a later move leaves. Validation plans such a move again. If the move
// is then not worth it, or no work is left, it waits until the others are carried out.
type validation struct {
	fleet     *state.Fleet
	evaluator *evaluation.Evaluator
	// options keep pods off nodes that a later move deletes: they would move twice.
	options evaluation.Options
	limit   int
	work    int
	byClaim map[string]*state.Node
	// deviations are nodes whose pods differ from those that the search planned for them.
	deviations map[*state.Node]bool
}

// validated splits the moves, of which the best come first. Now are those that hold and that the
// budgets allow. Where none of these holds, the next ones get the budgets. Stays are the nodes of
// the moves that do not hold.
func validated(
	f *state.Fleet, evaluator *evaluation.Evaluator, found search.Result, moves []Move, allowed map[string]Allowance,
) (now, waiting []Move, stays []search.Stay) {
	f.Reset()
	v := &validation{
		fleet: f, evaluator: evaluator, limit: max(search.WorkLimit/2, validationLimit-found.Work), byClaim: nodesByClaim(f),
	}
	for {
		within, beyond := withinBudgets(moves, allowed)
		v.start(within, found.Spared)
		held, unmade, refused := v.validate(within)
		stays = append(stays, refused...)
		if len(held) > 0 || len(within) == 0 {
			return held, append(unmade, beyond...), stays
		}
		moves = beyond
	}
}

// start prepares the validation of some of the moves. No move has been applied yet.
func (v *validation) start(moves []Move, spared map[*state.Node]bool) {
	v.options = evaluation.Options{Spared: spared, Closed: map[*state.Node]bool{}}
	v.deviations = map[*state.Node]bool{}
	for i := range moves {
		for _, leaving := range moves[i].Delete {
			v.options.Closed[v.byClaim[leaving.NodeClaim]] = true
		}
	}
}

func nodesByClaim(f *state.Fleet) map[string]*state.Node {
	byClaim := map[string]*state.Node{}
	for _, n := range f.Nodes {
		if n.Source.NodeClaim != nil {
			byClaim[n.Source.NodeClaim.Name] = n
		}
	}
	return byClaim
}

// validate splits the moves. Now are the moves that hold after those before them, as they are then.
// Waiting are the others, as they were planned. Where none holds, the others have nothing to wait for:
// the first that is possible alone takes their place, and stays are the nodes of all if none is.
func (v *validation) validate(moves []Move) (now, waiting []Move, stays []search.Stay) {
	now, waiting = v.inTurn(moves)
	if len(now) > 0 || len(waiting) == 0 {
		return now, waiting, nil
	}
	for i := range waiting {
		if step := v.alone(v.stepOf(&waiting[i])); step != nil {
			found := v.fleet.MoveOf(&step.Change)
			return []Move{moveOf(&found)}, append(waiting[:i:i], waiting[i+1:]...), nil
		}
	}
	for i := range waiting {
		for _, n := range v.stepOf(&waiting[i]).Delete {
			stays = append(stays, search.Stay{Node: n, Reason: state.Refusal{
				Because: state.Needed, Message: "its pods find places only together with those of other nodes",
			}})
		}
	}
	return nil, nil, stays
}

// alone plans the step as the only one. Its pods may then come to nodes that later moves delete.
func (v *validation) alone(step *evaluation.Step) *evaluation.Step {
	if v.work >= v.limit {
		return nil
	}
	v.work += 2 * evaluation.Cost(len(v.fleet.Nodes), step.PodsMoved())
	if whole := v.evaluator.Whole(step.Delete, evaluation.Options{Spared: v.options.Spared}); whole.Refusal.IsZero() {
		return whole
	}
	return nil
}

// inTurn applies each move that holds.
func (v *validation) inTurn(moves []Move) (now, waiting []Move) {
	for i := range moves {
		planned := v.stepOf(&moves[i])
		if !state.HasRelated(planned.Delete) && !v.goesToDeviation(planned) && !v.isLimited(planned) {
			v.fleet.Apply(&planned.Change)
			now = append(now, moves[i])
			continue
		}
		step := v.hold(planned)
		if step == nil {
			waiting = append(waiting, moves[i])
			continue
		}
		found := v.fleet.MoveOf(&step.Change)
		now = append(now, moveOf(&found))
		for pod, to := range step.To {
			if was := planned.To[pod]; was.Node != to.Node {
				v.deviations[was.Node], v.deviations[to.Node] = true, true
			}
		}
		v.fleet.Apply(&step.Change)
	}
	return now, waiting
}

// hold returns the step as it is possible after the moves before it, or nil if it is not. It spends
// the remaining work first on the planned places, and then on planning the nodes again.
func (v *validation) hold(planned *evaluation.Step) *evaluation.Step {
	if v.work >= v.limit {
		return nil
	}
	if !v.isLimited(planned) {
		held, work := v.evaluator.Hold(planned)
		v.work += work
		if held != nil {
			return held
		}
		if v.work >= v.limit {
			return nil
		}
	}
	v.work += 2 * evaluation.Cost(len(v.fleet.Nodes), planned.PodsMoved())
	if whole := v.evaluator.Whole(planned.Delete, v.options); whole.Refusal.IsZero() {
		return whole
	}
	return nil
}

// isLimited tells whether the step launches a node of a pool with limits. Hold does not know them.
func (v *validation) isLimited(step *evaluation.Step) bool {
	return slices.ContainsFunc(step.Launch, func(launch *plan.PlannedNodeClaim) bool {
		p := v.fleet.PoolOf(launch)
		return p != nil && v.fleet.IsLimited(p)
	})
}

// goesToDeviation tells whether a pod of the step goes to a node with other pods than planned.
func (v *validation) goesToDeviation(step *evaluation.Step) bool {
	for _, to := range step.To {
		if to.Node != nil && v.deviations[to.Node] {
			return true
		}
	}
	return false
}

// stepOf is the move as a step.
func (v *validation) stepOf(m *Move) *evaluation.Step {
	step := &evaluation.Step{Change: state.Change{To: map[string]state.Destination{}}}
	for _, leaving := range m.Delete {
		step.Delete = append(step.Delete, v.byClaim[leaving.NodeClaim])
	}
	byName := map[string]*state.Node{}
	for _, n := range v.fleet.Nodes {
		byName[n.Name] = n
	}
	for i := range m.Launch {
		step.Launch = append(step.Launch, &m.Launch[i])
		for _, pod := range m.Launch[i].Pods {
			step.To[pod.String()] = state.Destination{Launch: i}
		}
	}
	for _, place := range m.Places {
		step.To[place.Pod.String()] = state.Destination{Node: byName[cmp.Or(place.NodeName, place.NodeClaimName)]}
	}
	return step
}
