package planner

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/claims"
	"github.com/whittle-dev/whittle/shared/planner/dispersal"
	"github.com/whittle-dev/whittle/shared/planner/placement"
)

// disperse returns the plan with the replicas of its workloads apart, as far as the NodePools pay
// for that.
func (p *planning) disperse() *planning {
	if p.work.Snapshot.SkipImprovement || len(p.state.Planned) == 0 || p.leavesOutForScarcity() {
		return p
	}
	percent, some := p.dispersalPercent()
	if !some {
		return p
	}
	written := p.restoreUnits()
	d := dispersal.Read(p.state, percent)
	if d == nil {
		p.takeUnits(written)
		return p
	}
	budget := p.dispersalBudget(percent)
	changed := d.Exchange()
	added := 0.0
	for _, most := range []float64{0, budget} {
		dearer, split := d.Split(most - added)
		if added += dearer; split {
			changed = d.Exchange() || split
		}
	}
	changed = d.KeepToZones(budget-added) || changed
	if !changed {
		p.takeUnits(written)
		return p
	}
	d.Write()
	p.rewrite()
	return p
}

// leavesOutForScarcity reports whether limits or stocks may be all that keeps a pod from a node. It
// could then need room that comes about where other pods move.
func (p *planning) leavesOutForScarcity() bool {
	return slices.ContainsFunc(p.refused, func(left placement.Leftover) bool {
		return left.Demand != nil && p.isScarce(left.Demand)
	})
}

// dispersalPercent is what dispersal may add to the price of a NodePool's nodes, by the pool's
// name.
func (p *planning) dispersalPercent() (map[string]float64, bool) {
	percent, some := map[string]float64{}, false
	for _, pool := range p.offers.Pools {
		percent[pool.Name()] = p.work.Snapshot.DispersalPercentOf(pool.NodePool)
		some = some || percent[pool.Name()] > 0
	}
	return percent, some
}

// dispersalBudget is what dispersal may add to the price of the plan in US dollars an hour.
func (p *planning) dispersalBudget(percent map[string]float64) float64 {
	budget := 0.0
	for i := range p.plan.NodeClaims {
		claim := &p.plan.NodeClaims[i]
		budget += claim.PricePerHour * percent[claim.NodeClaim.Labels[api.NodePoolLabelKey]] / 100
	}
	return budget
}

// restoreUnits gives the demands the units that write has taken. It returns what they had instead.
func (p *planning) restoreUnits() [][][]*corev1.Pod {
	written := make([][][]*corev1.Pod, len(p.state.Demands))
	for i, d := range p.state.Demands {
		written[i], d.Units = d.Units, p.units[i]
	}
	return written
}

// takeUnits undoes restoreUnits.
func (p *planning) takeUnits(written [][][]*corev1.Pod) {
	for i, d := range p.state.Demands {
		d.Units = written[i]
	}
}

// rewrite writes the claims of the plan again. The bound holds as it is, since it is about the same
// pods.
func (p *planning) rewrite() {
	lowerBound := p.plan.LowerBoundPerHour
	p.plan = &plan.Plan{LowerBoundPerHour: lowerBound}
	p.plan.Nominations = p.state.Nominate()
	p.plan.NodeClaims, _ = claims.Write(p.state, p.state.Planned)
	p.sort()
}
