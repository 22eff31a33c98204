package firstfit

import (
	"cmp"
	"slices"

	"github.com/whittle-dev/whittle/shared/consolidation/podgroup"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

// Packing is a first-fit packing of pods onto nodes.
type Packing struct {
	groups *podgroup.Groups
	nodes  []*state.Node
	free   []resource.Vector
	// open are the nodes that take pods.
	open []bool
	// first is, by pod group, the first node that may have room. Room only shrinks.
	first []int
	// admits is, by pod group, whether the nodes' taints and labels admit it.
	admits map[int][]admission
}

type admission byte

const (
	unknown admission = iota
	admitted
	refused
)

// New returns a packing onto the nodes, which fill in their order. Leaving nodes take no pods.
// Launched nodes take pods only if launched is true.
func New(f *state.Fleet, nodes []*state.Node, launched bool) *Packing {
	p := &Packing{groups: f.Groups, nodes: nodes, first: make([]int, f.Groups.Len()), admits: map[int][]admission{}}
	for _, n := range nodes {
		p.free = append(p.free, slices.Clone(f.FreeOf(n)))
		p.open = append(p.open, !n.Leaving && (launched || n.Launched == nil))
	}
	return p
}

// Close says that the node with the number takes no pods.
func (p *Packing) Close(number int) { p.open[number] = false }

// Empty places the pods of the node with the number on other nodes, and closes it. It returns the
// numbers of the nodes that take the pods. If a pod finds no place, it changes nothing and returns
// false.
func (p *Packing) Empty(number int) (to []int, fits bool) {
	type placement struct {
		pod *state.Pod
		at  int
	}
	pods := slices.Clone(p.nodes[number].Pods)
	slices.SortFunc(pods, LargestFirst)
	wasOpen := p.open[number]
	p.open[number] = false
	firsts := map[int]int{}
	var places []placement
	for _, pod := range pods {
		if _, known := firsts[pod.Group]; !known {
			firsts[pod.Group] = p.first[pod.Group]
		}
		at, fits := p.Place(pod)
		if !fits {
			p.open[number] = wasOpen
			for _, place := range places {
				p.free[place.at].Add(place.pod.Requests, 1)
			}
			for group, first := range firsts {
				p.first[group] = first
			}
			return nil, false
		}
		places = append(places, placement{pod, at})
	}
	for _, place := range places {
		if !slices.Contains(to, place.at) {
			to = append(to, place.at)
		}
	}
	return to, true
}

// LargestFirst orders pods by cpu, then memory, then name.
func LargestFirst(a, b *state.Pod) int {
	return cmp.Or(
		-cmp.Compare(a.Requests[resource.CPU], b.Requests[resource.CPU]),
		-cmp.Compare(a.Requests[resource.Memory], b.Requests[resource.Memory]),
		state.ComparePods(a, b),
	)
}

// Place places the pod on the first node that has room, and returns the number of that node. It
// returns false if there is none.
func (p *Packing) Place(pod *state.Pod) (at int, fits bool) {
	for at := p.first[pod.Group]; at < len(p.nodes); at++ {
		if p.open[at] && p.free[at].Fits(pod.Requests) && p.mayRun(pod.Group, at) {
			p.free[at].Add(pod.Requests, -1)
			p.first[pod.Group] = at
			return at, true
		}
	}
	p.first[pod.Group] = len(p.nodes)
	return 0, false
}

func (p *Packing) mayRun(group, at int) bool {
	known := p.admits[group]
	if known == nil {
		known = make([]admission, len(p.nodes))
		p.admits[group] = known
	}
	if known[at] == unknown {
		known[at] = refused
		if p.groups.MayRun(group, p.nodes[at].Source) {
			known[at] = admitted
		}
	}
	return known[at] == admitted
}
