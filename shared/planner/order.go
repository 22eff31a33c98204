package planner

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// Packing starts with the pods that are hardest to place. Where limits or stocks leave pods
// out, those would be the wrong ones: the pods of the highest priority must get the nodes, and among
// equals the oldest. Then the pods are planned again in tranches, the most important ones first. A
// tranche is packed as a whole, so the plan stays nearly as cheap.

const (
	// firstTranche is the size of the first tranche, as a part of all that got new nodes in the plan
	// without tranches; nextTranche is that of the others.
	firstTranche, nextTranche = 0.7, 0.15
	// lastTranche is the size of all tranches after which one more takes the rest.
	lastTranche = 1.45
	// maximumTranches bounds their number. A change of priority ends a tranche too.
	maximumTranches = 24
)

// inOrder returns the plan, or if it leaves out a pod for a less important one, a plan in tranches.
func (p *planning) inOrder() *planning {
	if p.work.Snapshot.SkipImprovement || !p.leavesOutTheWrongPods() {
		return p
	}
	return p.inTranches(p.tranches())
}

// inTranches places the groups of each tranche after those of the ones before it.
func (p *planning) inTranches(tranches [][]*workload.Group) *planning {
	again := newPlanning(p.work, p.offers)
	again.state.SkipWhole = p.state.SkipWhole
	again.domain.Expect(p.work.Groups)
	for i, groups := range tranches {
		again.place(append(again.takeDependent(), groups...))
		if i == len(tranches)-1 {
			again.place(again.takeDependent())
		}
	}
	return again
}

// leavesOutTheWrongPods reports whether limits or stocks leave out a pod that is more important
// than one on a new node.
func (p *planning) leavesOutTheWrongPods() bool {
	var out *corev1.Pod
	for i := range p.refused {
		left := &p.refused[i]
		if left.Demand == nil || !p.isScarce(left.Demand) {
			continue
		}
		for _, pod := range left.Pods {
			if out == nil || workload.CompareImportance(pod, out) < 0 {
				out = pod
			}
		}
	}
	if out == nil {
		return false
	}
	for _, pod := range p.podsOnNewNodes() {
		if workload.CompareImportance(out, pod) < 0 {
			return true
		}
	}
	return false
}

// isScarce reports whether a limit or a stock may be all that keeps the demand from a node.
func (p *planning) isScarce(d *placement.Demand) bool {
	if d.Feasibility == nil {
		return false
	}
	set := d.Feasibility.Offerings.Clone()
	p.offers.KeepRoom(set, d.Need)
	return set.Intersects(p.offers.Limited) || set.Intersects(p.offers.Stocked)
}

// podsOnNewNodes lists the pods that the plan's new nodes get.
func (p *planning) podsOnNewNodes() []*corev1.Pod {
	planned := make([]int, len(p.state.Demands))
	for _, n := range p.state.Planned {
		for _, f := range n.Fills {
			planned[f.Demand] += f.Count
		}
	}
	var pods []*corev1.Pod
	for i, d := range p.state.Demands {
		// Existing nodes get the first units.
		pods = append(pods, placement.Flatten(d.Units[len(d.Units)-planned[i]:])...)
	}
	return pods
}

// tranches divides the waiting pods, the most important ones first. Each tranche has the groups with
// just its own pods.
func (p *planning) tranches() [][]*workload.Group {
	sizes := p.sizes()
	pods := p.waitingPods()
	slices.SortFunc(pods, workload.ComparePods)
	trancheOf := make(map[*corev1.Pod]int, len(pods))
	current, total, end := 0, 0.0, firstTranche
	for i, pod := range pods {
		full := total >= end && end < lastTranche
		lower := i > 0 && workload.PriorityOf(pod) < workload.PriorityOf(pods[i-1])
		if (full || lower) && i > 0 && current < maximumTranches-1 {
			current++
			// Pods that dwarf those on new nodes, which may need no memory at all, make the total huge.
			for end <= total && end < lastTranche {
				end += nextTranche
			}
		}
		trancheOf[pod] = current
		total += sizes[pod]
	}
	return p.groupsWithin(trancheOf, current+1)
}

// waitingPods are the pods of the snapshot, in its order.
func (p *planning) waitingPods() []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, len(p.work.Snapshot.Pods))
	for i := range p.work.Snapshot.Pods {
		pods = append(pods, &p.work.Snapshot.Pods[i])
	}
	return pods
}

// sizes are what each pod requests, as a part of what got new nodes: the mean over all resources that were
// requested. The resource of pods counts where nothing else is.
func (p *planning) sizes() map[*corev1.Pod]float64 {
	needs := map[*corev1.Pod]resource.Vector{}
	for _, g := range p.work.Groups {
		for _, pod := range g.Pods {
			needs[pod] = g.Need
		}
	}
	totals := make([]float64, len(p.work.Axes.Names))
	for _, pod := range p.podsOnNewNodes() {
		for axis, amount := range needs[pod] {
			totals[axis] += float64(amount)
		}
	}
	var axes []int
	for axis, total := range totals {
		if total > 0 && p.work.Axes.Names[axis] != corev1.ResourcePods {
			axes = append(axes, axis)
		}
	}
	if len(axes) == 0 {
		axes = []int{slices.Index(p.work.Axes.Names, corev1.ResourcePods)}
	}
	sizes := map[*corev1.Pod]float64{}
	for pod, need := range needs {
		for _, axis := range axes {
			sizes[pod] += float64(need[axis]) / (totals[axis] + 1) / float64(len(axes))
		}
	}
	return sizes
}

// groupsWithin returns the groups of each tranche, with just the pods of the tranche.
func (p *planning) groupsWithin(trancheOf map[*corev1.Pod]int, tranches int) [][]*workload.Group {
	result := make([][]*workload.Group, tranches)
	for _, g := range p.work.Groups {
		within := map[int]*workload.Group{}
		for _, pod := range g.Pods {
			at := trancheOf[pod]
			if within[at] == nil {
				part := *g
				part.Pods = nil
				within[at] = &part
				result[at] = append(result[at], &part)
			}
			within[at].Pods = append(within[at].Pods, pod)
		}
	}
	return result
}

// takeDependent takes the refused pods whose constraints select other pods, as groups. A later
// tranche may have what they lack.
func (p *planning) takeDependent() []*workload.Group {
	var groups []*workload.Group
	var refused []placement.Leftover
	for _, left := range p.refused {
		g := left.Group
		if g.Problem != "" || len(g.Topology.Affinity)+len(g.Topology.Spread) == 0 {
			refused = append(refused, left)
			continue
		}
		again := *g
		again.Pods = slices.Clone(left.Pods)
		groups = append(groups, &again)
	}
	p.refused = refused
	return groups
}
