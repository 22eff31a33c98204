package consolidation

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation/eligibility"
	"github.com/whittle-dev/whittle/shared/consolidation/evaluation"
	"github.com/whittle-dev/whittle/shared/consolidation/search"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
)

// Solve finds moves that make the fleet cheaper. Each of them is worth its disturbance. The plan
// shares memory with the snapshot and within itself: copy a claim before changing it.
func Solve(s *Input) *Plan {
	f := state.New(s.Cluster, s.Now)
	eligibility.Decide(f, s.Cluster, s.Budgets)
	p := &Plan{Problems: problems(f)}
	for _, n := range f.Nodes {
		if n.Source.NodeClaim != nil {
			p.PricePerHour += n.Price
			p.ExtrasPerHour += n.Extras
			p.RiskPerHour += n.Risk
		}
	}
	evaluator := evaluation.New(f)
	found := search.Run(f, evaluator, underutilized(s.Allowed))
	moves, waiting, stays := validated(f, evaluator, found, bestFirst(movesOf(found.Moves)), s.Allowed)
	p.Moves, p.Waiting = moves, bestFirst(waiting)
	p.Stays = staysOf(append(found.Stays, stays...))
	p.AfterPerHour, p.RiskAfterPerHour = p.PricePerHour, p.RiskPerHour
	for i := range p.Moves {
		p.AfterPerHour -= p.Moves[i].SavedPerHour
		p.RiskAfterPerHour -= p.Moves[i].RiskSavedPerHour
	}
	return p
}

// underutilized is how many nodes of each pool one move may delete, or nil if nothing limits them.
func underutilized(allowed map[string]Allowance) map[string]int {
	if allowed == nil {
		return nil
	}
	limits := make(map[string]int, len(allowed))
	for pool, allowance := range allowed {
		limits[pool] = allowance.Underutilized
	}
	return limits
}

func problems(f *state.Fleet) []Problem {
	var problems []Problem
	for _, pool := range f.Pools() {
		if pool.Problem != "" {
			problems = append(problems, Problem{NodePool: pool.API.Name, Message: pool.Problem})
		}
	}
	return problems
}

func staysOf(found []search.Stay) []Stay {
	var stays []Stay
	for _, stay := range found {
		n, claim := stay.Node, stay.Node.Source.NodeClaim
		made := Stay{
			NodeClaim: claim.Name, NodePool: claim.Labels[api.NodePoolLabelKey], PricePerHour: n.Price,
			ExtrasPerHour: n.Extras, RiskPerHour: n.Risk, Because: stay.Reason.Because, Message: stay.Reason.Message,
		}
		if n.Source.Node != nil {
			made.Node = n.Source.Node.Name
		}
		stays = append(stays, made)
	}
	slices.SortFunc(stays, func(a, b Stay) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.NodeClaim, b.NodeClaim))
	})
	return stays
}
