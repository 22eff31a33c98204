package consolidation

import (
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// Allowances are how many more nodes of each NodePool its disruption budgets let go now, on the cluster as it is: for Snapshot.Allowed. A pool with a budget that cannot be
// read may lose none, and is among the problems.
func Allowances(s *Snapshot) (map[string]Allowance, []Problem) {
	counts := map[string]disruption.PoolCount{}
	for i := range s.Cluster.Nodes {
		n := &node{source: &s.Cluster.Nodes[i]}
		claim := n.source.NodeClaim
		if claim == nil || !n.initialized() || api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeInstanceTerminating) {
			continue
		}
		name := n.label(api.NodePoolLabelKey)
		count := counts[name]
		count.Nodes++
		if n.leaving() || !disruption.IsReady(n.source.Node) {
			count.Disrupting++
		}
		counts[name] = count
	}
	allowed := map[string]Allowance{}
	var problems []Problem
	for i := range s.Cluster.NodePools {
		pool := &s.Cluster.NodePools[i]
		empty, err := disruption.Allowed(pool, counts[pool.Name], api.DisruptionReasonEmpty, s.Now)
		if err != nil {
			problems = append(problems, Problem{NodePool: pool.Name, Message: err.Error()})
		}
		underutilized, _ := disruption.Allowed(pool, counts[pool.Name], api.DisruptionReasonUnderutilized, s.Now)
		allowed[pool.Name] = Allowance{Empty: empty, Underutilized: underutilized}
	}
	return allowed, problems
}
