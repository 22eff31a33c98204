package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// ConfirmAfter is the least time between the look that finds something and the look that
// acts on it, at a snapshot of its own: Karpenter's fifteen seconds. Empty nodes, which
// nobody is moved from, are looked at again once they are tainted, and wait for less.
const ConfirmAfter = 15 * time.Second

// Candidate is a node that is to be replaced, and why.
type Candidate struct {
	Node   *Node
	Pool   *api.NodePool
	Reason api.DisruptionReason
	// since orders those of a reason.
	since time.Time
}

// Candidates picks the nodes that are to be replaced now: those that AWS takes in the order
// in which they go, those that it recommends to replace in the order in which it did, those
// that have drifted and those that have expired, empty ones first, in the order in which they
// have. No more are picked than the budgets of their pools let go, and none that is kept by a
// person, by a pod, or by a disruption budget, or whose last replacement failed of late.
//
// Where the claim has a grace period pods do not keep a node that has drifted or expired: its
// end comes in any case.
func Candidates(s *Snapshot, now time.Time) (chosen []Candidate, notices []Notice) {
	// Room that new pods are about to take is not to be counted on.
	if newPodWaits(s, now) {
		return nil, nil
	}
	pools := s.poolsByName()
	moving := s.moving()
	var wanted []Candidate
	told := map[string]bool{}
	for i := range s.Nodes {
		node := &s.Nodes[i]
		pool := pools[node.pool()]
		if pool == nil || !node.mayBeReplaced(now) || node.awaits(moving) {
			continue
		}
		candidate, err := s.wanted(node, pool, now)
		if err != nil && !told[pool.Name] {
			told[pool.Name] = true
			notices = append(notices, Notice{Pool: pool, Message: err.Error()})
		}
		if candidate == nil {
			continue
		}
		if why := Blocked(node.Pods, s.Budgets, now); why != "" && !candidate.comesAnyway() {
			notices = append(notices, Notice{Node: node, Message: why})
			continue
		}
		wanted = append(wanted, *candidate)
	}
	slices.SortFunc(wanted, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(urgency(a.Reason), urgency(b.Reason)), cmp.Compare(fullness(a), fullness(b)), a.since.Compare(b.since), cmp.Compare(a.Node.Claim.Name, b.Node.Claim.Name))
	})
	allowance := s.newAllowance(now)
	for _, candidate := range wanted {
		if allowance.take(candidate.Pool, candidate.Reason) {
			chosen = append(chosen, candidate)
		}
	}
	return chosen, append(notices, allowance.notices...)
}

// wanted is why the node is to be replaced, or nil.
func (s *Snapshot) wanted(node *Node, pool *api.NodePool, now time.Time) (*Candidate, error) {
	candidate := &Candidate{Node: node, Pool: pool}
	if departure, known := DepartureOf(node.Claim); known && departure.replaceable(now) {
		candidate.Reason, candidate.since = ReasonScheduledChange, departure.At
		return candidate, nil
	}
	var failed error
	if at, standing := rebalanceOf(node, now); standing {
		wanted, err := rebalances(pool)
		if wanted {
			candidate.Reason, candidate.since = ReasonRebalance, at
			return candidate, nil
		}
		failed = err
	}
	if since, drifted := s.driftedSince(node, now); drifted {
		candidate.Reason, candidate.since = api.DisruptionReasonDrifted, since
		return candidate, failed
	}
	if since, expired := node.expiredSince(now); expired {
		within, err := expiresWithinBudgets(pool)
		if failed == nil {
			failed = err
		}
		if within {
			candidate.Reason, candidate.since = ReasonExpired, since
			return candidate, failed
		}
	}
	return nil, failed
}

// driftedSince is when the claim was marked as drifted. The mark is the proposal to replace
// its node: it must be there for a while, and still be true of the pool and the class as they
// are now.
func (s *Snapshot) driftedSince(node *Node, now time.Time) (since time.Time, drifted bool) {
	conditions := slices.Clone(node.Claim.Status.Conditions)
	condition := api.GetCondition(conditions, api.ConditionTypeDrifted)
	if condition == nil || condition.Status != "True" {
		return time.Time{}, false
	}
	since = condition.LastTransitionTime.Time
	if now.Sub(since) < ConfirmAfter {
		return since, false
	}
	if origin := s.Origins[node.pool()]; origin != nil {
		origin.SetDrifted(node.Claim, &conditions, nil, now)
	}
	return since, api.ConditionTrue(conditions, api.ConditionTypeDrifted)
}

// comesAnyway tells whether the pods' protection only puts off what a grace period brings.
func (c *Candidate) comesAnyway() bool {
	return c.Node.Claim.Spec.TerminationGracePeriod != nil && (c.Reason == api.DisruptionReasonDrifted || c.Reason == ReasonExpired)
}

func urgency(reason api.DisruptionReason) int {
	return slices.Index([]api.DisruptionReason{ReasonScheduledChange, ReasonRebalance, api.DisruptionReasonDrifted, ReasonExpired}, reason)
}

// fullness puts empty nodes first where nothing hurries.
func fullness(c Candidate) int {
	if c.Reason != ReasonScheduledChange && c.Reason != ReasonRebalance && c.Node.empty() {
		return 0
	}
	return 1
}

// mayBeReplaced tells whether nothing but its pods and its pool's budgets keeps the node. One
// that has just become ready is left to the pods that it was launched for.
func (n *Node) mayBeReplaced(now time.Time) bool {
	if n.leaving() || n.replaced() || n.chosen() || !n.initialized() || NodeProtected(n.Node, now) {
		return false
	}
	if initialized := api.GetCondition(n.Claim.Status.Conditions, api.ConditionTypeInitialized); now.Sub(initialized.LastTransitionTime.Time) < settle {
		return false
	}
	after, err := time.Parse(time.RFC3339, n.Claim.Annotations[ReplaceAfterAnnotationKey])
	return err != nil || !now.Before(after)
}

// budgetMessage says why budgets let no node go: Karpenter's words, or how to mend one that
// cannot be read.
func budgetMessage(reason api.DisruptionReason, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("No allowed disruptions for disruption reason %s due to blocking budget", reason)
}

// allowance is what the budgets still let go in one look.
type allowance struct {
	now     time.Time
	counts  map[string]PoolCount
	taken   map[string]int
	told    map[string]bool
	notices []Notice
}

func (s *Snapshot) newAllowance(now time.Time) *allowance {
	return &allowance{now: now, counts: s.counts(), taken: map[string]int{}, told: map[string]bool{}}
}

// take takes one node of the pool, unless a budget forbids it, which is told once.
func (a *allowance) take(pool *api.NodePool, reason api.DisruptionReason) bool {
	allowed, err := Allowed(pool, a.counts[pool.Name], reason, a.now)
	if a.taken[pool.Name] < allowed {
		a.taken[pool.Name]++
		return true
	}
	message := budgetMessage(reason, err)
	if !a.told[pool.Name+message] {
		a.told[pool.Name+message] = true
		a.notices = append(a.notices, Notice{Pool: pool, Message: message})
	}
	return false
}
