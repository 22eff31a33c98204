package planner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/bound"
	"github.com/whittle-dev/whittle/shared/planner/claims"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/packing"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/repair"
	"github.com/whittle-dev/whittle/shared/planner/topology"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// problem is a snapshot with the plan that is made for it.
type problem struct {
	work     *workload.Workload
	offers   *offering.Index
	state    *placement.State
	topology *topology.Topology
	repairs  *repair.Repairer
	// plansMade counts the plans that replan has made.
	plansMade int
	// worth is what packing last found units to be worth.
	worth *bound.Dual
	// refused are the pods that no round could place.
	refused []placement.Leftover
	plan    *plan.Plan
}

// Solve plans a place for every pod of the snapshot that can have one: on the nodes that are there or on their way, then on new nodes, as cheap as it finds.
// It changes nothing in the snapshot, and the plan shares no memory with it that either would change.
func Solve(s *plan.Snapshot) *plan.Plan {
	if len(s.Pods) == 0 {
		return &plan.Plan{}
	}
	p := newProblem(s)
	p.solve()
	return p.further()
}

// solve makes the plan.
func (p *problem) solve() {
	for shapes := p.work.Groups; len(shapes) > 0; p.state.Round++ {
		shapes = p.placeShapes(shapes)
	}
	p.plan.Nominations = p.state.Nominate()
	var placed []int
	p.plan.NodeClaims, placed = claims.Write(p.state, p.state.Planned)
	if !p.work.Snapshot.SkipImprovement {
		p.plan.LowerBoundPerHour = bound.LowerBound(p.state, placed, p.worth)
	}
	p.planUnplaced()
	p.sortPlan()
}

// newProblem reads the snapshot. Nothing is bought that is left out.
func newProblem(s *plan.Snapshot, leftOut ...offering.Exclusion) *problem {
	work := workload.Read(s)
	offers := offering.Build(work, leftOut)
	state := placement.New(work, offers)
	domains := topology.New(work, offers, state)
	return &problem{
		work: work, offers: offers, state: state, topology: domains,
		repairs: repair.New(state, domains), plan: &plan.Plan{},
	}
}

// placeRounds bounds how often single units are placed and taken back again where they change what others are measured by.
const placeRounds = 4

// placeShapes gives the shapes' pods places, on nodes that exist, then on new ones. What it returns are the pods that found none, as shapes that have given up a
// preference for it; those that have none left to give up are unplaced.
func (p *problem) placeShapes(shapes []*workload.Group) []*workload.Group {
	first := len(p.state.Demands)
	p.topology.Counts.Placed = false
	p.topology.Divide(shapes)
	p.state.FinishDemands()
	p.state.FillExisting(first)
	p.pack(first)
	p.repairs.RetractViolations()
	for range placeRounds {
		p.repairs.PlaceSingly()
		if !p.repairs.RetractViolations() {
			break
		}
	}
	return p.relaxLeft()
}

// pack plans new nodes for the demands from first on. Those that have to follow others wait until the others have their places.
func (p *problem) pack(first int) {
	waiting := make([]int, len(p.state.Demands))
	any := false
	for _, d := range p.state.Demands[first:] {
		waiting[d.Index] = d.Waiting
		if len(d.Follows) > 0 {
			d.Waiting = 0
		}
		any = any || d.Waiting > 0
	}
	if !any {
		for _, d := range p.state.Demands[first:] {
			d.Waiting = waiting[d.Index]
		}
		return
	}
	nodes, dual := packing.Pack(p.state, p.state.Planned)
	if p.state.Planned = nodes; dual != nil {
		p.worth = dual
	}
	for _, d := range p.state.Demands[first:] {
		if len(d.Follows) > 0 {
			d.Waiting = waiting[d.Index]
		}
	}
}

// relaxLeft takes the pods without a place out of their demands.
func (p *problem) relaxLeft() []*workload.Group {
	for _, d := range p.state.Demands {
		if d.Waiting == 0 {
			continue
		}
		placed := len(d.Units) - d.Waiting
		p.state.Leave(d.Group, placement.Flatten(d.Units[placed:]), "")
		p.state.Leftovers[len(p.state.Leftovers)-1].Demand = d
		d.Units, d.Waiting = d.Units[:placed], 0
		if placed == 0 {
			p.topology.Record(d, 0)
		}
	}
	var next []*workload.Group
	var waiting []placement.Leftover
	byShape := map[*workload.Group]*workload.Group{}
	for _, left := range p.state.Leftovers {
		if relaxed, ok := byShape[left.Shape]; ok && relaxed != nil {
			relaxed.Pods = append(relaxed.Pods, left.Pods...)
			continue
		}
		relaxed := p.work.Relax(left.Shape, slices.Clone(left.Pods))
		byShape[left.Shape] = relaxed
		if relaxed == nil {
			waiting = append(waiting, left)
			continue
		}
		next = append(next, relaxed)
	}
	p.state.Leftovers = nil
	for _, left := range waiting {
		// Where others go once they have given up a preference, pods may follow that have none.
		if s := left.Shape; len(next) > 0 && s.Problem == "" && len(s.Topology.Affinity)+len(s.Topology.Spread) > 0 {
			again := *s
			again.Pods = slices.Clone(left.Pods)
			next = append(next, &again)
			continue
		}
		p.refused = append(p.refused, left)
	}
	for _, s := range next {
		slices.SortFunc(s.Pods, workload.ComparePods)
	}
	return next
}

func (p *problem) sortPlan() {
	slices.SortFunc(p.plan.Nominations, func(a, b plan.Nomination) int { return plan.CompareRefs(a.Pod, b.Pod) })
	slices.SortFunc(p.plan.Unplaced, func(a, b plan.Unplaced) int { return plan.CompareRefs(a.Pod, b.Pod) })
	sortClaims(p.plan.NodeClaims)
	for i := range p.plan.NodeClaims {
		p.plan.PricePerHour += p.plan.NodeClaims[i].PricePerHour
	}
}

// sortClaims sorts by pool, then price, dearest first, then by pods. Claims are large: each is moved once.
func sortClaims(claims []plan.PlannedNodeClaim) {
	order := make([]int32, len(claims))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		a, b := &claims[i], &claims[j]
		return cmp.Or(strings.Compare(a.NodeClaim.GenerateName, b.NodeClaim.GenerateName), -cmp.Compare(a.PricePerHour, b.PricePerHour),
			plan.CompareRefs(a.Pods[0], b.Pods[0]), cmp.Compare(i, j))
	})
	// Where a claim has been taken away, the one that belongs there comes next, until the first one's place is found.
	for start := range order {
		if int(order[start]) == start {
			continue
		}
		first, at := claims[start], start
		for int(order[at]) != start {
			from := int(order[at])
			claims[at], order[at] = claims[from], int32(at)
			at = from
		}
		claims[at], order[at] = first, int32(at)
	}
}
