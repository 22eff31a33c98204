package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// Candidate is a node that is to be replaced, and why.
type Candidate struct {
	Node   *Node
	Reason api.DisruptionReason
	// since orders those of a reason.
	since time.Time
}

// Announced picks the nodes that are to be replaced now for what AWS has announced of
// them: departures in the order in which they come, then rebalance recommendations in the
// order in which they were given. No more are picked than the budgets of their pools let go,
// and none of which a pod may not be evicted now, or whose last replacement failed of late.
func Announced(s *Snapshot, now time.Time) (chosen []Candidate, notices []Notice) {
	// Room that new pods are about to take is not to be counted on.
	if newPodWaits(s, now) {
		return nil, nil
	}
	pools := map[string]*api.NodePool{}
	for i := range s.Pools {
		pools[s.Pools[i].Name] = &s.Pools[i]
	}
	var wanted []Candidate
	told := map[string]bool{}
	for i := range s.Nodes {
		node := &s.Nodes[i]
		pool := pools[node.pool()]
		if pool == nil || pool.Spec.Replicas != nil || !node.mayBeReplaced(now) {
			continue
		}
		candidate, err := announced(node, pool, now)
		if err != nil && !told[pool.Name] {
			told[pool.Name] = true
			notices = append(notices, Notice{Pool: pool, Message: err.Error()})
		}
		if candidate == nil {
			continue
		}
		if why := Blocked(node.Pods, s.Budgets, now); why != "" {
			notices = append(notices, Notice{Node: node, Message: why})
			continue
		}
		wanted = append(wanted, *candidate)
	}
	slices.SortFunc(wanted, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(urgency(a.Reason), urgency(b.Reason)), a.since.Compare(b.since), cmp.Compare(a.Node.Claim.Name, b.Node.Claim.Name))
	})
	counts, taken := s.counts(), map[string]int{}
	for _, candidate := range wanted {
		name := candidate.Node.pool()
		allowed, err := Allowed(pools[name], counts[name], candidate.Reason, now)
		if taken[name] >= allowed {
			message := fmt.Sprintf("No allowed disruptions for disruption reason %s due to blocking budget", candidate.Reason)
			if err != nil {
				message = err.Error()
			}
			if !told[name+message] {
				told[name+message] = true
				notices = append(notices, Notice{Pool: pools[name], Message: message})
			}
			continue
		}
		taken[name]++
		chosen = append(chosen, candidate)
	}
	return chosen, notices
}

func urgency(reason api.DisruptionReason) int {
	if reason == ReasonScheduledChange {
		return 0
	}
	return 1
}

// mayBeReplaced tells whether nothing but its pods and its pool's budgets keeps the node.
func (n *Node) mayBeReplaced(now time.Time) bool {
	if n.leaving() || n.replaced() || n.chosen() || !n.initialized() || NodeProtected(n.Node) {
		return false
	}
	after, err := time.Parse(time.RFC3339, n.Claim.Annotations[ReplaceAfterAnnotationKey])
	return err != nil || !now.Before(after)
}

// announced is why the node is to be replaced, or nil.
func announced(node *Node, pool *api.NodePool, now time.Time) (*Candidate, error) {
	if departure, known := DepartureOf(node.Claim); known && departure.replaceable(now) {
		return &Candidate{Node: node, Reason: ReasonScheduledChange, since: departure.At}, nil
	}
	at, standing := rebalanceOf(node.Claim, now)
	initialized := api.GetCondition(node.Claim.Status.Conditions, api.ConditionTypeInitialized)
	if !standing || node.Claim.Labels[api.CapacityTypeLabelKey] != api.CapacityTypeSpot || now.Sub(initialized.LastTransitionTime.Time) < rebalanceAge {
		return nil, nil
	}
	wanted, err := rebalances(pool)
	if !wanted {
		return nil, err
	}
	return &Candidate{Node: node, Reason: ReasonRebalance, since: at}, nil
}
