package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/consolidation/evaluation"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
	"github.com/whittle-dev/whittle/shared/planner/resource"
)

const (
	// shownNodes is how many nodes with room the planner sees beside the chunk that it plans again.
	shownNodes = 24
	// roundPart bounds the work of one round that compares variants to WorkLimit/roundPart.
	roundPart = 6
)

// sizes are the maximum numbers of nodes in a chunk. Rounds take them in this order.
var sizes = [...]int{5, 10, 2, 1}

// replace plans wasteful nodes again, chunk by chunk, and reports whether the fleet changed. Each
// round forms other chunks. A round compares as many variants as its work allows, and applies the
// best one.
func (s *searcher) replace(round int) bool {
	wasteful := s.wasteful()
	if len(wasteful) == 0 {
		return false
	}
	s.spared = map[*state.Node]bool{}
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
		// The work allows one variant only, so each step is applied before the next is planned.
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

// planAll plans each chunk again as if it were the only one. It returns the steps without a
// refusal, and their gain: savings less disturbance, in US dollars per hour.
func (s *searcher) planAll(chunks [][]*state.Node) (steps []*evaluation.Step, gain float64) {
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

// oneByOne plans the chunks again, and applies each step at once. It reports whether the fleet
// changed.
func (s *searcher) oneByOne(chunks [][]*state.Node) bool {
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

// applyAll applies steps that were planned independently. It plans a step once more if the step
// depends on an earlier one.
func (s *searcher) applyAll(steps []*evaluation.Step) bool {
	changed := map[*state.Node]bool{}
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

// dependsOn tells whether the changed nodes may change the result of the step.
func dependsOn(step *evaluation.Step, changed map[*state.Node]bool) bool {
	for _, to := range step.To {
		if to.Node != nil && changed[to.Node] {
			return true
		}
	}
	return state.HasRelated(step.Delete)
}

// disturbancePrice is the least amount, in US dollars per hour, that the NodePools require for the
// disturbance of the step.
func disturbancePrice(step *evaluation.Step) float64 {
	sum := 0.0
	for i, disturbance := range state.Disturbances(step.Delete) {
		sum += step.Delete[i].Pool.PerPod * disturbance
	}
	return sum
}

// wasteful returns the candidates whose waste is no less than their minimum savings. It sorts them
// by NodePool, then by waste per disturbance, the highest first.
func (s *searcher) wasteful() []*state.Node {
	var found []*state.Node
	key := map[*state.Node]float64{}
	for _, n := range s.fleet.Nodes {
		if !n.Candidate || n.Removed || len(n.Pods) == 0 {
			continue
		}
		if waste := s.fleet.Waste(n); waste > evaluation.PriceError && waste >= n.MinimumSavings() {
			found = append(found, n)
			key[n] = waste / (1 + n.Disturbance())
		}
	}
	slices.SortFunc(found, func(a, b *state.Node) int {
		return cmp.Or(
			strings.Compare(a.Pool.API.Name, b.Pool.API.Name),
			-cmp.Compare(key[a], key[b]),
			strings.Compare(a.Name, b.Name),
		)
	})
	return found
}

// replan asks the planner for new places for the chunk's pods, in existing room and on new nodes.
// It remembers the answer until the fleet changes.
func (s *searcher) replan(chunk []*state.Node) []*evaluation.Step {
	leaving := map[*state.Node]bool{}
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
	others := state.FillOrder(s.roomiest(s.fleet.Remaining(leaving), chunk))
	s.work += evaluation.Cost(len(others), pods)
	s.tried[key] = s.evaluator.Evaluate(chunk, others, s.options(true))
	return s.tried[key]
}

// roomiest returns the nodes that the planner sees beside the chunk, in the order of others. Of the
// nodes with room for a pod of the chunk, it returns those with the most waste. It also returns the
// nodes whose pods spread or affinity relates to the chunk's.
func (s *searcher) roomiest(others, chunk []*state.Node) []*state.Node {
	keep := map[*state.Node]bool{}
	if state.HasRelated(chunk) {
		keep = s.fleet.RelatedTo(chunk, others)
	}
	var found []*state.Node
	for _, n := range others {
		if n.Launched == nil && !s.spared[n] && holdsOne(s.fleet.FreeOf(n), chunk) {
			found = append(found, n)
		}
	}
	slices.SortStableFunc(found, func(a, b *state.Node) int {
		return -cmp.Compare(s.fleet.Waste(a), s.fleet.Waste(b))
	})
	for _, n := range found[:min(len(found), shownNodes)] {
		keep[n] = true
	}
	return slices.DeleteFunc(others, func(n *state.Node) bool { return !keep[n] })
}

// holdsOne tells whether at least one pod of the nodes fits.
func holdsOne(free resource.Vector, nodes []*state.Node) bool {
	for _, n := range nodes {
		for _, pod := range n.Pods {
			if free.Fits(pod.Requests) {
				return true
			}
		}
	}
	return false
}
