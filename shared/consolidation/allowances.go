package consolidation

import (
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation/fleet"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/budget"
)

// Allowances are how many more nodes of each NodePool its disruption budgets allow now, for
// Snapshot.Allowed. A pool with a budget that cannot be read allows none, and is among the
// problems.
func Allowances(s *Snapshot) (map[string]Allowance, []Problem) {
	counts := map[string]budget.PoolCount{}
	for i := range s.Cluster.Nodes {
		n := &s.Cluster.Nodes[i]
		if n.NodeClaim == nil || !fleet.IsInitialized(n) ||
			api.ConditionTrue(n.NodeClaim.Status.Conditions, api.ConditionTypeInstanceTerminating) {
			continue
		}
		name := fleet.Label(n, api.NodePoolLabelKey)
		count := counts[name]
		count.Nodes++
		if fleet.IsLeaving(n) || !disruption.IsReady(n.Node) {
			count.Disrupting++
		}
		counts[name] = count
	}
	allowed := map[string]Allowance{}
	var problems []Problem
	for i := range s.Cluster.NodePools {
		pool := &s.Cluster.NodePools[i]
		empty, err := budget.Allowed(pool, counts[pool.Name], api.DisruptionReasonEmpty, s.Now)
		if err != nil {
			problems = append(problems, Problem{NodePool: pool.Name, Message: err.Error()})
		}
		underutilized, _ := budget.Allowed(pool, counts[pool.Name], api.DisruptionReasonUnderutilized, s.Now)
		allowed[pool.Name] = Allowance{Empty: empty, Underutilized: underutilized}
	}
	return allowed, problems
}
