package disruption

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/api"
)

// Saved is what the end of the node saves in US dollars per hour: its price, less its part of the
// prices of its replacements. Replaced nodes share a replacement's price evenly, so that the parts
// of a move's nodes add up to its savings. Saved is negative if the replacement costs more. It is
// zero if one of the prices is not known, of which priceOf tells.
func (s *Cluster) Saved(node *Node, priceOf func(*api.NodeClaim) (price float64, isKnown bool)) float64 {
	saved, isKnown := priceOf(node.Claim)
	for i := range s.Nodes {
		replacement := s.Nodes[i].Claim
		replaces := replacement.Names(ReplacesAnnotationKey)
		if !slices.Contains(replaces, node.Claim.Name) || !slices.Contains(node.replacements(), replacement.Name) {
			continue
		}
		price, priced := priceOf(replacement)
		saved -= price / float64(len(replaces))
		isKnown = isKnown && priced
	}
	if !isKnown {
		return 0
	}
	return saved
}
