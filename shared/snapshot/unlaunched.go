package snapshot

import (
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Unlaunched returns the claims without a providerID: no launch was tried, or a function died
// before it stored the result. Claims that are being deleted are included, because there may be an
// instance to pay for.
func Unlaunched(o *Objects) []*api.NodeClaim {
	var claims []*api.NodeClaim
	for i := range o.NodeClaims {
		if o.NodeClaims[i].Status.ProviderID == "" {
			claims = append(claims, &o.NodeClaims[i])
		}
	}
	slices.SortFunc(claims, func(a, b *api.NodeClaim) int { return strings.Compare(a.Name, b.Name) })
	return claims
}

// AddUnlaunched adds the unlaunched claims as nodes in flight. It is for callers that launch them
// before anything else, so that their pods are not planned for twice.
func AddUnlaunched(s *plan.Snapshot, o *Objects) {
	for _, claim := range Unlaunched(o) {
		s.Nodes = append(s.Nodes, plan.Node{NodeClaim: claim})
	}
}
