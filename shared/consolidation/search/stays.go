package search

import (
	"fmt"
	"slices"

	"github.com/whittle-dev/whittle/shared/consolidation/evaluation"
	"github.com/whittle-dev/whittle/shared/consolidation/fleet"
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
func (s *searcher) whyNeeded(n *fleet.Node) fleet.Refusal {
	waste := n.Price - n.DualPrice()
	refusal, refused := s.refusals[n]
	switch {
	case len(n.Pods) > 0 && !slices.ContainsFunc(n.Pods, func(p *fleet.Pod) bool { return p.From == n }):
		return fleet.Refusal{Because: fleet.Needed, Message: "pods of other nodes come to it"}
	case refused:
		return refusal
	case waste <= evaluation.PriceError:
		return fleet.Refusal{Because: fleet.Needed, Message: fmt.Sprintf(
			"new nodes for its %s would cost no less than its $%.4f/h, and no other node has room for them",
			fleet.Pods(len(n.Pods)), n.Price)}
	case waste < n.MinimumSavings():
		return fleet.Refusal{Because: fleet.TooLittle, Message: fmt.Sprintf(
			"new nodes for its %s would save $%.4f/h at most, less than the $%.4f/h that its NodePool requires, "+
				"and no other node has room for them", fleet.Pods(len(n.Pods)), waste, n.MinimumSavings())}
	}
	return fleet.Refusal{Because: fleet.Needed, Message: fmt.Sprintf(
		"it costs $%.4f/h, its %s need $%.4f/h at least, and no plan was found that saves enough",
		n.Price, fleet.Pods(len(n.Pods)), n.DualPrice())}
}
