package snapshot

import (
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Unlaunched are the claims that have no providerID: no instance has been asked for,
// or who asked did not live to write it down. Those that are being deleted are among
// them, since there may be an instance to pay for.
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

// AddUnlaunched puts the unlaunched claims among the nodes on their way. It is for who
// launches them before anything else: pods that such a claim was made for must not be
// planned for twice.
func AddUnlaunched(s *plan.Snapshot, o *Objects) {
	for _, claim := range Unlaunched(o) {
		s.Nodes = append(s.Nodes, plan.Node{NodeClaim: claim})
	}
}
