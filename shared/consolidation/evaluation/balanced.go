package evaluation

import (
	"github.com/whittle-dev/whittle/shared/consolidation/state"
)

// balancedScore is the least score of a move under the policy Balanced: the part of the pool's
// price that it saves, divided by the part of the pool's disturbance that it costs. It is
// Karpenter's 1/k with k = 2. https://karpenter.sh/docs/concepts/disruption/#consolidation
const balancedScore = 0.5

// poolTotals are a pool's price and disturbance. Each node counts as one disruption beside its
// pods.
type poolTotals struct{ price, disturbance float64 }

func readTotals(f *state.Fleet) map[*state.Pool]poolTotals {
	totals := map[*state.Pool]poolTotals{}
	for i, disturbance := range state.Disturbances(f.Nodes) {
		n := f.Nodes[i]
		if n.Pool == nil {
			continue
		}
		t := totals[n.Pool]
		t.price += n.Price
		t.disturbance += 1 + disturbance
		totals[n.Pool] = t
	}
	return totals
}

// isBalanced tells whether the step saves enough for its disturbance in each pool with the policy
// Balanced. A step over several pools saves for each in proportion to its deleted nodes' price.
func (e *Evaluator) isBalanced(s *Step) bool {
	price := 0.0
	byPool := map[*state.Pool]poolTotals{}
	var pools []*state.Pool
	for i, disturbance := range state.Disturbances(s.Delete) {
		n := s.Delete[i]
		price += n.Price
		t, seen := byPool[n.Pool]
		if !seen {
			pools = append(pools, n.Pool)
		}
		t.price += n.Price
		// A launched node does not exist yet, and its pods move in any case.
		if n.Launched == nil {
			t.disturbance += 1 + disturbance
		}
		byPool[n.Pool] = t
	}
	for _, p := range pools {
		if !p.API.WeighsDisturbance() {
			continue
		}
		part, total := byPool[p], e.totals[p]
		if total.price <= 0 || price <= 0 {
			return false
		}
		saves := s.Saved * (part.price / price) / total.price
		if saves < balancedScore*part.disturbance/total.disturbance {
			return false
		}
	}
	return true
}
