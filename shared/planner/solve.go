package planner

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/bound"
	"github.com/whittle-dev/whittle/shared/planner/claims"
	"github.com/whittle-dev/whittle/shared/planner/correction"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/packing"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/topology"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// Solve plans a place for every pod of the snapshot that can have one, as cheaply as it finds:
// first on existing nodes and nodes in flight, then on new nodes. It does not change the snapshot.
// The plan shares no memory with the snapshot that a change of either would reach.
func Solve(s *plan.Snapshot) *plan.Plan {
	if len(s.Pods) == 0 {
		return &plan.Plan{}
	}
	p := placeAll(s).inOrder().scarceFirst()
	p.write()
	p = p.unitByUnit().replan().disperse()
	p.explainUnplaced()
	return p.plan
}

// planning is a plan with the stages' results that it was made from.
type planning struct {
	work      *workload.Workload
	offers    *offering.Index
	state     *placement.State
	domain    *topology.Topology
	corrector *correction.Corrector
	// relaxed is the work of the rounds so far: see relaxBudget.
	relaxed int
	// prices are those of the last packing; nil if nothing was packed.
	prices *bound.Dual
	// refused are the pods that no round could place.
	refused []placement.Leftover
	// units are those of each demand before write took them.
	units [][][]*corev1.Pod
	plan  *plan.Plan
}

// placeAll runs the stages up to the claims, in their order. The plan buys nothing that is excluded.
func placeAll(s *plan.Snapshot, exclusions ...offering.Exclusion) *planning {
	p := readStages(s, exclusions...)
	p.place(p.work.Groups)
	return p
}

// place runs the stages that place pods. A round places pod groups; each further round is for the
// pods without a place, which have given up one more preference.
func (p *planning) place(groups []*workload.Group) {
	for ; len(groups) > 0; p.state.Round++ {
		first := len(p.state.Demands)
		p.domain.Divide(groups)
		p.state.FillExisting(first)
		p.packNewNodes(first)
		p.correctPlacements()
		groups = p.relax()
	}
}

// write writes the plan, without the pods that have no place.
func (p *planning) write() {
	p.units = make([][][]*corev1.Pod, len(p.state.Demands))
	for i, d := range p.state.Demands {
		p.units[i] = d.Units
	}
	p.plan.Nominations = p.state.Nominate()
	var placed []int
	p.plan.NodeClaims, placed = claims.Write(p.state, p.state.Planned)
	p.sort()
	if !p.work.Snapshot.SkipImprovement && len(p.offers.Exclusions) == 0 {
		p.plan.LowerBoundPerHour = bound.LowerBound(p.state, placed, p.prices, p.plan.PricePerHour)
	}
}

// readStages runs the stages that do not depend on the plan.
func readStages(s *plan.Snapshot, exclusions ...offering.Exclusion) *planning {
	work := workload.Read(s)
	return newPlanning(work, offering.Build(work, exclusions))
}

// newPlanning is a plan without any placement.
func newPlanning(work *workload.Workload, offers *offering.Index) *planning {
	state := placement.New(work, offers)
	domain := topology.New(work, offers, state)
	return &planning{
		work: work, offers: offers, state: state, domain: domain, corrector: correction.New(state, domain),
		plan: &plan.Plan{},
	}
}

// packNewNodes plans new nodes for the demands from the first on. Demands that must share a node
// with other pods wait until those have their places.
func (p *planning) packNewNodes(first int) {
	waiting := make([]int, len(p.state.Demands))
	packs := false
	for _, d := range p.state.Demands[first:] {
		waiting[d.Index] = d.Waiting
		if len(d.Follows) > 0 {
			d.Waiting = 0
		}
		packs = packs || d.Waiting > 0
	}
	if packs {
		nodes, prices := packing.Pack(p.state, p.state.Planned)
		if p.state.Planned = nodes; prices != nil {
			p.prices = prices
		}
	}
	for _, d := range p.state.Demands[first:] {
		if len(d.Follows) > 0 {
			d.Waiting = waiting[d.Index]
		}
	}
}

// correctionRounds bounds how often single units are placed and retracted again, where each place
// changes what others are measured by.
const correctionRounds = 4

// correctPlacements retracts placements that break a constraint, and places the waiting units singly.
func (p *planning) correctPlacements() {
	p.corrector.RetractViolations()
	for range correctionRounds {
		p.corrector.PlaceSingly()
		if !p.corrector.RetractViolations() {
			return
		}
	}
}

// relaxBudget bounds the work of the rounds in which pods give up one preference each. A round costs
// about one look at each demand, and at each constraint of the pods without a place.
const relaxBudget = 200_000

// relax takes the pods without a place out of their demands. It returns them as pod groups that
// have given up one preference, or all of them once the budget is used up. Pods without a preference
// left are refused.
func (p *planning) relax() []*workload.Group {
	p.collectLeftovers()
	relax := p.work.Relax
	p.relaxed += len(p.state.Demands)
	for _, left := range p.state.Leftovers {
		p.relaxed += 1 + left.Group.PodConstraints()
	}
	if p.relaxed > relaxBudget {
		relax = p.work.RelaxFully
	}
	var next []*workload.Group
	var strict []placement.Leftover
	relaxedOf := map[*workload.Group]*workload.Group{}
	for _, left := range p.state.Leftovers {
		if relaxed := relaxedOf[left.Group]; relaxed != nil {
			relaxed.Pods = append(relaxed.Pods, left.Pods...)
			continue
		}
		relaxed := relax(left.Group, slices.Clone(left.Pods))
		relaxedOf[left.Group] = relaxed
		if relaxed == nil {
			strict = append(strict, left)
			continue
		}
		next = append(next, relaxed)
	}
	p.state.Leftovers = nil
	for _, left := range strict {
		// Relaxed pods may go where pods without a preference can follow them.
		g := left.Group
		if len(next) == 0 || g.Problem != "" || len(g.Topology.Affinity)+len(g.Topology.Spread) == 0 {
			p.refused = append(p.refused, left)
			continue
		}
		again := *g
		again.Pods = slices.Clone(left.Pods)
		next = append(next, &again)
	}
	for _, g := range next {
		slices.SortFunc(g.Pods, workload.ComparePods)
	}
	return next
}

// collectLeftovers moves the waiting units of all demands to the leftovers.
func (p *planning) collectLeftovers() {
	for _, d := range p.state.Demands {
		if d.Waiting == 0 {
			continue
		}
		placed := len(d.Units) - d.Waiting
		p.state.AddLeftover(d.Group, placement.Flatten(d.Units[placed:]), "")
		p.state.Leftovers[len(p.state.Leftovers)-1].Demand = d
		d.Units, d.Waiting = d.Units[:placed], 0
		if placed == 0 {
			p.domain.Record(d, 0)
		}
	}
}

// sort sorts the plan's lists, and adds up its prices in that order.
func (p *planning) sort() {
	slices.SortFunc(p.plan.Nominations, func(a, b plan.Nomination) int { return plan.CompareRefs(a.Pod, b.Pod) })
	claims.Sort(p.plan.NodeClaims)
	for i := range p.plan.NodeClaims {
		p.plan.AddPrices(&p.plan.NodeClaims[i], 1)
	}
}
