package consolidation

import (
	"errors"
	"fmt"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation/eligibility"
	"github.com/whittle-dev/whittle/shared/consolidation/evaluation"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
)

// Check validates a move that was proposed on an earlier snapshot. It returns the move that deletes
// the nodes of the claims now, and plans its launches again. The error tells why the nodes stay:
// one of them may not be deleted any more, the budgets forbid it, or the move is not worth it.
func Check(s *Input, claims []string) (*Move, error) {
	f := state.New(s.Cluster, s.Now)
	eligibility.Decide(f, s.Cluster, s.Budgets)
	nodes, err := candidates(f, claims)
	if err != nil {
		return nil, err
	}
	// Dual prices order the nodes that take pods. Another order than that of Solve is another question.
	f.ReadDualPrices()
	evaluator := evaluation.New(f)
	evaluator.LetConcentrate() // The search has weighed that against its other moves.
	whole := evaluator.Whole(nodes, evaluation.Options{})
	if !whole.Refusal.IsZero() {
		return nil, errors.New(whole.Refusal.Message)
	}
	f.Apply(&whole.Change)
	moves := movesOf(f.Moves())
	if len(moves) != 1 {
		return nil, fmt.Errorf("there is no node to delete")
	}
	moves[0].Reason = api.DisruptionReasonEmpty
	for _, n := range nodes {
		if !n.IsEmpty() {
			moves[0].Reason = api.DisruptionReasonUnderutilized
		}
	}
	if _, waiting := withinBudgets(moves, s.Allowed); len(waiting) > 0 {
		return nil, fmt.Errorf("the disruption budgets of its NodePool do not allow it now")
	}
	return &moves[0], nil
}

// candidates are the nodes of the claims, each once. The error names a claim whose node may not be
// deleted.
func candidates(f *state.Fleet, claims []string) ([]*state.Node, error) {
	byClaim := nodesByClaim(f)
	seen := map[*state.Node]bool{}
	var nodes []*state.Node
	for _, name := range claims {
		n := byClaim[name]
		switch {
		case n == nil:
			return nil, fmt.Errorf("nodeclaim %q is gone", name)
		case !n.Candidate:
			return nil, fmt.Errorf("nodeclaim %q stays: %s", name, n.Ineligible.Message)
		case !seen[n]:
			seen[n] = true
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}
