package state

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/plan"
)

// Change deletes nodes, launches others, and moves the pods of the deleted ones.
type Change struct {
	Delete []*Node
	Launch []*plan.PlannedNodeClaim
	// To has the destination of each pod of the deleted nodes, by PodRef.String.
	To map[string]Destination
}

// Destination is a node, or the number of a launch if Node is nil.
type Destination struct {
	Node   *Node
	Launch int
}

// PodsMoved is how many pods the change moves.
func (c *Change) PodsMoved() int {
	pods := 0
	for _, n := range c.Delete {
		pods += len(n.Pods)
	}
	return pods
}

// group is the nodes of one move: those that steps have deleted together, and their launches.
type group struct {
	into *group
	// deleted is how many existing nodes of each NodePool the move deletes.
	deleted map[string]int
}

func (g *group) root() *group {
	for g.into != nil {
		g = g.into
	}
	return g
}

// groupsOf returns the groups that the change joins: those of its nodes, and those of pods that
// earlier steps brought to these nodes. The change decides where such pods end.
func groupsOf(c *Change) []*group {
	var groups []*group
	add := func(g *group) {
		if g != nil && !slices.Contains(groups, g.root()) {
			groups = append(groups, g.root())
		}
	}
	for _, n := range c.Delete {
		add(n.group)
		for _, pod := range n.Pods {
			if pod.From != n {
				add(pod.From.group)
			}
		}
	}
	return groups
}

// Deletes counts, by NodePool, the existing nodes that the move of this change would delete. The
// move includes the earlier steps that the change joins.
func (c *Change) Deletes() map[string]int {
	deleted := map[string]int{}
	for _, n := range c.Delete {
		if n.Launched == nil {
			deleted[n.Pool.API.Name]++
		}
	}
	for _, g := range groupsOf(c) {
		for name, count := range g.deleted {
			deleted[name] += count
		}
	}
	return deleted
}

// Apply makes the change.
func (f *Fleet) Apply(c *Change) {
	all := &group{deleted: c.Deletes()}
	for _, g := range groupsOf(c) {
		g.into = all
	}
	for _, n := range c.Delete {
		n.group = all
	}
	launched := make([]*Node, len(c.Launch))
	for i, planned := range c.Launch {
		launched[i] = f.launch(planned, all)
	}
	for _, n := range c.Delete {
		n.Removed = true
		for _, pod := range n.Pods {
			to := c.To[pod.Ref.String()]
			if to.Node == nil {
				to.Node = launched[to.Launch]
			}
			to.Node.Pods = append(to.Node.Pods, pod)
			to.Node.changed()
		}
		n.Pods = nil
		n.changed()
	}
}

// RemoveEmpty deletes the candidates without pods, each in a move of its own.
func (f *Fleet) RemoveEmpty() {
	for _, n := range f.Nodes {
		if n.Candidate && n.IsEmpty() {
			n.Removed, n.group = true, &group{deleted: map[string]int{n.Pool.API.Name: 1}}
		}
	}
}

// HasLaunched tells whether a node is to be launched.
func (f *Fleet) HasLaunched() bool {
	return slices.ContainsFunc(f.Nodes, func(n *Node) bool { return n.Launched != nil && !n.Removed })
}

// Move is the result of one group: its deleted and launched nodes, and the places of moved pods.
type Move struct {
	Nodes []*Node
	Pods  []Placement
}

// Placement is a pod with its node.
type Placement struct {
	Pod  *Pod
	Node *Node
}

// Moves returns the difference between the fleet before and after all steps, one move for each
// group. Later changes of the fleet do not change the result.
func (f *Fleet) Moves() []Move {
	byGroup := map[*group]*Move{}
	var groups []*Move
	moveOf := func(g *group) *Move {
		m := byGroup[g]
		if m == nil {
			m = &Move{}
			byGroup[g] = m
			groups = append(groups, m)
		}
		return m
	}
	for _, n := range f.Nodes {
		if n.group != nil && (n.Launched == nil) == n.Removed {
			m := moveOf(n.group.root())
			m.Nodes = append(m.Nodes, n)
		}
		for _, pod := range n.Pods {
			if pod.From.Removed {
				m := moveOf(pod.From.group.root())
				m.Pods = append(m.Pods, Placement{pod, n})
			}
		}
	}
	moves := make([]Move, len(groups))
	for i, m := range groups {
		slices.SortFunc(m.Pods, func(a, b Placement) int { return ComparePods(a.Pod, b.Pod) })
		moves[i] = *m
	}
	return moves
}

// MoveOf is the move that the change would be on its own. It does not change the fleet.
func (f *Fleet) MoveOf(c *Change) Move {
	m := Move{Nodes: slices.Clone(c.Delete)}
	for _, planned := range c.Launch {
		m.Nodes = append(m.Nodes, f.NewLaunched(planned))
	}
	for _, n := range c.Delete {
		for _, pod := range n.Pods {
			to := c.To[pod.Ref.String()]
			if to.Node == nil {
				to.Node = m.Nodes[len(c.Delete)+to.Launch]
			}
			m.Pods = append(m.Pods, Placement{pod, to.Node})
		}
	}
	slices.SortFunc(m.Pods, func(a, b Placement) int { return ComparePods(a.Pod, b.Pod) })
	return m
}
