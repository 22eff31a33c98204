package planner

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// scarcePods is the most waiting pods for which a plan is made again because of scarce nodes.
const scarcePods = 5000

// scarceFirst returns the plan, or one that leaves out fewer pods and no other. Packing takes the
// cheapest offering for each pod. Where a limit or a reservation ends, pods that can go nowhere else
// may have lost it to pods that can. The second plan has them first among those of their priority, and
// with them the rest of their gangs.
func (p *planning) scarceFirst() *planning {
	if p.work.Snapshot.SkipImprovement || len(p.work.Snapshot.Pods) > scarcePods ||
		slices.ContainsFunc(p.work.Groups, isRelated) {
		return p
	}
	first := p.leftOut()
	if len(first) == 0 || len(first) == len(p.work.Snapshot.Pods) {
		return p
	}
	pods := p.waitingPods()
	rank := func(pod *corev1.Pod) int {
		if first[pod] {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(workload.PriorityOf(b), workload.PriorityOf(a)), rank(a)-rank(b))
	})
	trancheOf, current := make(map[*corev1.Pod]int, len(pods)), 0
	for i, pod := range pods {
		if i > 0 && (workload.PriorityOf(pod) != workload.PriorityOf(pods[i-1]) || rank(pod) != rank(pods[i-1])) {
			current++
		}
		trancheOf[pod] = current
	}
	if current >= maximumTranches {
		return p
	}
	if again := p.inTranches(p.groupsWithin(trancheOf, current+1)); again.leavesOutLessThan(p) {
		return again
	}
	return p
}

// isRelated reports whether the pods of the group have constraints about other pods.
func isRelated(g *workload.Group) bool {
	return len(g.Topology.Spread)+len(g.Topology.Affinity)+len(g.Topology.AntiAffinity) > 0
}

// leftOut are the pods that scarcity leaves out, the pods equal to them, and the pods of their gangs.
func (p *planning) leftOut() map[*corev1.Pod]bool {
	out, gangs := map[*corev1.Pod]bool{}, map[plan.GangRef]bool{}
	for i := range p.refused {
		left := &p.refused[i]
		if left.Demand == nil || !p.isScarce(left.Demand) {
			continue
		}
		for _, pod := range left.Demand.Group.Pods {
			out[pod] = true
			if gang := plan.GangOf(pod); gang.Name != "" {
				gangs[gang] = true
			}
		}
	}
	for _, pod := range p.waitingPods() {
		if gangs[plan.GangOf(pod)] {
			out[pod] = true
		}
	}
	return out
}

// leavesOutLessThan reports whether the plan leaves out fewer pods than the other, and none that has a
// place there.
func (p *planning) leavesOutLessThan(other *planning) bool {
	before, after := other.refusedPods(), p.refusedPods()
	for pod := range after {
		if !before[pod] {
			return false
		}
	}
	return len(after) < len(before)
}

func (p *planning) refusedPods() map[*corev1.Pod]bool {
	pods := map[*corev1.Pod]bool{}
	for i := range p.refused {
		for _, pod := range p.refused[i].Pods {
			pods[pod] = true
		}
	}
	return pods
}
