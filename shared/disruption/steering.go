package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
)

const (
	// mostSteered bounds the nodes whose taint changes in one pass, because each is a call.
	mostSteered = 50
	// steeredPart is the part of a pool's nodes in a zone that have the taint at most. A node that ranks
	// within heldPart keeps it, so that nodes of nearly the same rank do not change places each minute.
	steeredPart, heldPart = 0.5, 0.6
)

// Steering is a node that gets the taint of candidates, or loses it.
type Steering struct {
	Node      *Node
	Candidate bool
}

// Steer returns the nodes whose taint has to change, those that lose it first. More says that others
// were left for the next pass.
//
// In pools that ask for it, the nodes that consolidation would take next have a soft taint. The
// scheduler then puts new pods on other nodes, and these become empty without an eviction. Their
// order is that of deletion costs: first the highest price for each unit of disturbance. Nodes that
// a person or a lasting pod keeps have no taint, because they would not become empty. At most half
// of a pool's nodes in a zone have it, so that no zone repels pods. Where the others are full,
// kube-scheduler uses candidates all the same: the taint keeps no pod waiting. A frozen pool has
// none, because the taint prepares a disruption.
func Steer(
	s *Cluster, priceOf func(*api.NodeClaim) (price float64, isKnown bool), now time.Time,
) (changes []Steering, more bool) {
	wanted := s.steered(priceOf, now)
	for i := range s.Nodes {
		node := &s.Nodes[i]
		if node.Node == nil || node.leaving() || node.chosen() || node.replaced() {
			continue
		}
		if wanted[node] != IsCandidate(node.Node) {
			changes = append(changes, Steering{node, wanted[node]})
		}
	}
	slices.SortFunc(changes, func(a, b Steering) int {
		return cmp.Or(losesFirst(a, b), cmp.Compare(a.Node.Claim.Name, b.Node.Claim.Name))
	})
	return changes[:min(len(changes), mostSteered)], len(changes) > mostSteered
}

func losesFirst(a, b Steering) int {
	switch {
	case a.Candidate == b.Candidate:
		return 0
	case b.Candidate:
		return -1
	}
	return 1
}

// Steers tells whether Steer or Unsteered may have anything to say: a pool has the annotation, or a node
// the taint.
func (s *Cluster) Steers() bool {
	wishes := func(pool api.NodePool) bool { return pool.Annotations[api.SteerPodsAnnotationKey] != "" }
	return slices.ContainsFunc(s.Pools, wishes) ||
		slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Node != nil && IsCandidate(n.Node) })
}

// SteersPods tells whether the pool asks for the taint. A value that cannot be read does not.
func SteersPods(pool *api.NodePool) bool {
	steers, _ := steersPods(pool)
	return steers
}

// Unsteered are the pools whose annotation cannot be read.
func Unsteered(s *Cluster) []Notice {
	var notices []Notice
	for i := range s.Pools {
		if _, err := steersPods(&s.Pools[i]); err != nil {
			notices = append(notices, Notice{Pool: &s.Pools[i], Message: err.Error(), Mend: true})
		}
	}
	return notices
}

func steersPods(pool *api.NodePool) (bool, error) {
	switch value := pool.Annotations[api.SteerPodsAnnotationKey]; value {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, fmt.Errorf("nodepool %q: annotation %s is %q: write \"true\" or \"false\"",
			pool.Name, api.SteerPodsAnnotationKey, value)
	}
}

// IsCandidate tells whether the node has the taint.
func IsCandidate(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, api.IsCandidateTaint)
}

// SteerPatch is the patch that gives the node the taint, or takes it away. Writing it conflicts if the
// node has changed since it was read.
func SteerPatch(node *corev1.Node, candidate bool) map[string]any {
	return taintPatch(node, SteeredTaints(node, candidate))
}

// SteeredTaints are the node's taints with the one of candidates, or without it.
func SteeredTaints(node *corev1.Node, candidate bool) []corev1.Taint {
	taints := slices.DeleteFunc(slices.Clone(node.Spec.Taints), api.IsCandidateTaint)
	if candidate {
		taints = append(taints, api.CandidateTaint())
	}
	return taints
}

// steered are the nodes that are to have the taint.
func (s *Cluster) steered(priceOf func(*api.NodeClaim) (float64, bool), now time.Time) map[*Node]bool {
	pools, groups := s.poolsByName(), map[[2]string][]rankedNode{}
	waiting, moving := s.waiting(), s.moving()
	for i := range s.Nodes {
		node := &s.Nodes[i]
		pool := pools[node.pool()]
		if pool == nil || !SteersPods(pool) || !pool.ConsolidatesEmpty() || !node.maySteer(now) ||
			pool.Frozen(api.DisruptionReasonEmpty, now) != nil || node.awaits(waiting) || node.awaits(moving) {
			continue
		}
		if price, isKnown := priceOf(node.Claim); isKnown {
			group := [2]string{pool.Name, node.Claim.Labels[corev1.LabelTopologyZone]}
			groups[group] = append(groups[group], rankedNode{node, price / (baseCost + node.disturbance())})
		}
	}
	steered := map[*Node]bool{}
	for _, nodes := range groups {
		for _, candidate := range candidatesOf(nodes) {
			steered[candidate.node] = true
		}
	}
	return steered
}

// candidatesOf chooses among a pool's nodes in a zone. Those that have the taint keep it as long as they
// rank well enough.
func candidatesOf(nodes []rankedNode) []rankedNode {
	sortRanked(nodes)
	most := int(steeredPart * float64(len(nodes)))
	var kept, others []rankedNode
	for i, ranked := range nodes {
		if IsCandidate(ranked.node.Node) && float64(i) < heldPart*float64(len(nodes)) {
			kept = append(kept, ranked)
		} else {
			others = append(others, ranked)
		}
	}
	return slices.Concat(kept, others)[:most]
}

// maySteer tells whether consolidation may take the node once its pods have ended.
func (n *Node) maySteer(now time.Time) bool {
	return n.mayBeReplaced(now) && IsReady(n.Node) && !n.Node.Spec.Unschedulable &&
		!slices.ContainsFunc(n.Pods, func(pod *corev1.Pod) bool {
			return lasts(pod) && Counts(*pod) && protection.ByAnnotation(pod, now) != ""
		})
}

// lasts tells whether the pod does not end by itself.
func lasts(pod *corev1.Pod) bool {
	return pod.Spec.RestartPolicy == "" || pod.Spec.RestartPolicy == corev1.RestartPolicyAlways
}
