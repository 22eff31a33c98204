package planner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// problem is a snapshot as the planner works on it.
type problem struct {
	snapshot *plan.Snapshot
	axes     *axes
	// undefined says which label keys a new node may have any value of, though its pool does not mention them.
	undefined  scheduling.Undefined
	podClasses *podClasses
	// classesOn are the classes of the pods on each of the snapshot's nodes; nil if no constraint asks for them.
	classesOn [][]int
	peers     map[string]*peers
	// chosenPeers are what peersFor gave, by what it was asked for, which is written by termKey. fields are the names that fieldOf gave.
	chosenPeers map[string]chosenPeers
	termKey     podKey
	fields      map[indexed]string
	board       *board
	volumes     *volumeNeeds
	// avoidable says that some pool or node has a taint of effect PreferNoSchedule.
	avoidable bool
	shapes    []*shape
	pools     []*pool
	types     map[string]*typeList
	configs   []config
	// daemonSums counts the sets of daemons that run together.
	daemonSums int
	columns    []column
	// zones and capacityTypes are those of the columns' offerings.
	zones, capacityTypes []string
	// exotic are the columns of exotic instance types, reserved those that take units of reservations, limited those of pools with limits.
	exotic, reserved, limited bitset
	// leftOut is what this plan makes no use of: see further.go.
	leftOut []aspect
	// plansMade counts the further plans.
	plansMade int
	// tiers are the columns of the pools of each weight, heaviest first; reservations what reserved columns share.
	tiers        []bitset
	reservations []reservation
	// sizes are, by axis, the columns by how much they have.
	sizes   []sizes
	sets    *columnSets
	classes []*class
	// decisions remember what decide was asked for, openedBy its results by their text.
	decisions map[decision]*opened
	openedBy  map[string]*opened
	existing  []*existing
	demands   []*demand
	// demandMemory and unitMemory are memory for further demands and their units.
	demandMemory []demand
	unitMemory   [][]*corev1.Pod
	// round counts the rounds of placing: each but the first is for pods that have given up a preference.
	round int
	// planned are the new nodes so far.
	planned []*node
	// demandsRead is how many demands readDemands has seen, generation how often it has seen more.
	demandsRead, generation int
	// worth is what packing last found units to be worth.
	worth *dual
	// left are the pods that this round of placing could not place.
	left []leftover
	// refused are those that no round could place.
	refused []leftover
	plan    *plan.Plan
}

// leftover are pods of a shape without a place: for a reason found before nodes were packed, or as a demand that nothing has room for.
type leftover struct {
	shape  *shape
	pods   []*corev1.Pod
	reason string
	demand *demand
}

// leave notes that pods of a shape stay without a place.
func (p *problem) leave(s *shape, pods []*corev1.Pod, reason string) {
	if len(pods) > 0 {
		p.left = append(p.left, leftover{shape: s, pods: pods, reason: reason})
	}
}

// Solve plans a place for every pod of the snapshot that can have one: on the nodes that are there or on their way, then on new nodes, as cheap as it finds.
// It changes nothing in the snapshot, and the plan shares no memory with it that either would change.
func Solve(s *plan.Snapshot) *plan.Plan {
	p := newProblem(s)
	if len(s.Pods) == 0 {
		return p.plan
	}
	p.solve()
	return p.further()
}

// solve makes the plan.
func (p *problem) solve() {
	p.read()
	for shapes := p.shapes; len(shapes) > 0; p.round++ {
		shapes = p.placeShapes(shapes)
	}
	p.nominate()
	p.planClaims(p.planned)
	p.planUnplaced()
	p.sortPlan()
}

func newProblem(s *plan.Snapshot) *problem {
	return &problem{
		snapshot: s, plan: &plan.Plan{}, types: map[string]*typeList{}, peers: map[string]*peers{},
		chosenPeers: map[string]chosenPeers{}, fields: map[indexed]string{},
	}
}

func (p *problem) read() {
	p.undefined = scheduling.UndefinedAnyOf(p.snapshot.WellKnownLabels)
	p.podClasses = readClasses(p.snapshot)
	p.avoidable = p.hasAvoidableTaint()
	p.readVolumes()
	p.readBoard()
	p.readShapes()
	if p.podClasses.any {
		p.classesOn = make([][]int, len(p.snapshot.Nodes))
		for i := range p.snapshot.Nodes {
			pods := p.snapshot.Nodes[i].Pods
			on := make([]int, len(pods))
			for j := range pods {
				on[j] = -1
				if p.counts(&pods[j]) {
					on[j] = p.podClasses.of(&pods[j])
				}
			}
			p.classesOn[i] = on
		}
	}
	p.readPools()
	p.readColumns()
	p.sets = newColumnSets(p)
	p.readExisting()
	p.readNominated()
}

func (p *problem) hasAvoidableTaint() bool {
	avoidable := func(taints []corev1.Taint) bool {
		return slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule })
	}
	return slices.ContainsFunc(p.snapshot.NodePools, func(n api.NodePool) bool { return avoidable(n.Spec.Template.Spec.Taints) }) ||
		slices.ContainsFunc(p.snapshot.Nodes, func(n plan.Node) bool { return n.Node != nil && avoidable(n.Node.Spec.Taints) })
}

// placeRounds bounds how often single units are placed and taken back again where they change what others are measured by.
const placeRounds = 4

// placeShapes gives the shapes' pods places, on nodes that exist, then on new ones. What it returns are the pods that found none, as shapes that have given up a
// preference for it; those that have none left to give up are unplaced.
func (p *problem) placeShapes(shapes []*shape) []*shape {
	first := len(p.demands)
	p.board.placed = false
	p.divide(shapes)
	p.readDemands()
	p.fillExisting(first)
	p.pack(first)
	p.unskew()
	for range placeRounds {
		p.placeRest()
		if !p.unskew() {
			break
		}
	}
	return p.relaxLeft()
}

// pack plans new nodes for the demands from first on. Those that have to follow others wait until the others have their places.
func (p *problem) pack(first int) {
	waiting := make([]int, len(p.demands))
	any := false
	for _, d := range p.demands[first:] {
		waiting[d.index] = d.waiting
		if len(d.follows) > 0 {
			d.waiting = 0
		}
		any = any || d.waiting > 0
	}
	if !any {
		for _, d := range p.demands[first:] {
			d.waiting = waiting[d.index]
		}
		return
	}
	p.planned = p.packNewNodes(p.planned)
	for _, d := range p.demands[first:] {
		if len(d.follows) > 0 {
			d.waiting = waiting[d.index]
		}
	}
}

// relaxLeft takes the pods without a place out of their demands.
func (p *problem) relaxLeft() []*shape {
	for _, d := range p.demands {
		if d.waiting == 0 {
			continue
		}
		placed := len(d.units) - d.waiting
		p.leave(d.shape, flatten(d.units[placed:]), "")
		p.left[len(p.left)-1].demand = d
		d.units, d.waiting = d.units[:placed], 0
		if placed == 0 {
			p.recount(d, 0)
		}
	}
	var next []*shape
	var waiting []leftover
	byShape := map[*shape]*shape{}
	for _, left := range p.left {
		if relaxed, ok := byShape[left.shape]; ok && relaxed != nil {
			relaxed.pods = append(relaxed.pods, left.pods...)
			continue
		}
		relaxed := p.relaxed(left.shape, slices.Clone(left.pods))
		byShape[left.shape] = relaxed
		if relaxed == nil {
			waiting = append(waiting, left)
			continue
		}
		next = append(next, relaxed)
	}
	p.left = nil
	for _, left := range waiting {
		// Where others go once they have given up a preference, pods may follow that have none.
		if s := left.shape; len(next) > 0 && s.problem == "" && len(s.topology.affinity)+len(s.topology.spread) > 0 {
			again := *s
			again.pods, again.measured = slices.Clone(left.pods), nil
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
