package consolidation

import "slices"

// Solve decides what to move in the cluster, as cheap a fleet as it finds by moves that are each worth what they disturb. It changes nothing in the snapshot; the plan shares memory with it and
// with itself: who changes a claim of it copies it first.
func Solve(s *Snapshot) *Plan {
	f := newFleet(s)
	p := &Plan{Problems: f.problems}
	for _, n := range f.nodes {
		if n.source.NodeClaim != nil {
			p.PricePerHour += n.price
		}
	}
	best := f.search()
	moves := best.moves
	bestFirst(moves)
	within, waiting := withinBudgets(moves, s.Allowed)
	p.Moves, p.Waiting = f.inSequence(within)
	p.Waiting = append(p.Waiting, waiting...)
	bestFirst(p.Waiting)
	p.Stays = best.stays
	p.AfterPerHour = p.PricePerHour
	for i := range p.Moves {
		p.AfterPerHour -= p.Moves[i].SavedPerHour
	}
	return p
}

// found is what a search has come to: saved is in US dollars an hour, less what it disturbs.
type found struct {
	moves []Move
	stays []Stay
	saved float64
}

// search tries two ways, and gives the better one. Pods that move to the room that there is move for nothing where the nodes that have it are not worth their price either; nodes that are
// planned anew move all their pods where it would have done to move those of a few. In a large fleet only one is tried, and what brings most comes first where there is much to gain by that.
func (f *fleet) search() found {
	f.removeEmpty()
	if !slices.ContainsFunc(f.nodes, func(n *node) bool { return n.candidate && !n.removed }) {
		return f.found()
	}
	f.readWorth()
	if f.sweep() {
		return f.found()
	}
	_, byRoom := f.packed(nil)
	byAnew, pass := 0.0, 0
	for _, n := range f.wasteful() {
		byAnew += anewPart*(n.price-n.worth()) - n.pool.perPod*n.disturbance()
		pass += cost(rooms, len(n.pods)) / sizes[0]
	}
	anewFirst, once := byAnew > byRoom, 3*pass > workLimit
	if once {
		// What moves to the room that there is moves again where the nodes that have it go next.
		anewFirst = byAnew > alsoTried*byRoom
	}
	f.walk(anewFirst)
	best := f.found()
	if less := min(byAnew, byRoom); once || less < alsoTried*max(byAnew, byRoom) {
		return best
	}
	f.reset()
	f.removeEmpty()
	f.walk(!anewFirst)
	if other := f.found(); other.saved > best.saved+priceError {
		best = other
	}
	return best
}

const (
	// anewPart is about how much of what nodes waste is saved by planning them anew, a few at a time: their pods do not fill new nodes wholly either.
	anewPart = 0.9
	// alsoTried is how much the way that promises less must promise of what the other does to be tried.
	alsoTried = 0.4
)

// walk makes steps until none is found any more, or the work is done that there is for it.
func (f *fleet) walk(anewFirst bool) {
	failed := map[*node]bool{}
	for round, idle := 0, 0; idle < len(sizes) && f.work < workLimit; round++ {
		idle++
		if !anewFirst || round > 0 {
			for f.deletes(failed) {
				idle = 0
			}
		}
		if f.replace(round) || f.fold() {
			idle = 0
		}
	}
	if anewFirst && f.work >= workLimit && f.hasLaunched() {
		// The other nodes are planned anew next time: what moved to them now would move twice.
		return
	}
	for f.deletes(failed) {
	}
}

func (f *fleet) hasLaunched() bool {
	return slices.ContainsFunc(f.nodes, func(n *node) bool { return n.launched != nil && !n.removed })
}

func (f *fleet) found() found {
	r := found{moves: f.moves(), stays: f.stays()}
	for _, n := range f.nodes {
		switch {
		case n.launched != nil && !n.removed:
			r.saved -= n.price
		case n.launched == nil && n.removed:
			r.saved += n.price
			for _, pod := range n.stood {
				r.saved -= n.pool.perPod * pod.cost
			}
		}
	}
	return r
}

// reset takes all steps back.
func (f *fleet) reset() {
	f.nodes = slices.DeleteFunc(f.nodes, func(n *node) bool { return n.launched != nil })
	for _, n := range f.nodes {
		n.removed, n.group, n.pods = false, nil, slices.Clone(n.stood)
		n.changed()
	}
	f.cluster.InstanceTypes = f.s.Cluster.InstanceTypes
	clear(f.cheap)
	clear(f.tried)
	f.work, f.serial = 0, 0
}
