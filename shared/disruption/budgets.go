package disruption

import (
	"fmt"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/budget"
)

// Allowances returns how many more nodes of each pool the budgets allow for the reason now. Closed
// has a notice for each pool with nodes whose budgets allow none, and for a budget that cannot be read.
func (s *Cluster) Allowances(
	reason api.DisruptionReason, now time.Time,
) (allowed map[string]int, closed map[string]Notice) {
	counts := s.counts()
	allowed, closed = map[string]int{}, map[string]Notice{}
	for i := range s.Pools {
		pool := &s.Pools[i]
		number, err := budget.Allowed(pool, counts[pool.Name], reason, now)
		// A pool without nodes has nothing that a budget keeps, and Karpenter says nothing either.
		if allowed[pool.Name] = number; number == 0 && (err != nil || counts[pool.Name].Nodes > 0) {
			closed[pool.Name] = budgetNotice(pool, reason, err)
		}
	}
	return allowed, closed
}

// budgetNotice says in Karpenter's words that budgets let no node go. For a budget that cannot be
// read it says how to mend it.
func budgetNotice(pool *api.NodePool, reason api.DisruptionReason, err error) Notice {
	if err != nil {
		return Notice{Pool: pool, Message: err.Error()}
	}
	return Notice{
		Pool: pool, Message: fmt.Sprintf("No allowed disruptions for disruption reason %s due to blocking budget", reason),
	}
}
