package disruption

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// EmptySinceAnnotationKey is, on a NodeClaim, the time (RFC 3339) at which its
	// node was first seen empty. A pod that comes to the node takes it away.
	EmptySinceAnnotationKey = api.OwnGroup + "/empty-since"
	// EmptyAfter is the least time between the look that finds a node empty and
	// the look that removes it.
	EmptyAfter = 5 * time.Second
	// settle is how long a new pod that waits keeps every empty node: the scheduler
	// may be about to bind it to one of them. One that has waited longer fits none.
	settle = 30 * time.Second
	// joinWithin is how long a launch may take before it stops holding up its pool:
	// the time after which an instance that has not registered is given up.
	joinWithin = 15 * time.Minute
)

// Emptiness is what is to be done about empty nodes.
type Emptiness struct {
	Begin   []*Node // seen empty for the first time: write EmptySinceAnnotationKey
	End     []*Node // not empty any more, or not to be removed: take the annotation away
	Due     []*Node // empty for long enough, whether or not they may be removed now
	Remove  []*Node // to be removed now
	Restore []*Node // marked by a run that died, and not to be removed: take the mark back
	Notices []Notice
	// Again is when a node will be due; zero when there is none.
	Again time.Time
}

// Notice is a reason why a node that is due stays, for people to read.
type Notice struct {
	Node    *Node         // nil when it is the pool's
	Pool    *api.NodePool // nil when it is the node's
	Message string
}

// Empty decides about nodes without pods. A node is removed once it has been
// empty for its pool's consolidateAfter and, however short that is, at a second
// look; within the pool's budgets; and not while a new pod waits, a node of the
// same pool is about to join, or pods that it was launched for are on their way.
func Empty(s *Snapshot, now time.Time) Emptiness {
	var decided Emptiness
	pools := s.poolsByName()
	joining := map[string]bool{}
	for i := range s.Nodes {
		if s.Nodes[i].joining(now) {
			joining[s.Nodes[i].pool()] = true
		}
	}
	moving, expected := s.moving(), s.expected()
	for i := range s.Nodes {
		// Nodes that replace others, or are replaced, are Replacing's.
		if node := &s.Nodes[i]; !node.replaced() && !expected[node.Claim.Name] {
			decided.look(s, node, pools, moving, now)
		}
	}
	slices.SortFunc(decided.Due, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(a.Claim.Annotations[EmptySinceAnnotationKey], b.Claim.Annotations[EmptySinceAnnotationKey]),
			cmp.Compare(a.Claim.Name, b.Claim.Name))
	})
	// What hinders now is looked for again at the next tick, which is soon enough.
	if newPodWaits(s, now) {
		return decided
	}
	remaining := decided.allowed(s, pools, now)
	for _, node := range decided.Due {
		pool := node.pool()
		switch {
		// A run that died after the mark had counted it: it takes nothing of the budget.
		case node.chosen():
			decided.Remove = append(decided.Remove, node)
		case !joining[pool] && remaining[pool] > 0:
			remaining[pool]--
			decided.Remove = append(decided.Remove, node)
		}
	}
	return decided
}

// look decides about one node, apart from what the others allow it.
func (e *Emptiness) look(s *Snapshot, node *Node, pools map[string]*api.NodePool, moving map[string]bool, now time.Time) {
	if node.leaving() || node.Node == nil {
		return
	}
	since, marked := node.Claim.Annotations[EmptySinceAnnotationKey]
	pool, known := pools[node.pool()]
	if !known || !removable(node, pool, now) {
		if marked {
			e.End = append(e.End, node)
		}
		if node.chosen() {
			e.Restore = append(e.Restore, node)
		}
		return
	}
	// Whatever cannot be read counts as not written.
	began, err := time.Parse(time.RFC3339, since)
	wait := max(*pool.Spec.Disruption.ConsolidateAfter.Duration, EmptyAfter)
	if err != nil {
		e.Begin = append(e.Begin, node)
		began, marked = now, false
	}
	if due := began.Add(wait); !marked || now.Before(due) {
		e.lookAgain(due)
		if node.chosen() {
			e.Restore = append(e.Restore, node)
		}
		return
	}
	// The pods that the node was launched for are still being drained from theirs.
	if node.awaits(moving) {
		if node.chosen() {
			e.Restore = append(e.Restore, node)
		}
		return
	}
	if why := Blocked(node.Pods, s.Budgets, now); why != "" {
		e.Notices = append(e.Notices, Notice{Node: node, Message: why})
		if node.chosen() {
			e.Restore = append(e.Restore, node)
		}
		return
	}
	e.Due = append(e.Due, node)
}

// removable tells whether the node is empty and its pool wants empty nodes gone.
func removable(node *Node, pool *api.NodePool, now time.Time) bool {
	disruption := pool.Spec.Disruption
	return node.initialized() && !NodeProtected(node.Node, now) && node.empty() &&
		pool.Spec.Replicas == nil && disruption.ConsolidateAfter.Duration != nil
}

// allowed is how many nodes of each pool with nodes that are due may be removed
// for being empty.
func (e *Emptiness) allowed(s *Snapshot, pools map[string]*api.NodePool, now time.Time) map[string]int {
	counts, allowed := s.counts(), map[string]int{}
	for _, node := range e.Due {
		name := node.pool()
		if _, done := allowed[name]; done {
			continue
		}
		number, err := Allowed(pools[name], counts[name], api.DisruptionReasonEmpty, now)
		allowed[name] = number
		if number == 0 {
			e.Notices = append(e.Notices, Notice{Pool: pools[name], Message: budgetMessage(api.DisruptionReasonEmpty, err)})
		}
	}
	return allowed
}

func (e *Emptiness) lookAgain(at time.Time) {
	if e.Again.IsZero() || at.Before(e.Again) {
		e.Again = at
	}
}

// newPodWaits tells whether a pod has begun to wait for a node of late.
func newPodWaits(s *Snapshot, now time.Time) bool {
	return slices.ContainsFunc(s.Waiting, func(pod *corev1.Pod) bool {
		return scheduling.IsProvisionable(pod) && now.Sub(pod.CreationTimestamp.Time) < settle
	})
}
