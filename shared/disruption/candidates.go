package disruption

import (
	"cmp"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/budget"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/disruption/repair"
	"github.com/whittle-dev/whittle/shared/guard"
	"github.com/whittle-dev/whittle/shared/release"
)

// ValidateAfter is the least time between the pass that finds something and the pass that acts on
// it. The second pass validates it on a snapshot of its own. The time is Karpenter's. Empty nodes
// wait for less, because no pod moves, and because a pass looks at them again after their taint.
const ValidateAfter = 15 * time.Second

// Candidate is a node to replace, and why.
type Candidate struct {
	Node   *Node
	Pool   *api.NodePool
	Reason api.DisruptionReason

	// urgency is the place of the policy among policies.
	urgency   int
	announced bool
	bounded   bool
	// asleep says that the pool sleeps, so that nothing replaces the node.
	asleep bool
	since  time.Time
	// unhealthy is the condition for which the node is repaired, if that is the reason.
	unhealthy repair.UnhealthyCondition
}

// Candidates chooses the nodes to replace now, in the order of policies. Nodes that AWS names go in
// its order. Of drifted and expired nodes, empty ones go first, then those with the oldest reason.
//
// It chooses no more nodes than the budgets of their pools allow. It skips nodes that a person, a
// pod or a PodDisruptionBudget protects, and nodes whose last replacement failed recently. Pods do
// not protect a drifted or expired node whose claim has a grace period, because its end comes
// anyway. Only do-not-repair protects an unhealthy node. Pods that wait keep no node, because the plan
// for the replacements places them too. The notices say why nodes stay.
func Candidates(s *Cluster, now time.Time) (chosen []Candidate, notices []Notice) {
	wanted, notices := s.wanted(now)
	slices.SortFunc(wanted, func(a, b Candidate) int {
		return cmp.Or(
			cmp.Compare(a.urgency, b.urgency), cmp.Compare(a.fullness(), b.fullness()),
			a.since.Compare(b.since), cmp.Compare(a.Node.Claim.Name, b.Node.Claim.Name),
		)
	})
	allowance := s.newAllowance(now)
	for _, candidate := range wanted {
		if allowance.take(&candidate) {
			chosen = append(chosen, candidate)
		}
	}
	return chosen, append(notices, allowance.notices...)
}

// wanted returns the nodes that a policy wants to replace and that nothing protects. Budgets do not
// count here.
func (s *Cluster) wanted(now time.Time) (wanted []Candidate, notices []Notice) {
	pools, due, resting := s.poolsByName(), s.repairs(now), s.asleep(now)
	policies, movable := policies(due, resting), s.movable(due, now)
	notices = s.keptFromRepair(due)
	noticed := map[string]bool{}
	for i := range s.Nodes {
		node := &s.Nodes[i]
		pool := pools[node.pool()]
		if pool == nil || !movable(node) {
			continue
		}
		var candidate *Candidate
		var why string
		err := guard.Run(func() (err error) {
			if candidate, err = s.candidate(policies, node, pool, now); candidate != nil {
				why = s.blocked(node, now)
			}
			return err
		})
		if guard.IsPanic(err) {
			notices = append(notices, Notice{Node: node, Message: err.Error()})
			continue
		}
		if err != nil && !noticed[pool.Name] {
			noticed[pool.Name] = true
			notices = append(notices, Notice{Pool: pool, Message: err.Error(), Mend: true})
		}
		if candidate == nil {
			continue
		}
		if why != "" && !candidate.endsInAnyCase() {
			notices = append(notices, Notice{Node: node, Message: why})
			continue
		}
		if candidate.Reason == api.DisruptionReasonUnhealthy {
			candidate.unhealthy = due[node.Claim.Name]
		}
		candidate.asleep = resting[pool.Name]
		wanted = append(wanted, *candidate)
	}
	return wanted, notices
}

// movable returns which nodes may be replaced, as far as their pods and budgets allow.
func (s *Cluster) movable(due map[string]repair.UnhealthyCondition, now time.Time) func(*Node) bool {
	moving := s.moving()
	return func(node *Node) bool {
		if _, isDue := due[node.Claim.Name]; isDue && node.mayBeRepaired(now) {
			return true
		}
		return node.mayBeEnded(now) && !node.awaits(moving)
	}
}

// candidate returns the node with the first policy that wants it, or nil. Policies that a freeze
// or a release holds come last. The error is the first that a policy gives.
func (s *Cluster) candidate(
	policies []policy, node *Node, pool *api.NodePool, now time.Time,
) (*Candidate, error) {
	var failed error
	var frozen *Candidate // what AWS wants comes before it
	for urgency, policy := range policies {
		since, wanted, err := policy.wants(s, node, pool, now)
		if failed == nil {
			failed = err
		}
		if wanted && (policy.reason == api.DisruptionReasonUnhealthy || node.annotated(policy.reason, now) == "") {
			chosen := &Candidate{
				Node: node, Pool: pool, Reason: policy.reason, urgency: urgency, announced: policy.announced,
				bounded: policy.bounded, since: since,
			}
			if pool.Frozen(policy.reason, now) == nil && !s.releaseHolds(pool.Name, policy.reason) {
				return chosen, failed
			}
			frozen = cmp.Or(frozen, chosen)
		}
	}
	return frozen, failed
}

// endsInAnyCase tells whether a grace period, or the policy, ends the node in any case. Protection of
// its pods then only delays the end.
func (c *Candidate) endsInAnyCase() bool {
	return c.bounded || c.Node.Claim.Spec.TerminationGracePeriod != nil && !c.announced
}

// fullness puts empty nodes first unless they are unhealthy or AWS has announced their end.
func (c *Candidate) fullness() int {
	if !c.announced && !c.bounded && c.Node.empty() {
		return 0
	}
	return 1
}

// annotated is the annotation that keeps the node from being replaced for the reason, or "". The node's
// own does not keep an expired node, because its kubelet may write it: the claim's does, unless a grace
// period ends the node in any case.
func (n *Node) annotated(reason api.DisruptionReason, now time.Time) string {
	if why := protection.Unsafe(n.Node); why != "" || reason != ReasonExpired {
		return protection.OfNode(n.Node, now)
	}
	if n.Claim.Spec.TerminationGracePeriod != nil {
		return ""
	}
	return protection.OfClaim(n.Claim, now)
}

// mayBeReplaced tells whether the node may be replaced as far as its pods and its pool's budgets
// allow, and no person keeps it.
func (n *Node) mayBeReplaced(now time.Time) bool { return n.mayBeEnded(now) && !n.protectedItself(now) }

// mayBeEnded is mayBeReplaced for a node that a person may keep. A node that has just become ready waits
// for the pods that it was launched for.
func (n *Node) mayBeEnded(now time.Time) bool {
	if n.leaving() || n.replaced() || n.chosen() || n.rebooting() || !n.initialized() {
		return false
	}
	return now.Sub(n.initializedAt()) >= recentlyPending && n.replaceable(now)
}

// replaceable tells whether enough time has passed since the last replacement of the node failed.
func (n *Node) replaceable(now time.Time) bool { return !now.Before(ReplaceAfter(n.Claim)) }

// ReplaceAfter is the time before which no replacement of the claim's node begins, because the last one
// failed. It is zero for a claim without one.
func ReplaceAfter(claim *api.NodeClaim) time.Time {
	after, err := time.Parse(time.RFC3339, claim.Annotations[ReplaceAfterAnnotationKey])
	if err != nil {
		return time.Time{}
	}
	return after
}

// allowance is what the budgets still allow in one pass.
type allowance struct {
	now    time.Time
	counts map[string]budget.PoolCount
	// taken is how many nodes of each pool were chosen.
	taken map[string]int
	// releases are the verdicts about pools, and gates count what they let go.
	releases map[string]*release.State
	gates    map[string]*release.Gate
	noticed  map[string]bool
	notices  []Notice
}

func (s *Cluster) newAllowance(now time.Time) *allowance {
	return &allowance{now: now, counts: s.counts(), taken: map[string]int{}, noticed: map[string]bool{},
		releases: s.Releases, gates: map[string]*release.Gate{}}
}

// take takes the candidate unless its release or a budget forbids it. One notice says so for all
// nodes of a pool.
func (a *allowance) take(candidate *Candidate) bool {
	pool, reason, allows := candidate.Pool, candidate.Reason, budget.Allowed
	zone := release.ZoneOf(candidate.Node.Claim)
	if candidate.staged() && !a.gate(candidate).Allows(zone) {
		a.notice(releaseNotice(pool, a.releases[pool.Name]))
		return false
	}
	if !candidate.waits(a.now) {
		allows = budget.AllowedAtAnyTime
	}
	allowed, _ := allows(pool, a.counts[pool.Name], reason, a.now) // the notice has the error
	if a.taken[pool.Name] < allowed {
		a.taken[pool.Name]++
		if candidate.staged() {
			a.gate(candidate).Take(zone)
		}
		return true
	}
	a.notice(budgetNotice(pool, a.counts[pool.Name], reason, allows, a.now))
	return false
}

// notice adds the notice about a pool once.
func (a *allowance) notice(notice Notice) {
	if key := notice.Pool.Name + notice.Message; !a.noticed[key] {
		a.noticed[key] = true
		a.notices = append(a.notices, notice)
	}
}
