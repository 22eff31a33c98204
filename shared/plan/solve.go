package plan

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// problem is a snapshot as the planner works on it.
type problem struct {
	snapshot *Snapshot
	axes     *axes
	// undefined says which label keys a new node may have any value of, though its pool does not mention them.
	undefined  scheduling.Undefined
	podClasses *podClasses
	// classesOn are the classes of the pods on each of the snapshot's nodes; nil if no constraint asks for them.
	classesOn [][]int
	peers     map[string]*peers
	board     *board
	volumes   *volumeNeeds
	// avoidable says that some pool or node has a taint of effect PreferNoSchedule.
	avoidable bool
	shapes    []*shape
	pools     []*pool
	types     map[string][]*catalog.InstanceType
	configs   []config
	columns   []column
	// exotic are the columns of exotic instance types, reserved those that take units of reservations, limited those of pools with limits.
	exotic, reserved, limited bitset
	// tiers are the columns of the pools of each weight, heaviest first; reservations what reserved columns share.
	tiers        []bitset
	reservations []reservation
	// sizes are, by axis, the columns by how much they have.
	sizes    []sizes
	sets     *columnSets
	classes  []*class
	existing []*existing
	demands  []*demand
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
	plan    *Plan
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
func Solve(s *Snapshot) *Plan {
	p := newProblem(s)
	if len(s.Pods) == 0 {
		return p.plan
	}
	p.read()
	for shapes := p.shapes; len(shapes) > 0; p.round++ {
		shapes = p.placeShapes(shapes)
	}
	p.nominate()
	p.planClaims(p.planned)
	p.planUnplaced()
	p.sortPlan()
	return p.plan
}

func newProblem(s *Snapshot) *problem {
	return &problem{snapshot: s, plan: &Plan{}, types: map[string][]*catalog.InstanceType{}, peers: map[string]*peers{}}
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
	requested := map[corev1.ResourceName]bool{}
	for _, s := range p.shapes {
		for name := range s.requests {
			requested[name] = true
		}
	}
	for i := range p.snapshot.DaemonSets {
		for name := range scheduling.DaemonPodRequests(&p.snapshot.DaemonSets[i].Spec.Template) {
			requested[name] = true
		}
	}
	p.axes = newAxes(requested)
	for _, s := range p.shapes {
		s.need = p.axes.requests(s.requests)
	}
	sortShapes(p.shapes)
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
		slices.ContainsFunc(p.snapshot.Nodes, func(n Node) bool { return n.Node != nil && avoidable(n.Node.Spec.Taints) })
}

// placeShapes gives the shapes' pods places, on nodes that exist, then on new ones. What it returns are the pods that found none, as shapes that have given up a
// preference for it; those that have none left to give up are unplaced.
func (p *problem) placeShapes(shapes []*shape) []*shape {
	first := len(p.demands)
	p.divide(shapes)
	p.readDemands()
	p.fillExisting(first)
	p.pack(first)
	p.unskew()
	p.placeRest()
	p.unskew()
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
	slices.SortFunc(p.plan.Nominations, func(a, b Nomination) int { return compareRefs(a.Pod, b.Pod) })
	slices.SortFunc(p.plan.Unplaced, func(a, b Unplaced) int { return compareRefs(a.Pod, b.Pod) })
	slices.SortStableFunc(p.plan.NodeClaims, func(a, b PlannedNodeClaim) int {
		return cmp.Or(strings.Compare(a.NodeClaim.GenerateName, b.NodeClaim.GenerateName), -cmp.Compare(a.PricePerHour, b.PricePerHour),
			compareRefs(a.Pods[0], b.Pods[0]))
	})
	for i := range p.plan.NodeClaims {
		p.plan.PricePerHour += p.plan.NodeClaims[i].PricePerHour
	}
}
