package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/consolidation/evaluation"
	"github.com/whittle-dev/whittle/shared/consolidation/fleet"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

const (
	// shownNodes is how many nodes with room the planner sees beside the chunk that it plans again.
	shownNodes = 24
	// roundPart is the part of WorkLimit that one round may use to compare ways of putting chunks
	// together before it takes the best.
	roundPart = 6
)

// sizes are how many nodes a chunk has at most, in the order of rounds.
var sizes = [...]int{5, 10, 2, 1}

// replace plans wasteful nodes again, a few at a time, and reports whether the fleet changed. Each
// round puts other nodes together. Of the ways to put them together that there is work for it takes
// the best.
func (s *searcher) replace(round int) bool {
	wasteful := s.wasteful()
	if len(wasteful) == 0 {
		return false
	}
	s.spared = map[*fleet.Node]bool{}
	for _, n := range wasteful {
		s.spared[n] = true
	}
	size := sizes[round%len(sizes)]
	for _, n := range wasteful {
		size = min(size, s.limit(n.Pool.API.Name))
	}
	enough := min(WorkLimit, s.work+WorkLimit/roundPart)
	chunks := s.chunks(wasteful, size, uint64(round), 0)
	if s.work+len(chunks)*evaluation.Cost(shownNodes, 0) > enough {
		// There is work for one way only: make each step before the next one is planned.
		return s.oneByOne(chunks)
	}
	var best []*evaluation.Step
	most := 0.0
	for variant := 0; variant < s.variants(size) && (variant == 0 || s.work < enough); variant++ {
		steps, gain := s.planAll(s.chunks(wasteful, size, uint64(round), variant))
		if gain > most+evaluation.PriceError {
			best, most = steps, gain
		}
	}
	return s.applyAll(best)
}

// planAll plans the chunks again, each as if it were the only one, and gives the steps that are to
// be made with what they save in US dollars per hour, less their disturbance.
func (s *searcher) planAll(chunks [][]*fleet.Node) (steps []*evaluation.Step, gain float64) {
	for _, chunk := range chunks {
		if s.work >= WorkLimit {
			break
		}
		for _, step := range s.replan(chunk) {
			if step.Refusal.IsZero() {
				steps = append(steps, step)
				gain += step.Saved - disturbancePrice(step)
			} else {
				s.refuse(step)
			}
		}
	}
	return steps, gain
}

// oneByOne plans the chunks again and makes each step at once. It reports whether the fleet
// changed.
func (s *searcher) oneByOne(chunks [][]*fleet.Node) bool {
	changed := false
	for _, chunk := range chunks {
		if s.work >= WorkLimit {
			break
		}
		for _, step := range s.replan(chunk) {
			if step.Refusal.IsZero() {
				changed = s.apply(step) || changed
			} else {
				s.refuse(step)
			}
		}
	}
	return changed
}

// refuse remembers why a single node was not deleted.
func (s *searcher) refuse(step *evaluation.Step) {
	if len(step.Delete) == 1 {
		s.refusals[step.Delete[0]] = step.Refusal
	}
}

// applyAll makes steps that were each planned as if it were the only one. A step that depends on an
// earlier one is planned once more.
func (s *searcher) applyAll(steps []*evaluation.Step) bool {
	changed := map[*fleet.Node]bool{}
	for _, step := range steps {
		fresh := []*evaluation.Step{step}
		if len(changed) > 0 && dependsOn(step, changed) {
			fresh = s.replan(step.Delete)
		}
		for _, step := range fresh {
			if !step.Refusal.IsZero() || !s.apply(step) {
				continue
			}
			for _, n := range step.Delete {
				changed[n] = true
			}
			for _, to := range step.To {
				changed[to.Node] = true
			}
		}
	}
	return len(changed) > 0
}

// dependsOn tells whether the step may come out differently after those nodes have changed.
func dependsOn(step *evaluation.Step, changed map[*fleet.Node]bool) bool {
	for _, to := range step.To {
		if to.Node != nil && changed[to.Node] {
			return true
		}
	}
	return fleet.HasRelated(step.Delete)
}

// disturbancePrice is what the step's disturbance counts for in US dollars per hour.
func disturbancePrice(step *evaluation.Step) float64 {
	sum := 0.0
	for _, n := range step.Delete {
		sum += n.Pool.PerPod * n.Disturbance()
	}
	return sum
}

// wasteful are the candidates that cost enough more than their pods' dual prices: pool by pool,
// those first that waste most for their disturbance.
func (s *searcher) wasteful() []*fleet.Node {
	var found []*fleet.Node
	key := map[*fleet.Node]float64{}
	for _, n := range s.fleet.Nodes {
		if !n.Candidate || n.Removed || len(n.Pods) == 0 {
			continue
		}
		if waste := n.Price - n.DualPrice(); waste > evaluation.PriceError && waste >= n.MinimumSavings() {
			found = append(found, n)
			key[n] = waste / (1 + n.Disturbance())
		}
	}
	slices.SortFunc(found, func(a, b *fleet.Node) int {
		return cmp.Or(
			strings.Compare(a.Pool.API.Name, b.Pool.API.Name),
			-cmp.Compare(key[a], key[b]),
			strings.Compare(a.Name, b.Name),
		)
	})
	return found
}

// replan asks the planner for other nodes for the chunk's pods, beside existing room. It asks once
// about the same nodes as long as the fleet does not change.
func (s *searcher) replan(chunk []*fleet.Node) []*evaluation.Step {
	leaving := map[*fleet.Node]bool{}
	pods := 0
	names := []string{fmt.Sprint(s.spared != nil)}
	for _, n := range chunk {
		leaving[n] = true
		names = append(names, n.Name)
		pods += len(n.Pods)
	}
	slices.Sort(names)
	key := strings.Join(names, " ")
	if known, tried := s.tried[key]; tried {
		return known
	}
	others := fleet.FillOrder(s.roomiest(s.fleet.Remaining(leaving), chunk))
	s.work += evaluation.Cost(len(others), pods)
	s.tried[key] = s.evaluator.Evaluate(chunk, others, s.options(true))
	return s.tried[key]
}

// roomiest are, of the nodes on which a pod of the chunk fits, those that waste most, and the nodes
// whose pods spread or affinity relates to the chunk's.
func (s *searcher) roomiest(others, chunk []*fleet.Node) []*fleet.Node {
	keep := map[*fleet.Node]bool{}
	if fleet.HasRelated(chunk) {
		keep = s.fleet.RelatedTo(chunk, others)
	}
	var found []*fleet.Node
	for _, n := range others {
		if n.Launched == nil && !s.spared[n] && holdsOne(s.fleet.FreeOf(n), chunk) {
			found = append(found, n)
		}
	}
	slices.SortStableFunc(found, func(a, b *fleet.Node) int {
		return -cmp.Compare(a.Price-a.DualPrice(), b.Price-b.DualPrice())
	})
	for _, n := range found[:min(len(found), shownNodes)] {
		keep[n] = true
	}
	return slices.DeleteFunc(others, func(n *fleet.Node) bool { return !keep[n] })
}

// holdsOne tells whether one of the nodes' pods fits.
func holdsOne(free resource.Vector, nodes []*fleet.Node) bool {
	for _, n := range nodes {
		for _, pod := range n.Pods {
			if free.Fits(pod.Requests) {
				return true
			}
		}
	}
	return false
}
