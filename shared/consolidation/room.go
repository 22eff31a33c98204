package consolidation

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// at is how much there is of the resource with that number.
func (a amounts) at(axis int) int64 {
	if axis < len(a) {
		return a[axis]
	}
	return 0
}

// holds tells whether there is so much.
func (a amounts) holds(takes amounts) bool {
	for axis, amount := range takes {
		if amount > 0 && amount > a.at(axis) {
			return false
		}
	}
	return true
}

// add adds so much that many times; the list has to be long enough.
func (a amounts) add(more amounts, times int64) {
	for axis, amount := range more {
		if amount != 0 && axis < len(a) {
			a[axis] = scheduling.AddAmounts(a[axis], amount*times)
		}
	}
}

// freeOf is what the node has left for pods.
func (f *fleet) freeOf(n *node) amounts {
	if n.room != nil {
		return n.room
	}
	allocatable := n.allocatable()
	for name := range allocatable {
		f.terms.axis(name)
	}
	room := make(amounts, len(f.terms.axes))
	for name, quantity := range allocatable {
		room[f.terms.axes[name]] = scheduling.Amount(name, &quantity)
	}
	for _, pod := range n.pods {
		room.add(pod.takes, -1)
	}
	for _, object := range n.fixed {
		room.add(f.terms.takesOf(object), -1)
	}
	n.room = room
	return room
}

// allocatable is what pods may use of the node, as it says or as its claim says.
func (n *node) allocatable() corev1.ResourceList {
	if n.source.Node != nil {
		return n.source.Node.Status.Allocatable
	}
	return n.source.NodeClaim.Status.Allocatable
}

// packing is a quick try at which nodes' pods fit on other nodes, by what they take, taints and labels alone. It proposes, and the planner decides.
type packing struct {
	f     *fleet
	nodes []*node
	free  []amounts
	// open are the nodes that still stand.
	open []bool
	// first is, by shape, the first node that may have room: room only shrinks.
	first []int
	// runs are, by shape, the nodes that it may run on: 0 not asked, 1 yes, 2 no.
	runs map[int][]byte
}

// newPacking has the nodes, to be filled in that order; those that moves launch among them only if it is said so.
func (f *fleet) newPacking(nodes []*node, launched bool) *packing {
	p := &packing{f: f, nodes: nodes, first: make([]int, len(f.terms.shapes)), runs: map[int][]byte{}}
	for _, n := range nodes {
		p.free = append(p.free, slices.Clone(f.freeOf(n)))
		p.open = append(p.open, !n.goes && (launched || n.launched == nil))
	}
	return p
}

// taken is a pod's place in a try.
type taken struct {
	pod *pod
	at  int
}

// empties tries to place the pods of the node with that number elsewhere, and gives the numbers of the nodes that they go to. It leaves all as it was, and reports false, if one
// finds no place.
func (p *packing) empties(number int) (at []int, fits bool) {
	n := p.nodes[number]
	pods := slices.Clone(n.pods)
	slices.SortFunc(pods, largestFirst)
	wasOpen := p.open[number]
	p.open[number] = false
	firsts := map[int]int{}
	var places []taken
	for _, pod := range pods {
		if _, known := firsts[pod.shape]; !known {
			firsts[pod.shape] = p.first[pod.shape]
		}
		at := p.place(pod)
		if at < 0 {
			p.open[number] = wasOpen
			for _, place := range places {
				p.free[place.at].add(place.pod.takes, 1)
			}
			for shape, first := range firsts {
				p.first[shape] = first
			}
			return nil, false
		}
		places = append(places, taken{pod, at})
	}
	for _, place := range places {
		if !slices.Contains(at, place.at) {
			at = append(at, place.at)
		}
	}
	return at, true
}

// largestFirst sorts pods by the resources that every node has, then by name.
func largestFirst(a, b *pod) int {
	return cmp.Or(-cmp.Compare(a.takes.at(0), b.takes.at(0)), -cmp.Compare(a.takes.at(1), b.takes.at(1)), comparePods(a, b))
}

func comparePods(a, b *pod) int {
	return cmp.Or(strings.Compare(a.ref.Namespace, b.ref.Namespace), strings.Compare(a.ref.Name, b.ref.Name))
}

func (p *packing) place(pod *pod) int {
	for at := p.first[pod.shape]; at < len(p.nodes); at++ {
		if p.open[at] && p.free[at].holds(pod.takes) && p.mayRun(pod.shape, at) {
			p.free[at].add(pod.takes, -1)
			p.first[pod.shape] = at
			return at
		}
	}
	p.first[pod.shape] = len(p.nodes)
	return -1
}

// mayRun tells whether pods of the shape may run on the node, as far as its taints and labels go.
func (p *packing) mayRun(shape, at int) bool {
	known := p.runs[shape]
	if known == nil {
		known = make([]byte, len(p.nodes))
		p.runs[shape] = known
	}
	if known[at] == 0 {
		known[at] = 2
		if p.f.mayRun(p.f.terms.shapes[shape], p.nodes[at]) {
			known[at] = 1
		}
	}
	return known[at] == 1
}

func (f *fleet) mayRun(s *podShape, n *node) bool {
	object := n.source.Node
	if object == nil {
		return scheduling.ToleratesAll(n.source.NodeClaim.Spec.Taints, s.spec.Tolerations) && !s.selects
	}
	if object.Spec.Unschedulable || !scheduling.ToleratesAll(object.Spec.Taints, s.spec.Tolerations) {
		return false
	}
	if !s.selects {
		return true
	}
	match, err := s.affinity.Match(object)
	return err == nil && match
}
