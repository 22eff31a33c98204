package search

import (
	"fmt"
	"slices"

	"github.com/whittle-dev/whittle/shared/consolidation/evaluation"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
)

// stays returns the nodes with a NodeClaim that no step deletes, each with its reason.
func (s *searcher) stays() []Stay {
	var stays []Stay
	for _, n := range s.fleet.Nodes {
		if n.Launched != nil || n.Removed || n.Source.NodeClaim == nil {
			continue
		}
		stay := Stay{Node: n, Reason: n.Ineligible}
		if n.Candidate {
			stay.Reason = s.whyNeeded(n)
		}
		stays = append(stays, stay)
	}
	return stays
}

// whyNeeded is the reason why a candidate stays.
func (s *searcher) whyNeeded(n *state.Node) state.Refusal {
	waste, room := s.fleet.Waste(n), "no other node has room for them"
	if s.evaluator.WantsNodes([]*state.Node{n}) {
		room += " that fulfils their preferences and keeps their spread"
	}
	refusal, refused := s.refusals[n]
	switch {
	case len(n.Pods) > 0 && !slices.ContainsFunc(n.Pods, func(p *state.Pod) bool { return p.From == n }):
		return state.Refusal{Because: state.Needed, Message: "pods of other nodes come to it"}
	case refused:
		return refusal
	case waste <= evaluation.PriceError:
		return state.Refusal{Because: state.Needed, Message: fmt.Sprintf(
			"new nodes for its %s would cost no less than its %s, and %s", state.Pods(len(n.Pods)), n.PriceText(), room)}
	case n.MinimumSavings() > n.Price+evaluation.PriceError:
		moving := "moving its " + state.Pods(len(n.Pods))
		if n.HasGang() {
			moving += " and restarting the whole gang"
		}
		if n.HasJob() {
			moving += ", whose Jobs begin again"
		}
		return state.Refusal{Because: state.TooLittle, Message: fmt.Sprintf(
			"it costs %s, less than the $%.4f/h that its NodePool requires for %s", n.PriceText(), n.MinimumSavings(), moving)}
	case waste < n.MinimumSavings():
		return state.Refusal{Because: state.TooLittle, Message: fmt.Sprintf(
			"new nodes for its %s would save $%.4f/h at most, less than the $%.4f/h that its NodePool requires, "+
				"and %s", state.Pods(len(n.Pods)), waste, n.MinimumSavings(), room)}
	}
	return state.Refusal{Because: state.Needed, Message: fmt.Sprintf(
		"it costs %s, its %s need $%.4f/h at least, and no plan was found that saves enough",
		n.PriceText(), state.Pods(len(n.Pods)), n.Price-waste)}
}
