package planner

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/bound"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// Choices are made one after the other: which of several alternatives pods follow, in which domain the first of a group goes, which column leads a node. What looks best may lead to
// nodes that fit badly, so that one more type or zone on offer makes a plan dearer. Where a plan for few pods costs clearly more than the bound, it is made again without one of
// the things that it makes use of, a pool, an instance type, a zone or a capacity type, and again without that and another one, as long as that helps.

const (
	// furtherPods is how many pods may wait for further plans to be made, furtherRounds how many things are left out at most one after the other, furtherPlans how many plans
	// are made at most, and furtherColumns how many columns they may read together: that is most of the work for few pods.
	furtherPods, furtherRounds, furtherPlans, furtherColumns = 64, 4, 24, 60_000
	// furtherGap is how much more than the bound a plan may cost without further ones being made.
	furtherGap = 1.02
)

// further gives the cheapest of the further plans, or the plan itself.
func (p *problem) further() *plan.Plan {
	best := p
	if p.work.Snapshot.SkipImprovement || !p.pricesAlone() {
		return p.plan
	}
	for range furtherRounds {
		from := best
		for _, out := range from.aspects() {
			if p.plansMade++; p.plansMade > furtherPlans || p.plansMade*len(p.offers.Offerings) > furtherColumns || best.plan.PricePerHour <= furtherGap*best.plan.LowerBoundPerHour {
				return best.plan
			}
			other := newProblem(p.work.Snapshot, append(slices.Clone(from.offers.Excluded), out)...)
			other.solve()
			if other.cheaperThan(best) {
				other.plan.LowerBoundPerHour = p.boundOf(other.plan)
				best = other
			}
		}
		if best == from {
			break
		}
	}
	return best.plan
}

// pricesAlone reports whether few pods wait, all have places, and nothing but the price tells other plans of which that is true apart from this one: no preference, no pool that
// comes before another, and no spread, which counts domains that a plan makes no use of.
func (p *problem) pricesAlone() bool {
	return len(p.work.Snapshot.Pods) <= furtherPods && len(p.plan.Unplaced) == 0 && len(p.offers.Tiers) == 1 && !slices.ContainsFunc(p.work.Groups, func(s *workload.Group) bool {
		return s.Preferences && (s.AvoidsTaints || workload.RelaxSpec(s.Spec) != nil) ||
			slices.ContainsFunc(s.Topology.Spread, func(t workload.SpreadTerm) bool { return t.Key != corev1.LabelHostname })
	})
}

// cheaperThan reports whether the plan leaves out no pod, makes no more use of exotic types than the other, and costs clearly less.
func (p *problem) cheaperThan(other *problem) bool {
	a, b := p.plan, other.plan
	return len(a.Unplaced) == 0 && p.exoticNodes() <= other.exoticNodes() && a.PricePerHour < b.PricePerHour*(1-1e-6)
}

func (p *problem) exoticNodes() int {
	nodes := 0
	for _, n := range p.state.Planned {
		if p.offers.IsExotic(n.Offering) {
			nodes++
		}
	}
	return nodes
}

// aspects are what the plan makes use of.
func (p *problem) aspects() []offering.Exclusion {
	var used []offering.Exclusion
	for _, key := range []string{corev1.LabelInstanceTypeStable, api.NodePoolLabelKey, corev1.LabelTopologyZone, api.CapacityTypeLabelKey} {
		for _, n := range p.state.Planned {
			c := p.offers.PoolTypeOf(n.Offering)
			a := offering.Exclusion{Key: key, Value: offering.AspectValue(key, c.Pool, c.Type, p.offers.Offerings[n.Offering].Source)}
			if !slices.Contains(used, a) {
				used = append(used, a)
			}
		}
	}
	return used
}

// boundOf is the bound for the pods that another plan has on new nodes, with nothing left out.
func (p *problem) boundOf(solved *plan.Plan) float64 {
	at := map[plan.PodRef]int{}
	for i, d := range p.state.Demands {
		for _, pod := range d.Group.Pods {
			at[plan.RefOf(pod)] = i
		}
	}
	placed := make([]int, len(p.state.Demands))
	for i := range solved.NodeClaims {
		for _, ref := range solved.NodeClaims[i].Pods {
			placed[at[ref]]++
		}
	}
	for i, d := range p.state.Demands {
		placed[i] /= d.PodsPerUnit()
	}
	return bound.LowerBound(p.state, placed, p.worth)
}
