package search

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/consolidation/evaluation"
	"github.com/whittle-dev/whittle/shared/consolidation/firstfit"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
)

const (
	// largeFleet is the number of candidates from which a fleet is swept. A smaller fleet's moves
	// are carried out in a few plans, and its pods are best moved once.
	largeFleet = 200
	// cuts is the number of places at which bestPart may cut the sorted candidates.
	cuts = 25
	// kneePart is a part of the fleet's price. The best part of the candidates must save this
	// much more than its share by disturbance. Otherwise the fleet is planned as a whole.
	kneePart = 0.1
)

// sweep deletes the nodes of a large fleet that save most per disturbance, and reports whether the
// fleet changed. Their pods fill the room on other nodes first. Nodes whose pods find no room are
// planned again. Budgets spread a large fleet's moves over many plans, so the best come first.
// plans look at the other nodes.
func (s *searcher) sweep() bool {
	best := s.bestPart()
	if len(best) == 0 {
		return false
	}
	s.spared = map[*state.Node]bool{}
	for _, n := range best {
		s.spared[n] = true
	}
	changed := s.sweepIntoRoom(best)
	best = slices.DeleteFunc(best, func(n *state.Node) bool { return n.Removed })
	return s.oneByOne(s.fittingChunks(best, s.maximumMove())) || changed
}

// sweepIntoRoom deletes the nodes whose pods all find room on other nodes.
func (s *searcher) sweepIntoRoom(nodes []*state.Node) bool {
	others := s.fleet.InFillOrder(s.spared)
	packing := firstfit.New(s.fleet, append(slices.Clip(others), nodes...), false)
	for i := range nodes {
		packing.Close(len(others) + i)
	}
	var fitting []*state.Node
	for i, n := range nodes {
		if _, fits := packing.Empty(len(others) + i); fits {
			fitting = append(fitting, n)
		}
	}
	if len(fitting) == 0 {
		return false
	}
	changed := false
	for _, step := range s.evaluator.Evaluate(fitting, others, s.options(false)) {
		changed = step.Refusal.IsZero() && s.apply(step) || changed
	}
	return changed
}

// bestPart returns the nodes with the highest price per disturbance, up to the best cut. Further
// nodes would save less per disturbance than the deletion of all candidates does. The result is
// empty if the best part is hardly better than all candidates, or if the fleet is not large.
func (s *searcher) bestPart() []*state.Node {
	var found []*state.Node
	key := map[*state.Node]float64{}
	price := 0.0
	for _, n := range s.fleet.Nodes {
		price += n.Price
		if n.Candidate && !n.Removed && len(n.Pods) > 0 && n.MinimumSavings() <= n.Price+evaluation.PriceError {
			found = append(found, n)
			key[n] = n.Price / (1 + n.Disturbance())
		}
	}
	if s.large = len(found) >= largeFleet; !s.large {
		return nil
	}
	slices.SortFunc(found, func(a, b *state.Node) int {
		return cmp.Or(-cmp.Compare(key[a], key[b]), strings.Compare(a.Name, b.Name))
	})
	saved, disturbs := make([]float64, cuts+1), make([]float64, cuts+1)
	for cut := 1; cut <= cuts; cut++ {
		saved[cut], disturbs[cut] = s.promise(found[:len(found)*cut/cuts])
	}
	best, most := 0, kneePart*price
	for cut := range saved {
		if more := saved[cut] - saved[cuts]*disturbs[cut]/disturbs[cuts]; more > most {
			best, most = cut, more
		}
	}
	return found[:len(found)*best/cuts]
}

// promise estimates what the deletion of the nodes saves, in US dollars per hour, and what it
// disturbs. Pods without room on other nodes are charged for new nodes.
func (s *searcher) promise(nodes []*state.Node) (saved, disturbs float64) {
	leaving := map[*state.Node]bool{}
	var pods []*state.Pod
	for _, n := range nodes {
		leaving[n] = true
		saved += n.Price
		disturbs += 1 + n.Disturbance()
		pods = append(pods, n.Pods...)
	}
	slices.SortFunc(pods, firstfit.LargestFirst)
	packing := firstfit.New(s.fleet, s.fleet.InFillOrder(leaving), false)
	for _, pod := range pods {
		if _, fits := packing.Place(pod); !fits {
			saved -= pod.DualPrice / replacedPart
		}
	}
	return saved, disturbs
}
