package consolidation

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
	f.removeEmpty()
	if f.anyCandidate() {
		f.readWorth()
		f.search()
	}
	moves := f.moves()
	bestFirst(moves)
	p.Moves, p.Waiting = withinBudgets(moves, s.Allowed)
	p.Stays = f.stays()
	p.AfterPerHour = p.PricePerHour
	for i := range p.Moves {
		p.AfterPerHour -= p.Moves[i].SavedPerHour
	}
	return p
}

func (f *fleet) anyCandidate() bool {
	for _, n := range f.nodes {
		if n.candidate && !n.removed {
			return true
		}
	}
	return false
}

// search makes steps until none is found any more, or the work is done that there is for it.
func (f *fleet) search() {
	failed := map[*node]bool{}
	for f.deletes(failed) {
	}
	for round, idle := 0, 0; idle < len(sizes) && f.work < workLimit; round++ {
		if idle++; f.replace(round) {
			idle = 0
			for f.deletes(failed) {
			}
		}
	}
}
