package consolidation

import (
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Of adds the budgets to what the planner sees of the cluster.
func Of(cluster *plan.Snapshot, seen *disruption.Cluster, now time.Time) *Input {
	empty, _ := seen.Allowances(api.DisruptionReasonEmpty, now)
	underutilized, _ := seen.Allowances(api.DisruptionReasonUnderutilized, now)
	s := &Input{Cluster: cluster, Budgets: seen.Budgets, Allowed: map[string]Allowance{}, Now: now}
	for pool, allowed := range underutilized {
		s.Allowed[pool] = Allowance{Empty: empty[pool], Underutilized: allowed}
	}
	return s
}
