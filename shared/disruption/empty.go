package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/budget"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/guard"
)

const (
	// EmptySinceAnnotationKey is, on a NodeClaim, the time (RFC 3339) at which its node was first
	// seen empty. It is removed when a pod comes to the node.
	EmptySinceAnnotationKey = api.EmptySinceAnnotationKey
	// EmptyAfter is the least time between the pass that finds a node empty and the pass that
	// removes it.
	EmptyAfter = 5 * time.Second
)

// Emptiness has the steps that empty nodes need.
type Emptiness struct {
	Begin   []*Node // seen empty for the first time: write EmptySinceAnnotationKey
	End     []*Node // not empty any more, or not to be removed: remove the annotation
	Due     []*Node // empty for long enough, whether or not they may be removed now
	Remove  []*Node // to be removed now
	Restore []*Node // marked by a pass that died, and not to be removed: remove the mark
	Notices []Notice
	// Again is when the next node will be due. It is zero if there is none.
	Again time.Time
}

// Empty decides about nodes without pods. A node is removed after it has been empty for its pool's
// consolidateAfter, at a second pass at the earliest, and within the pool's budgets. It stays while
// pods that it was launched for are on their way, and for a while where a recent pod has room on it.
func Empty(s *Cluster, now time.Time) Emptiness {
	var decided Emptiness
	pools := s.poolsByName()
	moving, waiting, expected := s.moving(), s.waiting(), s.expected(now)
	for i := range s.Nodes {
		// Replacing decides about nodes that replace others, or are replaced.
		node := &s.Nodes[i]
		if node.replaced() || expected[node.Claim.Name] {
			continue
		}
		err := guard.Run(func() error {
			decided.look(s, node, pools[node.pool()], onTheWay{moving, waiting}, now)
			return nil
		})
		if err != nil && node.Node != nil {
			decided.Notices = append(decided.Notices, Notice{Node: node, Message: err.Error()})
		}
	}
	slices.SortFunc(decided.Due, func(a, b *Node) int {
		return cmp.Or(
			cmp.Compare(a.Claim.Annotations[EmptySinceAnnotationKey], b.Claim.Annotations[EmptySinceAnnotationKey]),
			cmp.Compare(a.Claim.Name, b.Claim.Name),
		)
	})
	decided.remove(s, pools, now)
	return decided
}

// remove chooses the nodes to remove among those that are due.
func (e *Emptiness) remove(s *Cluster, pools map[string]*api.NodePool, now time.Time) {
	remaining := e.allowed(s, pools, now)
	for _, node := range e.Due {
		pool := node.pool()
		switch {
		case pools[pool].Frozen(api.DisruptionReasonEmpty, now) != nil:
			e.restore(node) // the freeze came after the mark
		// A pass that died after the mark has counted the node, so it takes nothing of the budget.
		case node.chosen():
			e.Remove = append(e.Remove, node)
		case remaining[pool] > 0:
			remaining[pool]--
			e.Remove = append(e.Remove, node)
		}
	}
}

// onTheWay are the UIDs of pods that may come to a node: those on nodes that are leaving, and those
// without a node.
type onTheWay struct{ moving, waiting map[string]bool }

// look decides about one node, without regard to the others. The pool is nil if it does not exist.
func (e *Emptiness) look(s *Cluster, node *Node, pool *api.NodePool, pods onTheWay, now time.Time) {
	if node.leaving() || node.Node == nil {
		return
	}
	since, noted := node.Claim.Annotations[EmptySinceAnnotationKey]
	if pool == nil || !removable(node, pool, now) {
		if noted {
			e.End = append(e.End, node)
		}
		e.restore(node)
		return
	}
	// A time that cannot be read counts as not written.
	began, err := time.Parse(time.RFC3339, since)
	if err != nil {
		e.Begin = append(e.Begin, node)
		began = now
	}
	wait := max(pool.QuietTime(), EmptyAfter)
	due := began.Add(wait)
	if node.awaits(pods.waiting) {
		due = later(due, node.initializedAt().Add(recentlyPending))
	}
	if err != nil || now.Before(due) {
		e.lookAgain(due)
		e.restore(node)
		return
	}
	// The pods that the node was launched for may still be drained from theirs.
	if node.awaits(pods.moving) {
		e.restore(node)
		return
	}
	if pod := s.Needed[node.Claim.Name]; pod != nil && now.Before(due.Add(heldAtMost)) {
		e.Notices = append(e.Notices, Notice{Node: node, Message: fmt.Sprintf(
			"Pod %s/%s, which began to wait a moment ago, has room on it", pod.Namespace, pod.Name)})
		e.lookAgain(pod.CreationTimestamp.Add(recentlyPending))
		e.restore(node)
		return
	}
	if why := protection.Blocked(node.Pods, s.Budgets, now); why != "" {
		e.Notices = append(e.Notices, Notice{Node: node, Message: why})
		e.restore(node)
		return
	}
	e.Due = append(e.Due, node)
}

// restore takes back the mark of a node that stays.
func (e *Emptiness) restore(node *Node) {
	if node.chosen() {
		e.Restore = append(e.Restore, node)
	}
}

// removable tells whether the node is empty and its pool wants empty nodes removed.
func removable(node *Node, pool *api.NodePool, now time.Time) bool {
	return node.initialized() && !node.rebooting() && !node.protectedItself(now) && node.empty() &&
		pool.ConsolidatesEmpty()
}

// allowed is how many empty nodes of each pool may be removed, for pools with nodes that are due.
func (e *Emptiness) allowed(s *Cluster, pools map[string]*api.NodePool, now time.Time) map[string]int {
	counts, allowed := s.counts(), map[string]int{}
	for _, node := range e.Due {
		name := node.pool()
		if _, done := allowed[name]; done {
			continue
		}
		number, _ := budget.Allowed(pools[name], counts[name], api.DisruptionReasonEmpty, now)
		allowed[name] = number
		if number == 0 {
			e.Notices = append(e.Notices,
				budgetNotice(pools[name], counts[name], api.DisruptionReasonEmpty, budget.Allowed, now))
		}
	}
	return allowed
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (e *Emptiness) lookAgain(at time.Time) {
	if e.Again.IsZero() || at.Before(e.Again) {
		e.Again = at
	}
}
