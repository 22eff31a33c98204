package planner

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/bound"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// The stages are greedy: a domain or an alternative is chosen once. So one more type or zone on
// offer can make a plan dearer. Where a small plan costs clearly more than its bound, replan tries
// it without one of the things that it uses. The offerings of nodes need no such tries: packing
// searches whole nodes for all units together.

const (
	// replanPods is the most waiting pods for which a second plan is made.
	replanPods = 64
	// replanExclusions is the most things that are excluded together.
	replanExclusions = 4
	// replanPlans and replanOfferings bound the work: the most further plans, and the most
	// offerings that all of them may read.
	replanPlans, replanOfferings = 24, 60_000
	// replanGap is the ratio of price to bound that is good enough.
	replanGap = 1.02
)

// replan returns the cheapest of the plan and the further plans that exclude something it uses.
func (p *planning) replan() *planning {
	if p.work.Snapshot.SkipImprovement || !p.onlyPriceMatters() || !p.choosesOnce() {
		return p
	}
	best, plans := p, 0
	for range replanExclusions {
		from := best
		for _, exclusion := range from.used() {
			plans++
			if plans > replanPlans || plans*len(p.offers.Offerings) > replanOfferings ||
				best.plan.PricePerHour <= replanGap*best.plan.LowerBoundPerHour {
				return best
			}
			other := placeAll(p.work.Snapshot, append(slices.Clone(from.offers.Exclusions), exclusion)...)
			other.write()
			if other.cheaperThan(best) {
				// The bound of a plan with exclusions holds for such plans only.
				other.plan.LowerBoundPerHour = p.boundOf(other.plan)
				best = other
			}
		}
		if best == from {
			break
		}
	}
	return best
}

// onlyPriceMatters reports whether few pods wait, all have places, and only the price tells further
// plans apart: no preference, no NodePool before others, and no spread, whose domains an exclusion
// would change.
func (p *planning) onlyPriceMatters() bool {
	if len(p.work.Snapshot.Pods) > replanPods || len(p.refused) > 0 || len(p.offers.Tiers) != 1 {
		return false
	}
	return !slices.ContainsFunc(p.work.Groups, func(g *workload.Group) bool {
		return g.Preferences && (g.AvoidsTaints || workload.RelaxSpec(g.Spec) != nil) || spreadsOverDomains(g)
	})
}

// unitByUnit returns the cheaper of the plan and one for which packing chose node by node. The
// stages after packing place pods that depend on others. They may need room that the cheapest nodes
// for the pods of packing do not have.
func (p *planning) unitByUnit() *planning {
	if p.work.Snapshot.SkipImprovement || len(p.work.Snapshot.Pods) > bound.MostWholeUnits || !p.placesInTurns() ||
		p.plan.PricePerHour <= p.plan.LowerBoundPerHour*(1+1e-6) {
		return p
	}
	other := newPlanning(p.work, p.offers)
	other.state.SkipWhole = true
	other.place(p.work.Groups)
	other = other.inOrder().scarceFirst()
	other.write()
	before, after := p.refusedPods(), other.refusedPods()
	switch {
	case other.leavesOutLessThan(p):
		return other
	case !maps.Equal(before, after) || other.exoticNodes() > p.exoticNodes() ||
		other.plan.PricePerHour >= p.plan.PricePerHour*(1-1e-6):
		return p
	}
	return other
}

// placesInTurns reports whether other stages than packing have placed pods on new nodes, or decided
// about them.
func (p *planning) placesInTurns() bool {
	return p.state.Round > 1 || len(p.refused) > 0 || len(p.offers.Tiers) > 1 ||
		slices.ContainsFunc(p.state.Demands, func(d *placement.Demand) bool {
			return len(d.Follows)+len(d.Group.Topology.Affinity) > 0 || spreadsOverDomains(d.Group)
		})
}

// spreadsOverDomains reports whether the pods have a spread over anything but hosts.
func spreadsOverDomains(g *workload.Group) bool {
	return slices.ContainsFunc(g.Topology.Spread, func(t workload.SpreadTerm) bool {
		return t.Key != corev1.LabelHostname
	})
}

// choosesOnce reports whether more than the search for whole nodes has decided what the plan costs:
// a stage before packing has chosen domains or alternatives, limits matter, or there was no search,
// or it has ended.
func (p *planning) choosesOnce() bool {
	return !p.state.Whole || p.placesInTurns() || slices.ContainsFunc(p.state.Demands, func(d *placement.Demand) bool {
		return d.Alternatives != d.Group.Alternatives || d.Feasibility == nil || d.Feasibility.Resolves != nil ||
			len(d.Follows) > 0
	})
}

// cheaperThan reports whether the plan places all pods, uses no more exotic instance types than the
// other plan, and costs less by more than rounding.
func (p *planning) cheaperThan(other *planning) bool {
	return len(p.refused) == 0 && p.exoticNodes() <= other.exoticNodes() &&
		p.plan.PricePerHour < other.plan.PricePerHour*(1-1e-6)
}

func (p *planning) exoticNodes() int {
	nodes := 0
	for _, n := range p.state.Planned {
		if p.offers.IsExotic(n.Offering) {
			nodes++
		}
	}
	return nodes
}

// used are the instance types, NodePools, zones and capacity types of the plan's new nodes.
func (p *planning) used() []offering.Exclusion {
	var used []offering.Exclusion
	for _, key := range []string{
		corev1.LabelInstanceTypeStable, api.NodePoolLabelKey, corev1.LabelTopologyZone, api.CapacityTypeLabelKey,
	} {
		for _, n := range p.state.Planned {
			poolType, source := p.offers.PoolTypeOf(n.Offering), p.offers.Offerings[n.Offering].Source
			value := offering.AttributeValue(key, poolType.Pool, poolType.Type, source)
			if e := (offering.Exclusion{Key: key, Value: value}); !slices.Contains(used, e) {
				used = append(used, e)
			}
		}
	}
	return used
}

// boundOf is the lower bound for the pods that another plan has on new nodes, without exclusions.
func (p *planning) boundOf(other *plan.Plan) float64 {
	demandOf := map[plan.PodRef]int{}
	for i, d := range p.state.Demands {
		for _, pod := range d.Group.Pods {
			demandOf[plan.RefOf(pod)] = i
		}
	}
	placed := make([]int, len(p.state.Demands))
	for i := range other.NodeClaims {
		for _, ref := range other.NodeClaims[i].Pods {
			placed[demandOf[ref]]++
		}
	}
	for i, d := range p.state.Demands {
		placed[i] /= d.PodsPerUnit()
	}
	return bound.LowerBound(p.state, placed, p.prices, other.PricePerHour)
}
