package plan

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// problem is a snapshot as the planner works on it.
type problem struct {
	snapshot *Snapshot
	axes     *axes
	shapes   []*shape
	pools    []*pool
	types    map[string][]*catalog.InstanceType
	configs  []config
	columns  []column
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
	// hostPeers are those whom the demands' spreads over hosts count, by their text.
	hostPeers map[string]*peers
	// planned are the new nodes so far.
	planned []*node
	// demandsRead is how many demands readDemands has seen, generation how often it has seen more.
	demandsRead, generation int
	left                    []leftover
	plan                    *Plan
}

// leftover are pods of a shape that the planner decided to leave without a place, for a reason of its own.
type leftover struct {
	shape  *shape
	pods   []*corev1.Pod
	reason string
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
	p := &problem{snapshot: s, plan: &Plan{}, types: map[string][]*catalog.InstanceType{}}
	if len(s.Pods) == 0 {
		return p.plan
	}
	p.read()
	p.fillExisting()
	for _, d := range p.demands {
		d.waiting = len(d.units)
	}
	nodes := p.packNewNodes(nil)
	p.planClaims(nodes)
	p.planUnplaced()
	p.sortPlan()
	return p.plan
}

func (p *problem) read() {
	constraints := constraintLabelsOf(p.snapshot)
	p.shapes = shapesOf(p.snapshot.Pods, constraints)
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
	p.divide(p.shapes, constraints)
	p.readDemands()
	p.hostPeers = map[string]*peers{}
	for _, d := range p.demands {
		for i := range d.hosts.spread {
			p.hostPeers[d.hosts.spread[i].text()] = &d.hosts.spread[i].peers
		}
	}
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
