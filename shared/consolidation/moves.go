package consolidation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// maximumMove is how many nodes a move takes away at most. Planned together more nodes come out cheaper and have fewer pods moved again later, and a step is the harder to
// carry out the larger it is.
const maximumMove = 20

// group are the nodes of one move: those that steps have taken away together, and what they have launched for it.
type group struct {
	into *group
	// taken are how many standing nodes of each pool go.
	taken map[string]int
}

func (g *group) root() *group {
	for g.into != nil {
		g = g.into
	}
	return g
}

// maximumMove is how many nodes one move may take of this fleet: of a large one half as many, so that what brings most for its disturbance comes apart from the rest.
func (f *fleet) maximumMove() int {
	if f.large {
		return maximumMove / 2
	}
	return maximumMove
}

// limit is how many nodes of the pool one move may take.
func (f *fleet) limit(name string) int {
	if f.s.Allowed == nil {
		return f.maximumMove()
	}
	return max(1, min(f.s.Allowed[name].Underutilized, f.maximumMove()))
}

// groupsOf are the groups that the step's nodes belong to, or pods on them that earlier steps have brought there: what becomes of those depends on this step.
func groupsOf(s *step) []*group {
	var groups []*group
	add := func(g *group) {
		if g != nil && !slices.Contains(groups, g.root()) {
			groups = append(groups, g.root())
		}
	}
	for _, n := range s.leaving {
		add(n.group)
		for _, pod := range n.pods {
			if pod.from != n {
				add(pod.from.group)
			}
		}
	}
	return groups
}

// together is what the step's nodes come to as one move with the groups that they belong to; false if that takes too many nodes.
func (f *fleet) together(s *step) (map[string]int, bool) {
	taken := map[string]int{}
	for _, n := range s.leaving {
		if n.launched == nil {
			taken[n.pool.api.Name]++
		}
	}
	for _, g := range groupsOf(s) {
		for name, count := range g.taken {
			taken[name] += count
		}
	}
	all := 0
	for name, count := range taken {
		all += count
		if count > f.limit(name) {
			return nil, false
		}
	}
	return taken, all <= f.maximumMove()
}

// apply makes the step. It does nothing, and reports false, if the move that it is part of would take too many nodes.
func (f *fleet) apply(s *step) bool {
	taken, fits := f.together(s)
	if !fits {
		return false
	}
	f.make(s, &group{taken: taken})
	return true
}

// make makes the step, as part of the group.
func (f *fleet) make(s *step, all *group) {
	clear(f.tried)
	for _, g := range groupsOf(s) {
		g.into = all
	}
	for _, n := range s.leaving {
		n.group = all
	}
	made := make([]*node, len(s.launches))
	for i, launch := range s.launches {
		made[i] = f.launch(launch, all)
	}
	for _, n := range s.leaving {
		n.removed = true
		for _, pod := range n.pods {
			to := s.to[pod.ref.String()]
			if to.node == nil {
				to.node = made[to.launch]
			}
			to.node.pods = append(to.node.pods, pod)
			to.node.changed()
		}
		n.pods = nil
		n.changed()
	}
}

// launch adds a node that the claim may become.
func (f *fleet) launch(planned *plan.PlannedNodeClaim, g *group) *node {
	n := f.newLaunched(planned, g)
	f.nodes = append(f.nodes, n)
	if reservation := planned.Offerings[0].ReservationID; reservation != "" {
		f.cluster.InstanceTypes = withoutReserved(f.cluster.InstanceTypes, reservation)
		clear(f.cheap)
	}
	return n
}

// newLaunched is the cheapest node that the claim may become.
func (f *fleet) newLaunched(planned *plan.PlannedNodeClaim, g *group) *node {
	p := f.pools[planned.NodeClaim.Labels[api.NodePoolLabelKey]]
	typ, offering := p.offeringOf(planned.Offerings[0])
	f.serial++
	n := &node{name: fmt.Sprintf("~%06d", f.serial), pool: p, price: planned.PricePerHour, candidate: true, launched: planned, group: g}
	claim := planned.NodeClaim
	claim.Name, claim.GenerateName = n.name, ""
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: labelsOf(planned, typ, offering)}}
	object.Labels[corev1.LabelHostname] = n.name
	object.Labels[api.NodeRegisteredLabelKey], object.Labels[api.NodeInitializedLabelKey] = "true", "true"
	object.Spec.Taints = claim.Spec.Taints
	object.Status.Capacity, object.Status.Allocatable = typ.Capacity, typ.Allocatable
	claim.Labels, claim.Status.Capacity, claim.Status.Allocatable = object.Labels, typ.Capacity, typ.Allocatable
	n.source = &plan.Node{Node: object, NodeClaim: &claim}
	n.domains = f.domainsOf(n)
	return n
}

// moves are the difference of the fleets before and after.
func (f *fleet) moves() []Move {
	members, moved := map[*group][]*node{}, map[*group][]*pod{}
	var groups []*group
	at := map[*pod]*node{}
	for _, n := range f.nodes {
		if n.group != nil && (n.launched == nil) == n.removed {
			g := n.group.root()
			if members[g] == nil {
				groups = append(groups, g)
			}
			members[g] = append(members[g], n)
		}
		for _, pod := range n.pods {
			if at[pod] = n; pod.from.removed {
				g := pod.from.group.root()
				moved[g] = append(moved[g], pod)
			}
		}
	}
	var moves []Move
	for _, g := range groups {
		slices.SortFunc(moved[g], comparePods)
		moves = append(moves, f.move(members[g], moved[g], at))
	}
	return moves
}

// move is the step that takes some nodes away and launches others, for the pods.
func (f *fleet) move(nodes []*node, pods []*pod, at map[*pod]*node) Move {
	m := Move{Reason: api.DisruptionReasonUnderutilized, PodsMoved: len(pods)}
	least := 0.0
	for _, n := range nodes {
		if n.launched != nil {
			m.Launch = append(m.Launch, *n.launched)
			m.SavedPerHour -= n.launched.PricePerHour
			least -= dearest(n.launched)
			continue
		}
		m.Delete = append(m.Delete, leavingOf(n))
		m.SavedPerHour += n.price
		least += n.price
		if n.empty() {
			m.Reason = api.DisruptionReasonEmpty
		}
	}
	for _, pod := range pods {
		m.Disturbance += pod.cost
		n := at[pod]
		if n.launched != nil {
			continue
		}
		m.Places = append(m.Places, nominationOf(pod, n))
		if n.source.NodeClaim != nil && !n.initialized() && !slices.Contains(m.Await, n.source.NodeClaim.Name) {
			m.Await = append(m.Await, n.source.NodeClaim.Name)
		}
	}
	m.SavedAtLeast = least
	slices.SortFunc(m.Delete, func(a, b Leaving) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.NodeClaim, b.NodeClaim))
	})
	slices.SortFunc(m.Places, func(a, b plan.Nomination) int { return comparePodRefs(a.Pod, b.Pod) })
	slices.SortFunc(m.Launch, func(a, b plan.PlannedNodeClaim) int {
		return cmp.Or(-cmp.Compare(a.PricePerHour, b.PricePerHour), comparePodRefs(a.Pods[0], b.Pods[0]))
	})
	slices.Sort(m.Await)
	return m
}

func nominationOf(pod *pod, n *node) plan.Nomination {
	nomination := plan.Nomination{Pod: pod.ref}
	if n.source.Node != nil {
		nomination.NodeName = n.source.Node.Name
	}
	if n.source.NodeClaim != nil {
		nomination.NodeClaimName = n.source.NodeClaim.Name
	}
	return nomination
}

func leavingOf(n *node) Leaving {
	l := Leaving{
		NodeClaim: n.source.NodeClaim.Name, Node: n.name, NodePool: n.pool.api.Name, InstanceType: n.label(corev1.LabelInstanceTypeStable),
		Zone: n.label(corev1.LabelTopologyZone), CapacityType: n.label(api.CapacityTypeLabelKey), PricePerHour: n.price,
	}
	for _, object := range reschedulable(n.source.Pods) {
		l.Pods = append(l.Pods, plan.PodRef{Namespace: object.Namespace, Name: object.Name, UID: string(object.UID)})
	}
	slices.SortFunc(l.Pods, comparePodRefs)
	return l
}

func (n *node) initialized() bool {
	return n.source.Node != nil && n.source.Node.Labels[api.NodeInitializedLabelKey] == "true"
}

func comparePodRefs(a, b plan.PodRef) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID))
}
