package consolidation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
)

// stays are the nodes that no move takes, and why.
func (f *fleet) stays() []Stay {
	var stays []Stay
	for _, n := range f.nodes {
		claim := n.source.NodeClaim
		if n.launched != nil || n.removed || claim == nil {
			continue
		}
		s := Stay{NodeClaim: claim.Name, NodePool: claim.Labels[api.NodePoolLabelKey], PricePerHour: n.price, Because: n.because, Message: n.message}
		if n.source.Node != nil {
			s.Node = n.source.Node.Name
		}
		if n.candidate {
			s.Because, s.Message = n.whyNeeded()
		}
		stays = append(stays, s)
	}
	slices.SortFunc(stays, func(a, b Stay) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.NodeClaim, b.NodeClaim))
	})
	return stays
}

// whyNeeded is why a node stays that may go.
func (n *node) whyNeeded() (Because, string) {
	waste := n.price - n.worth()
	switch {
	case len(n.pods) > 0 && n.pods[len(n.pods)-1].from != n && !slices.ContainsFunc(n.pods, func(p *pod) bool { return p.from == n }):
		return Needed, "pods of other nodes come to it"
	case n.because != "":
		return n.because, n.message
	case waste <= priceError:
		return Needed, fmt.Sprintf("new nodes for its %d pods would cost no less than its $%.4f an hour, and no other has room for them", len(n.pods), n.price)
	case waste < n.least():
		return TooLittle, fmt.Sprintf("new nodes for its %d pods would save $%.4f an hour at most, less than the $%.4f that its NodePool asks for, and no other has room for them", len(n.pods), waste, n.least())
	}
	return Needed, fmt.Sprintf("of its $%.4f an hour its %d pods need $%.4f at least, and no way was found to hold them for enough less", n.price, len(n.pods), n.worth())
}
