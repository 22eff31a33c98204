package consolidation

import "github.com/whittle-dev/whittle/shared/api"

// balancedScore is what a move of the policy Balanced must reach: its part of its pool's price that it saves, in parts of its pool's disturbance that it costs. Karpenter's
// 1/k with k = 2. https://karpenter.sh/docs/concepts/disruption/#consolidation
const balancedScore = 0.5

// poolTotals are a pool's price and disturbance in all, as Balanced counts them: each node costs one disruption beside its pods'.
type poolTotals struct{ price, disturbance float64 }

func (f *fleet) readTotals() map[*pool]poolTotals {
	totals := map[*pool]poolTotals{}
	for _, n := range f.nodes {
		if n.pool == nil || n.launched != nil {
			continue
		}
		t := totals[n.pool]
		t.price += n.price
		t.disturbance += 1 + n.disturbance()
		totals[n.pool] = t
	}
	return totals
}

// balanced tells whether each pool that wants balance saves enough by the step for what it disturbs. A step over several pools saves for each its part of what the nodes cost
// that go.
func (f *fleet) balanced(s *step) bool {
	price := 0.0
	byPool := map[*pool]poolTotals{}
	var pools []*pool
	for _, n := range s.leaving {
		price += n.price
		t, seen := byPool[n.pool]
		if !seen {
			pools = append(pools, n.pool)
		}
		t.price += n.price
		// A node that a move has launched is not there yet, and its pods are moved anyway.
		if n.launched == nil {
			t.disturbance += 1 + n.disturbance()
		}
		byPool[n.pool] = t
	}
	for _, p := range pools {
		if p.api.Spec.Disruption.ConsolidationPolicy != api.ConsolidationPolicyBalanced {
			continue
		}
		part, total := byPool[p], f.totals[p]
		if total.price <= 0 || price <= 0 {
			return false
		}
		saves := s.saved * (part.price / price) / total.price
		if saves < balancedScore*part.disturbance/total.disturbance {
			return false
		}
	}
	return true
}
