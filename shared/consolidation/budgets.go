package consolidation

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
)

// bestFirst sorts the moves in place by SavingsPerDisturbance, then by name.
func bestFirst(moves []Move) []Move {
	slices.SortFunc(moves, func(a, b Move) int {
		return cmp.Or(
			-cmp.Compare(a.SavingsPerDisturbance(), b.SavingsPerDisturbance()),
			strings.Compare(a.Delete[0].NodeClaim, b.Delete[0].NodeClaim),
		)
	})
	return moves
}

// withinBudgets takes moves in their order as far as the budgets of their pools allow. A move that
// does not fit does not stop smaller moves after it.
func withinBudgets(moves []Move, allowed map[string]Allowance) (now, waiting []Move) {
	if allowed == nil {
		return moves, nil
	}
	used := map[string]Allowance{}
	for _, m := range moves {
		wanted := map[string]Allowance{}
		fits := true
		for _, leaving := range m.Delete {
			pool := leaving.NodePool
			takes, known := wanted[pool]
			if !known {
				takes = used[pool]
			}
			if m.Reason == api.DisruptionReasonEmpty {
				takes.Empty++
			} else {
				takes.Underutilized++
			}
			wanted[pool] = takes
			fits = fits && takes.within(allowed[pool], m.Reason)
		}
		if !fits {
			waiting = append(waiting, m)
			continue
		}
		for pool, takes := range wanted {
			used[pool] = takes
		}
		now = append(now, m)
	}
	return now, waiting
}

// within tells whether this many nodes may be deleted for the reason. Nodes deleted for one reason
// count against budgets for the other, because a budget counts every leaving node.
func (a Allowance) within(allowed Allowance, reason api.DisruptionReason) bool {
	if reason == api.DisruptionReasonEmpty {
		return a.Empty+a.Underutilized <= allowed.Empty
	}
	return a.Empty+a.Underutilized <= allowed.Underutilized
}
