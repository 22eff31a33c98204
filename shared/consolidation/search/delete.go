package search

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/consolidation/evaluation"
	"github.com/whittle-dev/whittle/shared/consolidation/firstfit"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
)

// delete deletes nodes whose pods fit on other nodes, and reports whether there may be more. It
// adds nodes to failed if the planner finds no places for their pods. It skips the nodes in failed.
func (s *searcher) delete(failed map[*state.Node]bool) bool {
	best, _ := s.deletable(failed)
	if len(best) == 0 {
		return false
	}
	leaving := map[*state.Node]bool{}
	for _, n := range best {
		leaving[n] = true
	}
	for _, step := range s.evaluator.Evaluate(best, s.fleet.InFillOrder(leaving), s.options(false)) {
		if step.Refusal.IsZero() && s.apply(step) {
			continue
		}
		for _, n := range step.Delete {
			failed[n] = true
		}
	}
	return true
}

func (s *searcher) options(launch bool) evaluation.Options {
	return evaluation.Options{Launch: launch, Spared: s.spared}
}

// deletable returns nodes whose pods seem to fit on other nodes, and what their deletion saves:
// their price less their disturbance, in US dollars per hour. It tries two orders and returns the
// better result. Starting with nodes that use little of their price fills the room best. Starting
// with nodes of a high price per disturbance disturbs least.
func (s *searcher) deletable(failed map[*state.Node]bool) (best []*state.Node, most float64) {
	order := s.fleet.InFillOrder(nil)
	position := map[*state.Node]int{}
	var candidates []*state.Node
	for at, n := range order {
		position[n] = at
		if n.Candidate && n.Launched == nil && !failed[n] && len(n.Pods) > 0 &&
			n.MinimumSavings() <= n.Price+evaluation.PriceError {
			candidates = append(candidates, n)
		}
	}
	key := make(map[*state.Node]float64, len(candidates))
	for _, keyOf := range []func(*state.Node) float64{
		func(n *state.Node) float64 { return n.PriceUsed() },
		func(n *state.Node) float64 { return -n.Price / (1 + n.Disturbance()) },
	} {
		for _, n := range candidates {
			key[n] = keyOf(n)
		}
		sortByKey(candidates, key)
		packing := firstfit.New(s.fleet, order, false)
		var chosen []*state.Node
		saved := 0.0
		for _, n := range candidates {
			if _, fits := packing.Empty(position[n]); fits {
				chosen = append(chosen, n)
				saved += n.Price - n.Pool.PerPod*n.Disturbance()
			}
		}
		if saved > most {
			best, most = chosen, saved
		}
	}
	return best, most
}

// sortByKey sorts the nodes by the least key, then by name.
func sortByKey(nodes []*state.Node, key map[*state.Node]float64) {
	slices.SortFunc(nodes, func(a, b *state.Node) int {
		return cmp.Or(cmp.Compare(key[a], key[b]), strings.Compare(a.Name, b.Name))
	})
}

// fold looks for nodes whose pods fit beside those of launched nodes, and plans both again
// together. It reports whether the fleet changed.
func (s *searcher) fold() bool {
	s.spared = nil
	order := s.fleet.InFillOrder(nil)
	position, key := map[*state.Node]int{}, map[*state.Node]float64{}
	var candidates []*state.Node
	for at, n := range order {
		position[n] = at
		if n.Candidate && len(n.Pods) > 0 {
			candidates = append(candidates, n)
			key[n] = n.PriceUsed()
		}
	}
	sortByKey(candidates, key)
	changed := false
	packing := firstfit.New(s.fleet, order, true)
	touched := map[*state.Node]bool{}
	for _, n := range candidates {
		if s.work >= WorkLimit || touched[n] {
			continue
		}
		at, fits := packing.Empty(position[n])
		if !fits {
			continue
		}
		together := append([]*state.Node{n}, launchedAt(order, at, touched)...)
		if !s.fits(&state.Change{Delete: together}) {
			continue
		}
		for _, step := range s.replan(together) {
			if step.Refusal.IsZero() && s.apply(step) {
				changed = true
				for _, n := range step.Delete {
					touched[n] = true
				}
			}
		}
	}
	return changed
}

// launchedAt returns the launched nodes at the places of the order, except the touched ones.
func launchedAt(order []*state.Node, places []int, touched map[*state.Node]bool) []*state.Node {
	var launched []*state.Node
	for _, at := range places {
		if n := order[at]; n.Launched != nil && !touched[n] {
			launched = append(launched, n)
		}
	}
	return launched
}
