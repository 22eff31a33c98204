package disruption

import (
	"fmt"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/budget"
	"github.com/whittle-dev/whittle/shared/freeze"
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
			closed[pool.Name] = budgetNotice(pool, counts[pool.Name], reason, budget.Allowed, now)
		}
	}
	return allowed, closed
}

// allowed is budget.Allowed or budget.AllowedAtAnyTime.
type allowed func(*api.NodePool, budget.PoolCount, api.DisruptionReason, time.Time) (int, error)

// budgetNotice says in Karpenter's words that budgets let no node go. For a budget that cannot be
// read it says how to mend it. Nodes that are not ready use up a budget until somebody acts. Nodes
// that are leaving use it up for a while only.
func budgetNotice(
	pool *api.NodePool, count budget.PoolCount, reason api.DisruptionReason, allows allowed, now time.Time,
) Notice {
	if held := pool.Frozen(reason, now); held != nil {
		return frozenNotice(pool, reason, held)
	}
	granted, err := allows(pool, budget.PoolCount{Nodes: count.Nodes}, reason, now)
	if err != nil {
		return Notice{Pool: pool, Message: err.Error(), Mend: true}
	}
	if anyTime, _ := budget.AllowedAtAnyTime(pool, count, reason, now); granted == 0 && anyTime > 0 {
		return Notice{Pool: pool, Message: fmt.Sprintf(
			"No allowed disruptions for disruption reason %s: %s", reason, pool.Maintenance(now))}
	}
	message := fmt.Sprintf("No allowed disruptions for disruption reason %s due to blocking budget", reason)
	if granted == 0 {
		return Notice{Pool: pool, Message: message}
	}
	staying := budget.PoolCount{Nodes: count.Nodes, NotReady: count.NotReady}
	if left, _ := allows(pool, staying, reason, now); left == 0 {
		return Notice{Pool: pool, Message: fmt.Sprintf("%s: %d nodes that are not ready use it up", message, count.NotReady)}
	}
	return Notice{Pool: pool, Message: message + ", which nodes that are leaving use up", Passing: true}
}

// frozenNotice says that a freeze lets no node go.
func frozenNotice(pool *api.NodePool, reason api.DisruptionReason, held *freeze.Freeze) Notice {
	return Notice{Pool: pool, Mend: held.Problem != "", Message: fmt.Sprintf(
		"No allowed disruptions for disruption reason %s: %s", reason, held)}
}
