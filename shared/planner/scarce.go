package planner

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

const (
	// scarceWork bounds the waiting pods that all further plans because of scarce nodes have together. A pod
	// with constraints about others counts as relatedPods, because a plan for such pods takes as much longer.
	scarceWork, relatedPods = 5000, 5
	// scarceRounds is the most such plans. Each one after the first has pods that lost a place in the one before.
	scarceRounds = 3
)

// scarceFirst returns the plan, or one that places more pods, and no fewer of any importance. Packing takes
// the cheapest offering for each pod. Where a limit or a reservation ends, pods that can go nowhere else
// may have lost it to pods that can. The next plan has them first among those of their priority, and
// with them the rest of their gangs.
func (p *planning) scarceFirst() *planning {
	if p.work.Snapshot.SkipImprovement {
		return p
	}
	best, last := p, p
	roundOf := map[*corev1.Pod]int{}
	for round := range min(scarceRounds, scarceWork/p.workOfAPlan()) {
		known := len(roundOf)
		for pod := range last.leftOut() {
			if _, early := roundOf[pod]; !early {
				roundOf[pod] = round
			}
		}
		if len(roundOf) == known || len(roundOf) == len(p.work.Snapshot.Pods) && round == 0 {
			return best
		}
		tranches := p.scarceTranches(roundOf)
		if len(tranches) > maximumTranches {
			return best
		}
		if last = p.inTranches(tranches); last.leavesOutLessThan(best) {
			best = last
		}
	}
	return best
}

// workOfAPlan is how many waiting pods without constraints about others make as much work as those of the
// snapshot.
func (p *planning) workOfAPlan() int {
	work := 0
	for _, g := range p.work.Groups {
		if len(g.Topology.Spread)+len(g.Topology.Affinity)+len(g.Topology.AntiAffinity) > 0 {
			work += relatedPods * len(g.Pods)
		} else {
			work += len(g.Pods)
		}
	}
	return max(work, 1)
}

// scarceTranches are the waiting pods by their priority, and then by the round that found them left out.
func (p *planning) scarceTranches(roundOf map[*corev1.Pod]int) [][]*workload.Group {
	compare := func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(workload.PriorityOf(b), workload.PriorityOf(a)), rank(roundOf, a)-rank(roundOf, b))
	}
	pods := p.waitingPods()
	slices.SortStableFunc(pods, compare)
	trancheOf, current := make(map[*corev1.Pod]int, len(pods)), 0
	for i, pod := range pods {
		if i > 0 && compare(pods[i-1], pod) != 0 {
			current++
		}
		trancheOf[pod] = current
	}
	return p.groupsWithin(trancheOf, current+1)
}

// rank is the pod's round, or one after all of them.
func rank(roundOf map[*corev1.Pod]int, pod *corev1.Pod) int {
	if round, early := roundOf[pod]; early {
		return round
	}
	return scarceRounds
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

// leavesOutLessThan reports whether the plan places more pods than the other, and no fewer of any importance.
// A pod of a gang keeps its place, because a part of a gang may be of no use.
func (p *planning) leavesOutLessThan(other *planning) bool {
	type importance struct {
		priority int32
		created  int64
	}
	gained := map[importance]int{}
	of := func(pod *corev1.Pod) importance {
		return importance{workload.PriorityOf(pod), pod.CreationTimestamp.Unix()}
	}
	before, after := other.refusedPods(), p.refusedPods()
	for pod := range before {
		gained[of(pod)]++
	}
	for pod := range after {
		if gained[of(pod)]--; gained[of(pod)] < 0 || !before[pod] && plan.GangOf(pod).Name != "" {
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
