package disruption

import (
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// ReasonAsleep is the reason for nodes of a pool that sleeps. A budget cannot name it. Budgets without
// reasons apply to it, and maintenance windows do not: the pool's owner chose the hours of its sleep.
const ReasonAsleep api.DisruptionReason = "Asleep"

// asleep ends the nodes of pools that sleep. Nothing replaces them.
func asleep(pools map[string]bool) policy {
	return policy{reason: ReasonAsleep, wants: func(_ *Cluster, node *Node, pool *api.NodePool, _ time.Time) (
		time.Time, bool, error,
	) {
		return node.Claim.CreationTimestamp.Time, pools[pool.Name], nil
	}}
}

// asleep returns the pools that sleep, by their names.
func (s *Cluster) asleep(now time.Time) map[string]bool {
	asleep := map[string]bool{}
	for i := range s.Pools {
		if s.Pools[i].Rest(now).Asleep {
			asleep[s.Pools[i].Name] = true
		}
	}
	return asleep
}

// Asleep divides the candidates into those of pools that sleep, which nothing replaces, and the others.
func Asleep(candidates []Candidate) (ending, others []Candidate) {
	for _, candidate := range candidates {
		if candidate.asleep {
			ending = append(ending, candidate)
		} else {
			others = append(others, candidate)
		}
	}
	return ending, others
}

// waits tells whether the candidate waits for a maintenance window of its pool. A pool's sleep does not,
// and neither does a departure that AWS has announced for a time before the next window, or soon after
// it opens.
func (c *Candidate) waits(now time.Time) bool {
	if c.Reason == ReasonAsleep {
		return false
	}
	departure, known := DepartureOf(c.Node.Claim)
	if c.Reason != ReasonScheduledChange || !known {
		return true
	}
	opens := c.Pool.Maintenance(now).Changes
	return !opens.IsZero() && !opens.After(departure.At.Add(-forcefulWithin))
}
