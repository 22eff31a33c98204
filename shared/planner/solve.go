package planner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"
)

// problem is a snapshot with the plan that is made for it.
type problem struct {
	work     *workload
	offers   *offerings
	state    *placements
	topology *topology
	repairs  *repairs
	// plansMade counts the plans that replan has made.
	plansMade int
	// worth is what packing last found units to be worth.
	worth *dual
	// refused are the pods that no round could place.
	refused []leftover
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
	for shapes := p.work.shapes; len(shapes) > 0; p.state.round++ {
		shapes = p.placeShapes(shapes)
	}
	p.plan.Nominations = p.state.nominate()
	var placed []int
	p.plan.NodeClaims, placed = writeClaims(p.state, p.state.planned)
	if !p.work.snapshot.SkipImprovement {
		p.plan.LowerBoundPerHour = lowerBound(p.state, placed, p.worth)
	}
	p.planUnplaced()
	p.sortPlan()
}

// newProblem reads the snapshot. Nothing is bought that is left out.
func newProblem(s *plan.Snapshot, leftOut ...aspect) *problem {
	work := readWorkload(s)
	offers := buildOfferings(work, leftOut)
	state := newPlacements(work, offers)
	topology := newTopology(work, offers, state)
	return &problem{
		work: work, offers: offers, state: state, topology: topology,
		repairs: &repairs{work: work, offers: offers, state: state, topology: topology}, plan: &plan.Plan{},
	}
}

// placeRounds bounds how often single units are placed and taken back again where they change what others are measured by.
const placeRounds = 4

// placeShapes gives the shapes' pods places, on nodes that exist, then on new ones. What it returns are the pods that found none, as shapes that have given up a
// preference for it; those that have none left to give up are unplaced.
func (p *problem) placeShapes(shapes []*shape) []*shape {
	first := len(p.state.demands)
	p.topology.board.placed = false
	p.topology.divide(shapes)
	p.state.readDemands()
	p.state.fillExisting(first)
	p.pack(first)
	p.repairs.unskew()
	for range placeRounds {
		p.repairs.placeRest()
		if !p.repairs.unskew() {
			break
		}
	}
	return p.relaxLeft()
}

// pack plans new nodes for the demands from first on. Those that have to follow others wait until the others have their places.
func (p *problem) pack(first int) {
	waiting := make([]int, len(p.state.demands))
	any := false
	for _, d := range p.state.demands[first:] {
		waiting[d.index] = d.waiting
		if len(d.follows) > 0 {
			d.waiting = 0
		}
		any = any || d.waiting > 0
	}
	if !any {
		for _, d := range p.state.demands[first:] {
			d.waiting = waiting[d.index]
		}
		return
	}
	nodes, dual := packNewNodes(p.state, p.state.planned)
	if p.state.planned = nodes; dual != nil {
		p.worth = dual
	}
	for _, d := range p.state.demands[first:] {
		if len(d.follows) > 0 {
			d.waiting = waiting[d.index]
		}
	}
}

// relaxLeft takes the pods without a place out of their demands.
func (p *problem) relaxLeft() []*shape {
	for _, d := range p.state.demands {
		if d.waiting == 0 {
			continue
		}
		placed := len(d.units) - d.waiting
		p.state.leave(d.shape, flatten(d.units[placed:]), "")
		p.state.left[len(p.state.left)-1].demand = d
		d.units, d.waiting = d.units[:placed], 0
		if placed == 0 {
			p.topology.recount(d, 0)
		}
	}
	var next []*shape
	var waiting []leftover
	byShape := map[*shape]*shape{}
	for _, left := range p.state.left {
		if relaxed, ok := byShape[left.shape]; ok && relaxed != nil {
			relaxed.pods = append(relaxed.pods, left.pods...)
			continue
		}
		relaxed := p.work.relaxed(left.shape, slices.Clone(left.pods))
		byShape[left.shape] = relaxed
		if relaxed == nil {
			waiting = append(waiting, left)
			continue
		}
		next = append(next, relaxed)
	}
	p.state.left = nil
	for _, left := range waiting {
		// Where others go once they have given up a preference, pods may follow that have none.
		if s := left.shape; len(next) > 0 && s.problem == "" && len(s.topology.affinity)+len(s.topology.spread) > 0 {
			again := *s
			again.pods = slices.Clone(left.pods)
			next = append(next, &again)
			continue
		}
		p.refused = append(p.refused, left)
	}
	for _, s := range next {
		slices.SortFunc(s.pods, comparePods)
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
