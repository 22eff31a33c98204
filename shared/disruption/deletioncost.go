package disruption

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// leavingCost is the deletion cost of pods on nodes that are going: the lowest there is.
	leavingCost = math.MinInt32
	// mostRecosted bounds the nodes whose pods get other costs in one pass: Karpenter's number.
	mostRecosted = 50
	// baseCost is what the end of a node costs beside its evictions. It is Karpenter's, and keeps the
	// ratio of an empty node finite.
	baseCost = 1.0
)

// PodCost is the deletion cost that a pod is to have.
type PodCost struct {
	Pod *corev1.Pod
	// Cost is empty where the pod is to have none.
	Cost string
}

// PodCosts orders the pods of ReplicaSets for deletion, so that a Deployment that shrinks empties
// the nodes that disruption would end next. It returns the pods whose cost has to change. More says
// that others were left for the next pass, because the pods of at most fifty nodes change at once.
//
// Pods on nodes that are going get the lowest cost. Then come drifted nodes, and last the others that
// consolidation may end, both within their budgets. They get -n to -1, in the order of their price
// for each unit of disturbance. Other pods get no cost. A cost that Whittle has not written stays.
func PodCosts(
	s *Cluster, priceOf func(*api.NodeClaim) (price float64, isKnown bool), now time.Time,
) (changes []PodCost, more bool) {
	left := mostRecosted
	for _, wanted := range s.nodeCosts(priceOf, now) {
		var changed []PodCost
		for _, pod := range wanted.node.Pods {
			if takesCost(pod) && pod.Annotations[api.PodDeletionCostAnnotationKey] != wanted.cost {
				changed = append(changed, PodCost{Pod: pod, Cost: wanted.cost})
			}
		}
		if len(changed) == 0 {
			continue
		}
		if left == 0 {
			return changes, true
		}
		left--
		changes = append(changes, changed...)
	}
	return changes, false
}

// takesCost tells whether Whittle may write the pod's deletion cost, and whether it has an effect.
func takesCost(pod *corev1.Pod) bool {
	_, has := pod.Annotations[api.PodDeletionCostAnnotationKey]
	return isOf(pod, "ReplicaSet") && !scheduling.IsTerminal(pod) && pod.DeletionTimestamp == nil &&
		(!has || protection.HasManagedCost(pod))
}

// isOf tells whether a controller of one of the kinds owns the pod.
func isOf(pod *corev1.Pod, kinds ...string) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && slices.Contains(kinds, owner.Kind)
}

// nodeCost is the deletion cost of a node's pods. It is empty for none.
type nodeCost struct {
	node *Node
	cost string
}

// nodeCosts returns the joined nodes with the costs of their pods: those that are going, those that
// disruption may end next in that order, and the others.
func (s *Cluster) nodeCosts(priceOf func(*api.NodeClaim) (float64, bool), now time.Time) []nodeCost {
	var leaving, others []nodeCost
	var drifted, normal []rankedNode
	pools := s.poolsByName()
	for i := range s.Nodes {
		node := &s.Nodes[i]
		price, isKnown := priceOf(node.Claim)
		ranked := rankedNode{node: node, ratio: price / (baseCost + node.disturbance())}
		switch pool := pools[node.pool()]; {
		case node.Node == nil:
		case node.leaving() || node.chosen() || node.replaced():
			leaving = append(leaving, nodeCost{node, strconv.Itoa(leavingCost)})
		case pool == nil || pool.Spec.Replicas != nil || !isKnown || !s.mayBeEmptied(node, now):
			others = append(others, nodeCost{node: node})
		case api.ConditionTrue(node.Claim.Status.Conditions, api.ConditionTypeDrifted):
			drifted = append(drifted, ranked)
		case !pool.ConsolidatesEmpty():
			others = append(others, nodeCost{node: node})
		default:
			normal = append(normal, ranked)
		}
	}
	drifted, beyondDrifted := s.withinBudgets(drifted, api.DisruptionReasonDrifted, now)
	normal, beyondNormal := s.withinBudgets(normal, api.DisruptionReasonUnderutilized, now)
	costs := leaving
	ranked := slices.Concat(drifted, normal)
	for i := range ranked {
		costs = append(costs, nodeCost{ranked[i].node, strconv.Itoa(i - len(ranked))})
	}
	for _, beyond := range slices.Concat(beyondDrifted, beyondNormal) {
		costs = append(costs, nodeCost{node: beyond.node})
	}
	return append(costs, others...)
}

// mayBeEmptied tells whether nothing keeps the node, and whether every pod comes back elsewhere once
// it is deleted. Pods in kube-system do not count.
func (s *Cluster) mayBeEmptied(node *Node, now time.Time) bool {
	return node.mayBeReplaced(now) && protection.Blocked(node.Pods, s.Budgets, now) == "" &&
		!slices.ContainsFunc(node.Pods, func(pod *corev1.Pod) bool {
			return Counts(*pod) && pod.Namespace != metav1.NamespaceSystem && !isOf(pod, "ReplicaSet", "Job") &&
				!scheduling.IsVirtual(pod)
		})
}

// disturbance is what evicting the node's pods costs. Their deletion costs do not count.
func (n *Node) disturbance() float64 {
	sum := 0.0
	for _, pod := range n.Pods {
		if scheduling.IsReschedulable(pod) {
			sum += max(0, protection.EvictionCost(pod, true))
		}
	}
	return sum
}

// rankedNode is a node that disruption may end, with its price in US dollars an hour for each unit of
// disturbance.
type rankedNode struct {
	node  *Node
	ratio float64
}

// sortRanked puts the nodes with the greatest ratio first.
func sortRanked(nodes []rankedNode) {
	slices.SortFunc(nodes, func(a, b rankedNode) int {
		return cmp.Or(cmp.Compare(b.ratio, a.ratio), cmp.Compare(a.node.Claim.Name, b.node.Claim.Name))
	})
}

// withinBudgets sorts the nodes, the greatest ratio first. It divides them into those that the
// budgets allow to end now, and those beyond.
func (s *Cluster) withinBudgets(
	nodes []rankedNode, reason api.DisruptionReason, now time.Time,
) (within, beyond []rankedNode) {
	sortRanked(nodes)
	allowed, _ := s.Allowances(reason, now)
	for _, ranked := range nodes {
		if pool := ranked.node.pool(); allowed[pool] > 0 {
			allowed[pool]--
			within = append(within, ranked)
		} else {
			beyond = append(beyond, ranked)
		}
	}
	return within, beyond
}
