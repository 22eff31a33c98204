package disruption

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/catalog"
)

// Saved is what the end of the node saves in US dollars an hour: its price, less its part of the prices of the nodes that were made to replace it, which those that they replace share
// evenly: the parts of the nodes of one move add up to what the move saves. It is less than zero where the replacement costs more, and zero where one of the prices is not known.
func (s *Snapshot) Saved(node *Node, known *catalog.Snapshot) float64 {
	saved, isKnown := known.Price(node.Claim.Labels)
	for i := range s.Nodes {
		replacement := s.Nodes[i].Claim
		replaces := namesIn(replacement, ReplacesAnnotationKey)
		if !slices.Contains(replaces, node.Claim.Name) || !slices.Contains(node.replacements(), replacement.Name) {
			continue
		}
		price, priced := known.Price(replacement.Labels)
		saved -= price / float64(len(replaces))
		isKnown = isKnown && priced
	}
	if !isKnown {
		return 0
	}
	return saved
}
